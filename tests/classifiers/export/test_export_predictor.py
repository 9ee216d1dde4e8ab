"""Predictors of one file: the rows, labels and probabilities of the quantized pipeline, with numpy
alone.
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_hashnlp import (
    CharNgramFeaturizer,
    HashEmbeddingClassifier,
    SGNNClassifier,
    SGNNProjector,
)
from sklearn_hashnlp.classifiers import (
    QuantizedSGNNClassifier,
    export_predictor,
    quantize_classifier,
)
from sklearn_hashnlp.text import SGNNWordProjector
from tests.classifiers.export.test_linear_predictor import HARD as HARD_TEXTS
from tests.classifiers.export.test_linear_predictor import LABELS, TEXTS, WITHOUT_THE_PACKAGE, load

HARD = [
    *HARD_TEXTS,
    *(
        "\0",
        "<",
        ">",
        "< >",
        "<a>",
        "\U0010ffff \ud7ff \uffff",
        "tab\tand\nlines\r\nand\vmore\fend",
    ),
]


def network(**parameters: Any) -> SGNNClassifier:
    return SGNNClassifier(
        **{"hidden_layer_sizes": (8,), "max_epochs": 2, "random_state": 0} | parameters
    )


def trained(
    featurizer: dict[str, Any], projector: dict[str, Any], level: str = "document", **parameters
) -> Pipeline:
    before = [
        CharNgramFeaturizer(**featurizer),
        SGNNProjector(**{"n_projections": 5, "n_bits": 9} | projector),
    ]
    if level == "word":
        before = [SGNNWordProjector(*before)]
    packed = projector.get("output") == "packed"
    return make_pipeline(*before, network(packed=packed, **parameters)).fit(TEXTS, LABELS)


def check(pipeline: Pipeline, path: Path, texts: list[str]) -> Any:
    """Export and compare with the package: rows to the last bit, scores and labels likewise."""
    size = export_predictor(pipeline, path)
    assert path.stat().st_size == size
    exported, quantized = load(path), quantize_classifier(pipeline)
    rows = pipeline[:-1].transform(texts)
    if pipeline[-1].packed:
        rows = np.unpackbits(rows, axis=1)
    own = np.array([exported._project(text) for text in texts])
    assert np.array_equal(own, rows[:, : own.shape[1]])
    assert np.array_equal(
        exported._scores(texts), quantized[-1]._scores(pipeline[:-1].transform(texts))
    )
    labels = exported.predict(texts)
    assert np.array_equal(labels, quantized.predict(texts))
    assert labels.dtype == quantized.predict(texts).dtype
    assert exported.predict_proba(texts) == pytest.approx(quantized.predict_proba(texts), abs=1e-12)
    return exported


@pytest.mark.parametrize(
    "featurizer",
    [
        {},
        {"ngram_range": (2, 6), "lowercase": True},
        {"ngram_range": (3, 3), "split": "punctuation"},
        {"ngram_range": (1, 400), "split": "punctuation", "lowercase": True},
        {"n_features": 7, "alternate_sign": True, "binary": True},
        {"binary": True, "dtype": np.float32},
        {"analyzer": "skipgram"},
        {"analyzer": "skipgram", "ngram_range": (2, 3), "max_skip": 0, "lowercase": True},
        {"analyzer": "skipgram", "ngram_range": (2, 4), "max_skip": 3, "split": "punctuation"},
    ],
    ids=str,
)
def test_every_option_of_the_featurizer(featurizer, tmp_path):
    check(trained(featurizer, {}), tmp_path / "model.py", HARD + TEXTS)
    if featurizer.get("analyzer") != "skipgram":
        check(trained(featurizer, {}, "word"), tmp_path / "words.py", HARD + TEXTS)


@pytest.mark.parametrize(
    "projector",
    [
        {"output": "sign"},
        {"output": "packed"},
        {"output": "packed", "n_projections": 4, "n_bits": 8},
        {"hyperplanes": "sign", "density": 0.3, "output": "sign"},
        {"density": 0.01},
        {"n_projections": 1, "n_bits": 1},
        {"random_state": 2**70 + 1, "n_projections": 70},
        {"random_state": -1, "n_projections": 4, "n_bits": 16},
    ],
    ids=str,
)
def test_every_option_of_the_projector(projector, tmp_path):
    check(trained({}, projector), tmp_path / "model.py", HARD + TEXTS)
    if projector.get("output") != "packed":
        check(trained({}, projector, "word"), tmp_path / "words.py", HARD + TEXTS)


@pytest.fixture(name="both", scope="module")
def _both(tmp_path_factory) -> list[tuple[Pipeline, Any]]:
    """Two pipelines and what was exported of them."""
    found = []
    for place, pipeline in enumerate(
        [
            trained({"split": "punctuation", "lowercase": True}, {}, hidden_layer_sizes=(16, 8)),
            trained(
                {"split": "punctuation", "ngram_range": (1, 4)}, {"hyperplanes": "sign"}, "word"
            ),
        ]
    ):
        path = tmp_path_factory.mktemp("exported") / f"model_{place}.py"
        export_predictor(pipeline, path)
        found.append((quantize_classifier(pipeline), load(path)))
    return found


@given(texts=st.lists(st.text(max_size=60), min_size=1, max_size=4))
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_texts(both, texts):
    for pipeline, exported in both:
        assert np.array_equal(exported.predict(texts), pipeline.predict(texts))
        assert np.array_equal(exported._project(texts[0]), pipeline[:-1].transform(texts[:1])[0])


def test_one_against_all_and_any_number_of_labels(tmp_path):
    check(trained({}, {}, loss="ova"), tmp_path / "model.py", HARD)
    pipeline = make_pipeline(
        CharNgramFeaturizer(), SGNNProjector(n_projections=9), network(loss="ova", max_epochs=60)
    )
    indicators = np.array([[label == "place", len(label) == 6] for label in LABELS], dtype=int)
    exported = check(pipeline.fit(TEXTS, indicators), tmp_path / "several.py", TEXTS)
    assert exported.predict(TEXTS).sum() > 0
    result = subprocess.run(
        [sys.executable, tmp_path / "several.py", *TEXTS],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    expected = [
        "\t".join(str(place) for place in np.flatnonzero(row)) for row in exported.predict(TEXTS)
    ]
    assert result.splitlines() == expected


def test_no_hidden_layers_and_a_quantized_pipeline(tmp_path):
    pipeline = trained({}, {}, hidden_layer_sizes=())
    check(pipeline, tmp_path / "model.py", HARD)
    export_predictor(quantize_classifier(pipeline), tmp_path / "quantized.py")
    assert (tmp_path / "quantized.py").read_bytes() == (tmp_path / "model.py").read_bytes()


def test_numpy_is_enough_and_it_is_a_program(tmp_path):
    pipeline, path = trained({}, {}), tmp_path / "exported.py"
    export_predictor(pipeline, path)
    command = [sys.executable, "-W", "error", "-c", WITHOUT_THE_PACKAGE, tmp_path]
    labels = subprocess.run(
        command, check=True, capture_output=True, text=True
    ).stdout.splitlines()[0]
    assert labels.split() == quantize_classifier(pipeline).predict(["where is it", ""]).tolist()
    texts = ["where is it", "who 🙂 ?", ""]

    def run(*arguments: Any, stdin: str = "") -> list[str]:
        command = [sys.executable, "-W", "error", path, *arguments]
        given = stdin.encode()
        return (
            subprocess.run(command, check=True, capture_output=True, input=given)
            .stdout.decode()
            .splitlines()
        )

    expected = quantize_classifier(pipeline).predict(texts).tolist()
    assert run(*texts) == expected
    assert run(stdin="\n".join(texts) + "\n") == expected
    [line] = run("--proba", texts[0])
    fields = line.split("\t")
    assert fields[0] == expected[0]
    assert sorted(fields[::2]) == pipeline.classes_.tolist()
    assert [float(field) for field in fields[1::2]] == sorted(
        map(float, fields[1::2]), reverse=True
    )
    assert "a text; without any, lines of standard input" in " ".join(
        " ".join(run("--help")).split()
    )


def test_a_file_that_was_changed_is_refused(tmp_path):
    path = tmp_path / "model.py"
    export_predictor(trained({}, {}), path)
    content = path.read_bytes()
    start = content.index(b'_MODEL = "') + 300
    path.write_bytes(content[:start] + b"a" + content[start + 1 :])
    with pytest.raises(ValueError, match="its weights are damaged"):
        load(path).predict(["text"])


def test_the_string_survives_every_byte(tmp_path):
    """Random weights have all bytes, those that end a string or a line among them."""
    pipeline = trained({}, {"n_projections": 40}, hidden_layer_sizes=(64, 64))
    path = tmp_path / "model.py"
    export_predictor(pipeline, path)
    content = path.read_bytes()
    written = content[content.index(b'_MODEL = "') + 10 :].partition(b'"\n')[0]
    assert not set(written) & {0, 10, 13, 26, ord('"'), ord("\\")}
    assert len(set(written)) == 250
    check(pipeline, path, TEXTS)


def test_pipelines_that_are_not_supported(tmp_path):
    path = tmp_path / "model.py"
    for featurizer, projector, message in (
        (
            {"norm": "l2"},
            {},
            "CharNgramFeaturizer with norm='l2' cannot be exported. Set norm=None",
        ),
        (
            {},
            {"hyperplanes": "google"},
            "SGNNProjector with hyperplanes='google' cannot be exported",
        ),
        ({}, {"output": "float"}, "output='float' cannot be exported"),
    ):
        with pytest.raises(ValueError, match=message):
            export_predictor(trained(featurizer, projector), path)
    other = make_pipeline(CharNgramFeaturizer(), HashEmbeddingClassifier(max_epochs=1)).fit(
        TEXTS, LABELS
    )
    with pytest.raises(TypeError, match="got CharNgramFeaturizer, HashEmbeddingClassifier"):
        export_predictor(other, path)
    with pytest.raises(TypeError, match="got SGNNClassifier"):
        export_predictor(network(), path)
    with pytest.raises(NotFittedError):
        export_predictor(make_pipeline(CharNgramFeaturizer(), SGNNProjector(), network()), path)
    unfitted = make_pipeline(CharNgramFeaturizer(), SGNNProjector(), QuantizedSGNNClassifier())
    with pytest.raises(NotFittedError):
        export_predictor(unfitted, path)
    pipeline = trained({}, {})
    for changed in ({"n_bits": 3}, {"output": "packed"}):
        parameters = {f"sgnnprojector__{name}": value for name, value in changed.items()}
        with pytest.raises(ValueError, match="Was a parameter changed after fit"):
            export_predictor(pipeline.set_params(**parameters), path)
        pipeline.set_params(sgnnprojector__n_bits=9, sgnnprojector__output="binary")
    with pytest.raises(ValueError, match="ngram_range"):
        export_predictor(pipeline.set_params(charngramfeaturizer__ngram_range=(3, 1)), path)
    assert list(tmp_path.iterdir()) == []


def test_predictions_of_concurrent_threads_are_unchanged(both, monkeypatch):
    for pipeline, exported in both:
        monkeypatch.setattr(exported, "_CACHE_SIZE", 20)  # cleared again and again
        texts = [
            " ".join(np.random.default_rng(seed).permutation(" ".join(HARD).split()))
            for seed in range(8)
        ]
        expected = pipeline.predict(texts).tolist()
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(lambda text: exported.predict([text])[0], texts)) == expected  # noqa: B023
