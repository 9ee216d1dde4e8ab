"""FastTextModel predicts what fastText predicts, and is a classifier of texts as any other."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline

from sklearn_hashnlp import load_model, save_model
from sklearn_hashnlp.kernels.ngrams import _fasttext_rows
from sklearn_hashnlp.persistence import FastTextModel, ModelFormatError, load_fasttext
from sklearn_hashnlp.persistence._fasttext_model import huffman_children
from tests.oracles import fasttext as oracle
from tests.persistence.fasttext_models import DATA, TEXTS, kept_buckets, random_model, save

SUBWORDS = {"word_ngrams": 2, "min_n": 1, "max_n": 3}
MODELS: dict[str, dict[str, Any]] = {
    "softmax": {},
    "hs": {"loss": "hs", "word_ngrams": 3, "bucket": 40},
    "hs, counts in any order": {"loss": "hs", "counts": [3, 9, 0, 9, 4]},
    "hs, two labels": {"loss": "hs", "n_labels": 2},
    "one label": {"loss": "hs", "n_labels": 1},
    "ova, subwords": {"loss": "ova", "bucket": 50, **SUBWORDS},
    "ns, longer subwords": {"loss": "ns", "bucket": 7, "min_n": 2, "max_n": 50},
    "quantized": {"quantized": "i", "dim": 6},
    "quantized, norms": {"quantized": "ino", "loss": "ova", "bucket": 30, "word_ngrams": 2},
    "quantized output, tree": {"quantized": "io", "loss": "hs"},
    "pruned": {"quantized": "in", "bucket": 60, "pruned": kept_buckets(60, **SUBWORDS), **SUBWORDS},
    "pruned to words": {"quantized": "i", "bucket": 60, "pruned": {}, **SUBWORDS},
    "version 11": {"bucket": 50, "version": 11, **SUBWORDS},
    "no end of line": {"words": "none"},
}


def make(name: str) -> oracle.Model:
    options = dict(MODELS[name])
    no_end = options.pop("words", "") == "none"
    model = random_model(len(name), **options)
    if no_end:
        model.words[0] = b"other"
    return model


@pytest.fixture
def loaded(tmp_path: Path) -> Callable[[str], tuple[oracle.Model, FastTextModel]]:
    def load(name: str) -> tuple[oracle.Model, FastTextModel]:
        model = make(name)
        return model, load_fasttext(save(model, tmp_path / "model.bin"))

    return load


@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_those_of_the_formulas(name: str, loaded: Any) -> None:
    written, model = loaded(name)
    texts = [text.replace("\n", " ") for text in TEXTS]
    labels = [label.decode() for label in written.labels]
    expected = np.array([oracle.probabilities(written, text) for text in texts])
    vectors = np.array([oracle.vector(written, text) for text in texts])
    assert np.allclose(model.sentence_vectors(TEXTS), vectors, atol=1e-5)
    assert model.classes_.tolist() == sorted(labels)
    in_file = np.searchsorted(model.classes_, labels)
    assert np.allclose(model.predict_proba(TEXTS)[:, in_file], expected, atol=1e-5)
    with np.errstate(divide="ignore"):
        assert np.allclose(model.predict_log_proba(TEXTS)[:, in_file], np.log(expected), atol=1e-4)
    known = np.array([bool(oracle.rows_of_text(written, text)) for text in texts])
    last_best = len(labels) - 1 - expected[:, ::-1].argmax(axis=1)
    found = np.searchsorted(labels_sorted := sorted(labels), model.predict(TEXTS))
    assert [labels_sorted[i] for i in found[known]] == [labels[i] for i in last_best[known]]
    assert set(model.predict(np.array(texts)[~known])) <= {labels[0]}
    if written.loss not in ("hs",) and len(labels) > 2:
        scores = vectors @ oracle.dense(written.output).T
        assert np.allclose(model.decision_function(TEXTS)[:, in_file], scores, atol=1e-4)


@pytest.mark.parametrize("name", ["softmax.bin", "hs.bin", "ova.bin", "pruned.ftz", "quantized_output.ftz"])
def test_predictions_are_those_that_fasttext_printed(name: str) -> None:
    stored = json.loads((DATA / "predictions.json").read_text(encoding="utf-8"))
    model = load_fasttext(DATA / name)
    found = model.predict_topk(stored["texts"], k=4)
    for text, ours, theirs in zip(stored["texts"], found, stored[name], strict=True):
        assert len(ours) == len(theirs)
        assert ours[0][0] == theirs[0][0] == model.predict([text])[0]
        assert np.allclose([p for _, p in ours], [p for _, p in theirs], atol=1e-4)
        close = dict(theirs)
        assert all(abs(close[label] - p) < 1e-4 for label, p in ours if p > 1e-3)


def test_equal_probabilities_are_ranked_as_by_fasttext(tmp_path: Path) -> None:
    """The last label of the file is the first, also of those beyond the table of the sigmoid."""
    written = random_model(loss="ova", dim=2)
    written.output = np.array([[1, 0], [9, 0], [0, 1], [12, 0], [-9, 0]], dtype="f4")
    written.inputs = np.tile(np.array([1, 0], dtype="f4"), (len(written.words), 1))
    model = load_fasttext(save(written, tmp_path / "model.bin"))
    assert model.predict(["the"]).tolist() == ["equipment"]
    assert [label for label, _ in model.predict_topk(["the"], k=len(model.classes_))[0]] == [
        "equipment",
        "baking",
        "cooking",
        "tea",
        "café",
    ]
    assert model.predict_proba(["the"])[0, model.classes_.tolist().index("café")] == 0
    assert len(model.predict_topk(["the"], threshold=0.6)[0]) == 3


@pytest.mark.parametrize("loss", ["softmax", "hs", "ova"])
def test_a_text_without_rows_has_the_most_frequent_label_everywhere(loss: str, tmp_path: Path) -> None:
    written = random_model(loss=loss)
    written.words = [b"end" if word == b"</s>" else word for word in written.words]
    model = load_fasttext(save(written, tmp_path / "model.bin"))
    first = written.labels[0].decode().removeprefix("__label__")
    assert model.predict(["zzz", ""]).tolist() == [first, first]
    assert [row[0][0] for row in model.predict_topk(["zzz", ""], k=1)] == [first, first]
    assert model.predict(TEXTS).tolist() == [row[0][0] for row in model.predict_topk(TEXTS, k=1)]


def test_every_word_of_the_dictionary_has_its_row(tmp_path: Path) -> None:
    written = random_model()
    written.words = [b"</s>", "New\xa0York".encode(), b"\xff\xfe", *written.words[3:]]
    model = load_fasttext(save(written, tmp_path / "model.bin"))
    np.testing.assert_allclose(model.word_vectors(model.words_), oracle.dense(written.inputs)[: len(written.words)])
    for wrong in ("", "a\0b", "a b", b"a"):
        with pytest.raises(ValueError, match="needs words without whitespace"):
            model.word_vectors([wrong])


def test_words_have_vectors(loaded: Any) -> None:
    written, model = loaded("ova, subwords")
    words = ["sauce", "crêpe", "unknown"]
    rows = [oracle.subwords(written, word.encode()) for word in words]
    rows[0].append(written.words.index(b"sauce"))
    rows[1].append(written.words.index("crêpe".encode()))
    expected = [oracle.dense(written.inputs)[ids].mean(axis=0) for ids in rows]
    assert np.allclose(model.word_vectors(words), expected, atol=1e-6)
    assert model.word_vectors([]).shape == (0, 5)
    assert model.words_ == [word.decode() for word in written.words]
    with pytest.raises(ValueError, match="needs words without whitespace, got 'two words'"):
        model.word_vectors(["two words"])
    with pytest.raises(ValueError, match="takes a list of words, got a single string"):
        model.word_vectors("word")


@pytest.mark.parametrize("name", ["softmax", "hs", "ova, subwords", "quantized, norms", "pruned"])
def test_copies_predict_the_same(name: str, loaded: Any, tmp_path: Path) -> None:
    _, model = loaded(name)
    expected = model.predict_proba(TEXTS)
    save_model(model, tmp_path / "folder")
    joblib.dump(model, tmp_path / "model.joblib")
    copies = (
        load_model(tmp_path / "folder"),
        joblib.load(tmp_path / "model.joblib"),
        pickle.loads(pickle.dumps(model)),
    )
    for copy in copies:
        assert copy.predict_proba(TEXTS).tobytes() == expected.tobytes()
        assert copy.arguments_ == model.arguments_
        assert copy.predict(TEXTS).tolist() == model.predict(TEXTS).tolist()


def test_saved_models_take_less_with_int8(loaded: Any, tmp_path: Path) -> None:
    model = loaded("hs")[1]
    save_model(model, tmp_path / "folder", precision="int8")
    assert np.allclose(load_model(tmp_path / "folder").predict_proba(TEXTS), model.predict_proba(TEXTS), atol=0.05)


def test_blocks_of_many_texts_are_those_of_single_texts(loaded: Any) -> None:
    model = loaded("ova, subwords")[1]
    texts = TEXTS * 90
    assert model.predict_proba(texts).tobytes() == np.tile(model.predict_proba(TEXTS), (90, 1)).tobytes()
    assert model.predict(iter(texts)).tolist() == model.predict(TEXTS).tolist() * 90
    assert model.predict([]).shape == (0,)
    assert model.predict_proba([]).shape == (0, 5)


def test_it_is_a_classifier_of_scikit_learn(loaded: Any) -> None:
    model = loaded("softmax")[1]
    assert clone(model) is model
    assert make_pipeline(model).fit(TEXTS).predict(TEXTS).tolist() == model.predict(TEXTS).tolist()
    assert cross_val_score(model, TEXTS[:9], model.predict(TEXTS[:9]), cv=KFold(3)).tolist() == [1, 1, 1]
    with pytest.raises(NotFittedError):
        FastTextModel().predict(["a"])
    with pytest.raises(NotFittedError):
        FastTextModel().fit(["a"])


def test_scores_of_two_labels_are_one_column(loaded: Any) -> None:
    model = loaded("hs, two labels")[1]
    scores = model.decision_function(TEXTS)
    assert scores.shape == (len(TEXTS),)
    probabilities = model.predict_proba(TEXTS)
    assert np.allclose(scores, np.log(probabilities[:, 1] / probabilities[:, 0]), atol=1e-5)


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ("a text", ValueError, "wrap a single one in a list"),
        ([b"bytes"], TypeError, "document 0 is b'bytes'"),
        (["a", None], TypeError, "document 1 is None"),
        (["a", "b\ud800"], ValueError, r"FastTextModel: document 1 holds the lone surrogate '\\ud800' at position 1"),
    ],
)
def test_what_is_no_text_is_refused(X: Any, error: type[Exception], message: str, loaded: Any) -> None:
    with pytest.raises(error, match=message):
        loaded("softmax")[1].predict(X)


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_a_wrong_k_is_refused(k: Any, loaded: Any) -> None:
    with pytest.raises(ValueError, match="needs an integer k of at least 1, got"):
        loaded("softmax")[1].predict_topk(["a"], k=k)


def test_the_tree_is_that_of_huffman() -> None:
    for counts in ([5, 4, 3, 2, 1], [1, 1, 1, 1], [9], [0, 7, 7, 2]):
        children = huffman_children(counts).tolist()
        row = oracle._tree(counts)
        assert len(children) == len(counts) - 1
        total = row[0]
        sums = list(counts)
        for left, right in children:
            sums.append(sums[left] + sums[right])
        assert sums[-1] == total


CHANGES: dict[str, tuple[Callable[[oracle.Model], Any], str]] = {
    "skipgram": (lambda m: setattr(m, "model", 2), "is a skipgram model of fastText: word vectors"),
    "newer": (lambda m: setattr(m, "version", 13), "has version 13 of fastText's format; the newest known one is 12"),
    "buckets": (lambda m: setattr(m, "bucket", 61), "texts can select 70 rows of its input matrix, which has 69"),
    "no buckets": (lambda m: setattr(m, "bucket", 0), "it has n-grams, but 0 buckets"),
    "rows": (lambda m: setattr(m, "output", m.output[:4]), "its output matrix has 4 rows for 5 labels"),
    "columns": (lambda m: setattr(m, "inputs", m.inputs[:, :4]), "its matrices have 4 and 5 columns"),
    "long n-grams": (lambda m: setattr(m, "word_ngrams", 1001), "its n-grams have up to 1001 words or characters"),
    "nan": (lambda m: m.output.fill(np.nan), "its output matrix has infinite values or NaN"),
    "pruned": (lambda m: setattr(m, "pruned", {1: 0}), "pruned, but its input matrix was not quantized"),
    "twice": (lambda m: setattr(m, "labels", [b"a", b"b", b"a", b"c", b"d"]), "two labels have the name 'a'"),
    "count": (lambda m: setattr(m, "counts", [5, 4, 3, -2, 1]), "a label has a count that is negative"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_is_no_classifier_is_refused(change: str, tmp_path: Path) -> None:
    model = random_model(bucket=60, word_ngrams=2)
    alter, message = CHANGES[change]
    alter(model)
    with pytest.raises(ModelFormatError, match=message) as caught:
        load_fasttext(save(model, tmp_path / "changed.bin"))
    assert "changed.bin" in str(caught.value)


def test_a_quantized_output_matrix_that_would_take_much_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    path = DATA / "quantized_output.ftz"
    monkeypatch.setattr("sklearn_hashnlp.persistence._fasttext_file._MAX_OUTPUT", 0)
    load_fasttext(path)  # it is not much larger than the file
    monkeypatch.setattr("sklearn_hashnlp.persistence._fasttext_file._MAX_GROWTH", 0)
    with pytest.raises(ModelFormatError, match=r"its output matrix would take [0-9,]+ bytes"):
        load_fasttext(path)


def test_labels_that_would_take_much_memory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One long label makes an array of all labels wide."""
    monkeypatch.setattr("sklearn_hashnlp.persistence._fasttext_model._MAX_LABEL_BYTES", 179)
    with pytest.raises(ModelFormatError, match=r"m\.bin.*array of its 5 labels, some very long, would take 180 bytes"):
        load_fasttext(save(random_model(), tmp_path / "m.bin"))


def test_every_shortened_file_is_refused(tmp_path: Path) -> None:
    content = oracle.write(random_model(bucket=9, quantized="n", **SUBWORDS))
    path = tmp_path / "short.bin"
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(ModelFormatError, match=r"short\.bin"):
            load_fasttext(path)


def test_promised_sizes_are_compared_with_the_file(tmp_path: Path) -> None:
    """A header of a few bytes cannot make the reader take memory."""
    content = bytearray(oracle.write(random_model()))
    sizes = content.index(np.array([9, 5], dtype="<i8").tobytes())
    content[sizes : sizes + 16] = np.array([2**40, 2**20], dtype="<i8").tobytes()
    (tmp_path / "large.bin").write_bytes(content)
    with pytest.raises(ModelFormatError, match="its input matrix would take 4,611,686,018,427,387,904 bytes"):
        load_fasttext(tmp_path / "large.bin")
    with pytest.raises(FileNotFoundError):
        load_fasttext(tmp_path / "none.bin")


def test_subwords_that_are_not_kept_are_found_again(monkeypatch: pytest.MonkeyPatch, loaded: Any) -> None:
    expected = loaded("ova, subwords")[1].predict_proba(TEXTS)
    monkeypatch.setattr(_fasttext_rows, "_MAX_SUBWORDS", 0)
    model = loaded("ova, subwords")[1]
    assert model.predict_proba(TEXTS).tobytes() == expected.tobytes()
    assert len(model._file.dictionary.tables.subwords) == 0
