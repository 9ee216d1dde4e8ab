"""Pipelines of make_fasttext_classifier and load_fasttext are written as files that give the same
predictions.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from sklearn_hashnlp import HashingNgramVectorizer, TextClassifier
from sklearn_hashnlp.classifiers import (
    EmbeddingTables,
    load_fasttext,
    make_fasttext_classifier,
    make_text_classifier,
    save_fasttext,
)
from sklearn_hashnlp.persistence._fasttext_file import ARGUMENTS, HEADER, quantize, read_fasttext
from tests.classifiers.test_load_fasttext import MODELS, load
from tests.oracles import fasttext as oracle
from tests.persistence.fasttext_models import DATA, TEXTS

DENSE = [
    name for name, options in MODELS.items() if "quantized" not in options and name != "version 11"
]
LINES = [
    *(
        "a fine film",
        "so dull",
        "funny and fine",
        "dull , and far too long",
        "fine acting",
        "far too dull",
    ),
    *("when does it start", "how long is the film", "when is it over"),
] * 4
LABELS = [*["good", "bad"] * 3, *["question"] * 3] * 4
N_HEAD = struct.calcsize(f"<{HEADER}{ARGUMENTS}")


def saved(model: Any, path: Path, name: str = "saved.bin") -> Any:
    save_fasttext(model, path / name)
    return load_fasttext(path / name)


@pytest.mark.parametrize("name", DENSE)
def test_the_bytes_are_those_of_the_format(name: str, tmp_path: Path) -> None:
    model, pipeline = load(tmp_path, name)
    save_fasttext(pipeline, tmp_path / "saved.bin")
    expected = bytearray(oracle.write(model))
    n_tokens = N_HEAD + struct.calcsize("<iii")
    expected[n_tokens : n_tokens + 8] = struct.pack("<q", 7 * len(model.words) + sum(model.counts))
    if name == "hs" or name.startswith("hs,"):  # fastText never reads the last row
        expected[-4 * model.output.shape[1] :] = bytes(4 * model.output.shape[1])
    if not oracle_hashes(model):
        # such a file has no buckets
        expected[:N_HEAD] = (tmp_path / "saved.bin").read_bytes()[:N_HEAD]
    if model.loss == "ns":
        loss = struct.calcsize("<8i")
        # of the same probabilities
        expected[loss : loss + 4] = struct.pack("<i", oracle.LOSSES["ova"])
    assert (tmp_path / "saved.bin").read_bytes() == expected


def oracle_hashes(model: oracle.Model) -> bool:
    return model.word_ngrams > 1 or model.max_n > 0


@pytest.mark.parametrize("name", ["softmax.bin", "hs.bin", "ova.bin"])
def test_a_file_that_fasttext_wrote_is_written_again(name: str, tmp_path: Path) -> None:
    save_fasttext(load_fasttext(DATA / name), tmp_path / name)
    was, became = (path.read_bytes() for path in (DATA / name, tmp_path / name))
    assert len(was) == len(became)
    before, after = read_fasttext(DATA / name), read_fasttext(tmp_path / name)
    assert before.labels.tolist() == after.labels.tolist()
    assert before.dictionary.names.tobytes() == after.dictionary.names.tobytes()
    for attribute in ("counts", "offsets"):
        one, other = getattr(before.dictionary, attribute), getattr(after.dictionary, attribute)
        assert one.tolist() == other.tolist()
    assert before.inputs.tobytes() == after.inputs.tobytes()
    n_rows = len(before.output) - (name == "hs.bin")
    assert before.output[:n_rows].tobytes() == after.output[:n_rows].tobytes()


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_was_trained_further(name: str, tmp_path: Path) -> None:
    """Training adds a bias, for which fastText has no place but another column."""
    pipeline = load(tmp_path, name)[1]
    file = "saved.ftz" if pipeline[0]._dictionary.pruned is not None else "saved.bin"
    X, labels = (
        pipeline[0].transform(["the sauce", "a cr\u00eape of the"]),
        np.resize(pipeline.classes_[:2], 2),
    )
    for _ in range(3):
        pipeline[-1].partial_fit(X, labels)
    again = saved(pipeline, tmp_path, file)
    tolerance = 0.1 if file.endswith(".ftz") else 1e-5
    texts = [text for text, row in zip(TEXTS, pipeline[0].transform(TEXTS), strict=True) if row.nnz]
    np.testing.assert_allclose(
        again.predict_proba(texts), pipeline.predict_proba(texts), atol=tolerance
    )
    learns = len(pipeline.classes_) > 1 or pipeline[-1].loss_ == "fasttext_ova"
    assert again[-1].embedding_dim == pipeline[-1].embedding_dim + learns


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"word_ngrams": 2, "bucket": 50},
        {"min_n": 2, "max_n": 4, "bucket": 500, "min_count": 5},
        {"solver": "sgd"},
        {"class_weight": {"good": 2.0}},
    ],
)
@pytest.mark.parametrize("n_labels", [2, 3])
def test_trained_models_predict_the_same_from_a_file(
    options: dict[str, Any], n_labels: int, tmp_path: Path
) -> None:
    rows = [row for row, label in enumerate(LABELS) if n_labels == 3 or label != "question"]
    texts, labels = [LINES[row] for row in rows], [LABELS[row] for row in rows]
    model = make_fasttext_classifier(**options).fit(texts, labels)
    assert model[-1].solver_ == options.get("solver", "dual")
    assert model.score(texts, labels) > 0.9
    again = saved(model, tmp_path)
    unseen = [*texts, "a question", "fine , when"]
    assert again.predict(unseen).tolist() == model.predict(unseen).tolist()
    np.testing.assert_allclose(again.predict_proba(unseen), model.predict_proba(unseen), atol=1e-5)
    assert again[0].words_ == model[0].words_
    counts = dict(zip(again[0].words_, again[0]._dictionary.counts.tolist(), strict=False))
    assert counts["fine"] == sum(text.split().count("fine") for text in texts)
    save_fasttext(again, tmp_path / "again.bin")
    head = struct.calcsize(f"<{HEADER}3i")  # up to minCount, which is no part of a trained model
    saved_bytes, again_bytes = (
        (tmp_path / name).read_bytes() for name in ("saved.bin", "again.bin")
    )
    assert saved_bytes[head + 8 :] == again_bytes[head + 8 :]


def test_the_most_frequent_label_is_first_in_the_file(tmp_path: Path) -> None:
    """As fastText sorts them: its hierarchical softmax and the order of ties depend on it."""
    save_fasttext(
        make_fasttext_classifier().fit(["a b", "c d", "e f", "a g"], ["x", "z", "z", "y"]),
        tmp_path / "m.bin",
    )
    file = read_fasttext(tmp_path / "m.bin")
    assert (file.labels.tolist(), file.label_counts.tolist()) == (["z", "x", "y"], [2, 1, 1])


def test_several_labels_per_text(tmp_path: Path) -> None:
    labels = [
        [label, "short"] if len(text) < 10 else [label]
        for text, label in zip(LINES, LABELS, strict=True)
    ]
    model = (
        make_fasttext_classifier(loss="ova")
        .set_params(classifier__max_epochs=20)
        .fit(LINES, labels)
    )
    again = saved(model, tmp_path)
    assert again.classes_.tolist() == model.classes_.tolist()
    np.testing.assert_allclose(again.predict_proba(LINES), model.predict_proba(LINES), atol=0.008)


def test_labels_that_are_numbers_become_strings(tmp_path: Path) -> None:
    model = make_fasttext_classifier().fit(LINES, [10 * len(label) for label in LABELS])
    assert saved(model, tmp_path).predict(LINES).tolist() == [
        str(label) for label in model.predict(LINES)
    ]


def test_a_new_classifier_behind_a_loaded_vectorizer(tmp_path: Path) -> None:
    pipeline = load_fasttext(DATA / "softmax.bin")
    pipeline.steps[-1] = make_fasttext_classifier().steps[-1]
    pipeline[-1].fit(pipeline[0].transform(LINES), LABELS)  # other labels than those of the file
    again = saved(pipeline, tmp_path)
    np.testing.assert_allclose(again.predict_proba(LINES), pipeline.predict_proba(LINES), atol=1e-5)


def test_the_bytes_do_not_depend_on_threads(tmp_path: Path) -> None:
    for n_jobs in (1, 3):
        save_fasttext(
            make_fasttext_classifier(word_ngrams=2, n_jobs=n_jobs).fit(LINES, LABELS),
            tmp_path / f"{n_jobs}.bin",
        )
    assert (tmp_path / "1.bin").read_bytes() == (tmp_path / "3.bin").read_bytes()


def standard(**parameters: Any) -> Any:
    return make_fasttext_classifier().set_params(
        **{f"classifier__{name}": v for name, v in parameters.items()}
    )


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (
            make_text_classifier(),
            TypeError,
            "got AutoNgramVectorizer and HashEmbeddingClassifier.*make_fasttext",
        ),
        (TextClassifier(), TypeError, "got TextClassifier"),
        (make_pipeline(HashingNgramVectorizer()), TypeError, "got HashingNgramVectorizer"),
        (
            standard(variant="improved", n_hashes=1),
            ValueError,
            "importance weights, such as .*variant='standard'",
        ),
        (standard(embedding=EmbeddingTables()), ValueError, "rows that are hashed once more"),
        (standard(normalize="l2"), ValueError, "no place for normalize='l2'.*Set normalize='l1'"),
        (
            standard(hidden_layer_sizes=(4,), solver="sgd"),
            ValueError,
            r"no place for hidden_layer_sizes=\(4,\)",
        ),
        (
            standard(calibrate="auto"),
            ValueError,
            "the length of a text: calibrate='auto'. Set 'temperature'",
        ),
        (standard(loss="ova", solver="sgd"), ValueError, "no place for loss='ova' with one label"),
        (
            standard(loss="hsigmoid", solver="sgd"),
            ValueError,
            "no place for a tree other than Huffman's",
        ),
    ],
    ids=str,
)
def test_what_has_no_place_in_a_file_is_refused_by_name(
    model: Any, error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        save_fasttext(model.fit(LINES, LABELS), tmp_path / "model.bin")
    assert list(tmp_path.iterdir()) == []


def test_other_errors_are_named(tmp_path: Path) -> None:
    model = make_fasttext_classifier().fit(
        LINES, ["a\0b" if label == "bad" else label for label in LABELS]
    )
    with pytest.raises(ValueError, match="a label with the character NUL"):
        save_fasttext(model, tmp_path / "model.bin")
    prefix = make_fasttext_classifier().set_params(vectorizer__label_prefix="#").fit(LINES, LABELS)
    with pytest.raises(
        ValueError, match=r"label_prefix='#': fastText skips words with its own\. Set '__label__'"
    ):
        save_fasttext(prefix, tmp_path / "model.bin")
    with pytest.raises(ValueError, match=r"files that end with \.bin or \.ftz, got '.*model\.vec'"):
        save_fasttext(prefix, tmp_path / "model.vec")
    for name, value in (("solver", "auto"), ("loss", "hs")):
        with pytest.raises(
            ValueError, match=f"The '{name}' parameter of make_fasttext_classifier must be one of"
        ):
            make_fasttext_classifier(**{name: value})
    pruned = load_fasttext(DATA / "pruned.ftz")
    with pytest.raises(
        ValueError, match=r"is pruned, which only quantized files can be.*\.ftz, got '.*model\.bin'"
    ):
        save_fasttext(pruned, tmp_path / "model.bin")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        save_fasttext(
            make_fasttext_classifier().fit(LINES, LABELS), tmp_path / "nowhere" / "model.bin"
        )


def test_quantized_files(tmp_path: Path) -> None:
    model = make_fasttext_classifier(word_ngrams=2, bucket=20_000).fit(LINES, LABELS)
    again = saved(model, tmp_path, "saved.ftz")
    assert again.predict(LINES).tolist() == LABELS
    np.testing.assert_allclose(again.predict_proba(LINES), model.predict_proba(LINES), atol=0.05)
    save_fasttext(model, tmp_path / "saved.bin")
    assert (tmp_path / "saved.ftz").stat().st_size * 4 < (tmp_path / "saved.bin").stat().st_size
    for name in ("pruned.ftz", "quantized_output.ftz"):
        pipeline = load_fasttext(DATA / name)
        near = saved(pipeline, tmp_path, name).predict_proba(TEXTS)
        np.testing.assert_allclose(near, pipeline.predict_proba(TEXTS), atol=0.1)


@pytest.mark.parametrize("n_columns", [1, 2, 5])
def test_quantization_against_the_nearest_of_all_centroids(n_columns: int) -> None:
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(3000, n_columns)).astype(np.float32)
    matrix[:100] = 0
    matrix[:, -1] = 1
    codes, centroids = quantize(matrix)
    decoded = np.hstack([part[one] for part, one in zip(centroids, codes.T, strict=True)])
    assert [part.shape for part in centroids] == [
        (256, min(2, n_columns - start)) for start in range(0, n_columns, 2)
    ]
    for start, part, one in zip(range(0, n_columns, 2), centroids, codes.T, strict=True):
        distances = np.square(matrix[:, np.newaxis, start : start + 2] - part).sum(axis=2)
        assert (distances[np.arange(3000), one] <= distances.min(axis=1) + 1e-6).all()
    assert np.abs(decoded - matrix).mean() < 0.1
    if n_columns % 2:
        assert (decoded[:, -1] == 1).all()  # as few values as centroids
    if n_columns == 5:
        assert not decoded[:100, :4].any()


def test_rows_that_were_never_trained_do_not_choose_centroids() -> None:
    """A file has many more of them than others; the column of the bias is one in all."""
    rng = np.random.default_rng(0)
    matrix = np.zeros((200_000, 4), dtype=np.float32)
    matrix[:2000, :3] = rng.normal(size=(2000, 3))
    matrix[:, 3] = 1
    codes, centroids = quantize(matrix)
    decoded = np.hstack([part[one] for part, one in zip(centroids, codes.T, strict=True)])
    assert (decoded[2000:] == matrix[2000:]).all()
    errors = np.square(decoded[:2000] - matrix[:2000]).mean(axis=0)
    assert errors[2] < 1e-3  # with the bias beside it
    assert errors[:2].max() < 0.02


@pytest.mark.slow
def test_fasttext_reads_the_files(tmp_path: Path) -> None:
    fasttext = pytest.importorskip("fasttext")
    model = make_fasttext_classifier(word_ngrams=2, min_n=2, max_n=3, bucket=1000).fit(
        LINES, LABELS
    )
    for name in ("model.bin", "model.ftz"):
        again = saved(model, tmp_path, name)
        theirs = fasttext.load_model(str(tmp_path / name))
        for line, row in zip(LINES, again.predict_proba(LINES), strict=True):
            expected = {
                label: probability
                for probability, label in theirs.f.predict(line + "\n", -1, 0.0, "strict")
            }
            found = [expected[f"__label__{label}"] for label in again.classes_]
            np.testing.assert_allclose(found, row + 1e-5, atol=1e-5)
