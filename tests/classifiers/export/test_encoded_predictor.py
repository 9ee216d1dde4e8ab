"""Predictors with the vectors of encoders, with numpy alone: the scores of the model, from a file,
a folder or a model folder.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp import TextClassifier, make_text_classifier
from sklearn_hashnlp.classifiers import export_predictor
from sklearn_hashnlp.classifiers.export import _standalone_encoder
from sklearn_hashnlp.classifiers.export._encoder_model import fitted_encoder
from sklearn_hashnlp.classifiers.export._linear_predictor import FolderPredictor, model_of_document
from sklearn_hashnlp.persistence import ModelFormatError, load_model, save_model
from sklearn_hashnlp.sentences import CooccurrenceEncoder, DistilledSentenceEncoder
from tests.classifiers.export.test_linear_predictor import HARD, WITHOUT_THE_PACKAGE, load
from tests.oracles import ngram_encoder
from tests.oracles.exported_folder import ExportedFolder
from tests.oracles.hashing import splitmix64
from tests.strategies import TEXT

WORDS = ["station", "where", "cat", "cats", "ﬁancé", "中文字", "ÅNGSTRÖM", "🙂", "don't", "ΑΣ", "?"]
RANDOM = np.random.default_rng(0)
TEXTS = [" ".join(RANDOM.choice(WORDS, 8)) for _ in range(60)]
LABELS = ["place" if "station" in text else "other" for text in TEXTS]
MANY = [*HARD, *TEXTS, "unknown words alone", "station " * 3000, "y" * 3000, " ".join(WORDS * 40)]
PAGE = (Path(__file__).parents[3] / "docs" / "exported_format.md").read_text(encoding="utf-8")
SMALL: dict[str, Any] = {"n_buckets": 900, "n_embeddings": 900, "random_state": 0}
# Lengths of vectors are rounded in another order, and only they; scores are of this magnitude.
ROUNDING = 2e-6

pytestmark = pytest.mark.filterwarnings("ignore:.*texts are truncated")


def cooccurrence() -> CooccurrenceEncoder:
    return CooccurrenceEncoder(n_components=6).fit(TEXTS + HARD * 3)


def distilled(**parameters: Any) -> DistilledSentenceEncoder:
    vectors = np.random.default_rng(1).normal(size=(len(TEXTS) + len(HARD), 7))
    return DistilledSentenceEncoder(**parameters).fit(TEXTS + HARD, vectors)


def in_4_bits(folder: Path) -> DistilledSentenceEncoder:
    save_model(distilled(), folder, precision="int4")
    encoder: DistilledSentenceEncoder = load_model(folder)
    return encoder


def scores_of(model: Any, texts: list[str]) -> Any:
    pipeline = getattr(model, "pipeline_", model)
    return pipeline[-1]._scores(pipeline[:-1].transform(texts))


def check(model: Any, folder: Path, precision: Any = "float32") -> FolderPredictor:
    """Compare the answers of a file, a folder and a model folder with those of the model."""
    save_model(model, folder / "model", precision=precision)
    model = load_model(folder / "model")
    predictor = load_model(folder / "model", predict_only=True)
    assert isinstance(predictor, FolderPredictor)
    scores = scores_of(model, MANY)
    np.testing.assert_allclose(predictor.scores(MANY), scores, rtol=0, atol=ROUNDING)
    labels, probabilities = model.predict(MANY), model.predict_proba(MANY)
    for name in ("exported.py", "exported"):
        size = export_predictor(model, folder / name)
        files = [folder / name] if name.endswith(".py") else list((folder / name).iterdir())
        assert size == sum(path.stat().st_size for path in files)
        exported = load(folder / name)
        assert exported.predict(MANY).tolist() == labels.tolist()
        assert exported.predict_proba(MANY) == pytest.approx(probabilities, abs=1e-6)
        assert exported.predict_proba([]).shape == (0, len(exported.CLASSES))
    assert predictor.predict(MANY).tolist() == labels.tolist()
    return predictor


@pytest.mark.parametrize("kind", ["words", "distilled", "mean", "4 bits", "both"])
def test_scores_equal_those_of_the_model(kind: str, tmp_path: Path) -> None:
    encoders: dict[str, Any] = {
        "words": cooccurrence,
        "distilled": distilled,
        "mean": lambda: distilled(n_components=None, max_words=9),
        "4 bits": lambda: in_4_bits(tmp_path / "encoder"),
        "both": distilled,
    }
    unlabeled = TEXTS if kind == "both" else None
    model = TextClassifier(pretrained=encoders[kind](), **SMALL)
    predictor = check(model.fit(TEXTS, LABELS, unlabeled=unlabeled), tmp_path)
    assert len(predictor.header["encoders"]) == (2 if kind == "both" else 1)


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_tables_of_lower_precision(precision: Any, tmp_path: Path) -> None:
    model = TextClassifier(pretrained=distilled(), **SMALL).fit(TEXTS, LABELS, unlabeled=TEXTS)
    check(model, tmp_path, precision)
    loaded = load_model(tmp_path / "model")
    export_predictor(model, tmp_path / "rounded.py", precision=precision)
    assert load(tmp_path / "rounded.py").predict_proba(MANY) == pytest.approx(
        loaded.predict_proba(MANY), abs=1e-6
    )


def test_a_pipeline_and_several_labels(tmp_path: Path) -> None:
    model = make_text_classifier(features="words", pretrained=cooccurrence(), **SMALL)
    check(model.fit(TEXTS, LABELS), tmp_path)
    lists = [[word for word in ("cat", "where") if word in text] for text in TEXTS]
    model = TextClassifier(pretrained=distilled(), **SMALL).fit(TEXTS, lists)
    (tmp_path / "lists").mkdir()
    check(model, tmp_path / "lists")


@given(texts=st.lists(TEXT, min_size=1, max_size=4))
def test_any_texts(any_model: tuple[Any, FolderPredictor], texts: list[str]) -> None:
    model, predictor = any_model
    expected = scores_of(model, texts)
    np.testing.assert_allclose(predictor.scores(texts), expected, rtol=0, atol=ROUNDING)


@pytest.fixture(name="any_model", scope="module")
def _any_model(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    model = TextClassifier(pretrained=distilled(), **SMALL).fit(TEXTS, LABELS, unlabeled=TEXTS)
    folder = tmp_path_factory.mktemp("any") / "model"
    save_model(model, folder)
    return model, load_model(folder, predict_only=True)


def test_hashes_equal_the_oracle() -> None:
    words = [*dict.fromkeys(word for text in MANY for word in text.lower().split())]
    expected = [ngram_encoder.word_fingerprint(word) for word in words]
    hashes = _standalone_encoder._hash_units([word.encode() for word in words])
    assert hashes.tolist() == expected
    pairs = _standalone_encoder._hash_pairs(hashes[:-1], hashes[1:]).tolist()
    assert pairs == list(map(ngram_encoder.pair_fingerprint, words, words[1:]))

    def ngram_fingerprint(ngram: str) -> int:
        state = 0
        for character in ngram:
            [state] = splitmix64(state ^ ngram_encoder.word_fingerprint(character), 1)
        return state

    words = words[:60]
    owners, hashes = _standalone_encoder._hash_characters(words, 3, 5)
    for index, word in enumerate(words):
        ngrams = ngram_encoder.character_ngrams(word)
        own = hashes[owners == index].tolist()
        assert sorted(own) == sorted(map(ngram_fingerprint, ngrams))


@pytest.mark.parametrize("make", [cooccurrence, distilled])
def test_vectors_equal_those_of_the_encoder(make: Any) -> None:
    encoder = make()
    options, arrays = fitted_encoder(encoder, "float32")
    named = {f"e.{name}": array for name, array in arrays.items()}
    vectors = _standalone_encoder._TextEncoder(options, named, "e").encode(MANY)
    np.testing.assert_allclose(vectors, encoder.transform(MANY), rtol=0, atol=2e-7)
    assert vectors.dtype == np.float32


def test_texts_that_are_refused(any_model: tuple[Any, FolderPredictor]) -> None:
    model, predictor = any_model
    with pytest.raises(TypeError, match="Text 1 is of type bytes; all texts must be str"):
        predictor.predict(["a", b"b"])
    for answers in (model, predictor):
        with pytest.raises(ValueError, match=r"[dD]ocument 1 holds the lone surrogate '\\ud800'"):
            answers.predict(["a", "b \ud800"])


@pytest.mark.parametrize("name", ["exported.py", "exported"])
def test_numpy_is_enough(name: str, tmp_path: Path) -> None:
    model = TextClassifier(pretrained=distilled(), **SMALL).fit(TEXTS, LABELS, unlabeled=TEXTS)
    export_predictor(model, tmp_path / name)
    command = [sys.executable, "-W", "error", "-c", WITHOUT_THE_PACKAGE, tmp_path]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert lines[0].split() == model.predict(["where is it", ""]).tolist()
    command = [sys.executable, "-W", "error", tmp_path / name, *TEXTS[:3]]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert output.splitlines() == model.predict(TEXTS[:3]).tolist()


@pytest.mark.parametrize("precision", ["float32", "float16", "int8", "4 bits"])
def test_the_page_is_enough_to_read_folders(precision: Any, tmp_path: Path) -> None:
    encoder = in_4_bits(tmp_path / "encoder") if precision == "4 bits" else distilled(max_words=20)
    model = TextClassifier(pretrained=encoder, **SMALL).fit(TEXTS, LABELS, unlabeled=TEXTS)
    stored = "float32" if precision == "4 bits" else precision
    export_predictor(model, tmp_path / "exported", precision=stored)
    save_model(model, tmp_path / "model", precision=stored)
    reader, texts = ExportedFolder(tmp_path / "exported"), HARD + TEXTS[:9]
    probabilities = load_model(tmp_path / "model").predict_proba(texts)
    for text, expected in zip(texts, probabilities, strict=True):
        assert reader.predict(text)[1] == pytest.approx(expected.tolist(), abs=1e-5), text
    names = {*reader.header, *reader.header["encoders"][0], *reader.stored}
    for name in {name.replace("encoders.1", "encoders.0") for name in names}:
        assert re.search(rf"`{re.escape(name)}`", PAGE), name


HEADERS: list[tuple[Any, str]] = [
    (lambda header: header["encoders"][0].update(n_words=10**9), "n_words"),
    (lambda header: header["encoders"][0].update(ngram_range=[0, 5]), "ngram_range"),
    (lambda header: header["encoders"][0].update(max_words=0), "max_words"),
    (lambda header: header["encoders"][0].update(norm_power=-1.0), "norm_power"),
    (lambda header: header["encoders"][0].update(norm_power=float("inf")), "norm_power"),
    (lambda header: header["encoders"][0].pop("unknown_weight"), "unknown_weight"),
    (lambda header: header.update(encoders=[7]), "not subscriptable"),
    (lambda header: header.update(vector_weight=-1.0), "the vectors have a weight of -1.0"),
    (lambda header: header.update(vectorizers=[]), "not enough values"),
    (lambda header: header.update(arrays=header["arrays"][:-1]), "mean"),
]


@pytest.mark.parametrize(("change", "message"), HEADERS)
def test_headers_are_checked(any_exported: Path, tmp_path: Path, change: Any, message: str) -> None:
    line, _, content = (any_exported / "weights.bin").read_bytes().partition(b"\n")
    header = json.loads(line)
    change(header)
    path = tmp_path / "weights.bin"
    text = json.dumps(header).encode()
    path.write_bytes(text + b" " * (-(len(text) + 1) % 64) + b"\n" + content)
    with pytest.raises(ValueError, match=rf"weights\.bin is damaged: .*{message}"):
        program(any_exported)["_read_predictor"](path)


@pytest.mark.parametrize("name", ["fingerprints", "weights", "coefficients", "mean"])
def test_arrays_are_checked(any_exported: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / "weights.bin"
    line, _, content = (any_exported / "weights.bin").read_bytes().partition(b"\n")
    header = json.loads(line)
    for layout in header["arrays"]:
        if layout[0] == f"encoders.0.{name}":
            layout[2] = [layout[2][0] - 1, *layout[2][1:]]
    path.write_bytes(json.dumps(header).encode() + b"\n" + content)
    with pytest.raises(ValueError, match=r"weights\.bin is damaged: .*encoders\.0\.\w+' must be"):
        program(any_exported)["_read_predictor"](path)


def program(folder: Path) -> dict[str, Any]:
    """Run the program in a folder as a module."""
    source = (folder / "__main__.py").read_text(encoding="ascii")
    names: dict[str, Any] = {"__name__": "exported", "__file__": str(folder / "__main__.py")}
    exec(compile(source, folder / "__main__.py", "exec"), names)
    return names


@pytest.fixture(name="any_exported", scope="module")
def _any_exported(any_model: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("any") / "exported"
    export_predictor(any_model[0], folder)
    return folder


@pytest.mark.parametrize(
    ("version", "found"),
    [("0", "comes with version 0"), ("1", "comes with other weights of that version: their SHA")],
)
def test_weights_that_come_with_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, found: str
) -> None:
    model = TextClassifier(pretrained="english", **SMALL).fit(TEXTS, LABELS, unlabeled=TEXTS)
    check(model, tmp_path)
    package = import_module("sklearn_hashnlp.sentences._pretrained_weights")
    other = {"name": "english", "version": version, "sha256": "0"}
    for module in (package, import_module("sklearn_hashnlp.classifiers.export._encoder_model")):
        monkeypatch.setattr(module, "reference_of", lambda name: other)
    monkeypatch.setattr(package, "loaded_encoder", package.loaded_encoder.__wrapped__)
    with pytest.raises(ModelFormatError, match=f"version 1 of the encoder 'english'.*{found}"):
        load_model(tmp_path / "model", predict_only=True)


def test_documents_of_other_structure_are_left_to_load_model(any_model: Any) -> None:
    description = {"class": "TextClassifier", "state": {"union": {"dict": []}}, "parameters": {}}
    with pytest.raises(ValueError, match="the model has another structure"):
        model_of_document(description, {})
