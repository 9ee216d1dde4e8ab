"""Pipelines of load_fasttext predict what fastText predicts, and are trained further and saved."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from sklearn_hashnlp import load_model, save_model
from sklearn_hashnlp.classifiers import load_fasttext
from sklearn_hashnlp.classifiers.fasttext._load_fasttext import huffman_children
from sklearn_hashnlp.kernels.ngrams import _fasttext_rows
from sklearn_hashnlp.persistence import ModelFormatError, _fasttext_file
from tests.oracles import fasttext as oracle
from tests.persistence.fasttext_models import DATA, TEXTS, kept_buckets, random_model, save

SUBWORDS = {"word_ngrams": 2, "min_n": 1, "max_n": 3}
MODELS: dict[str, dict[str, Any]] = {
    "softmax": {},
    "softmax, two labels": {"n_labels": 2, "bucket": 40, "word_ngrams": 2},
    "softmax, one label": {"n_labels": 1},
    "hs": {"loss": "hs", "word_ngrams": 3, "bucket": 40},
    "hs, counts in any order": {"loss": "hs", "counts": [3, 9, 0, 9, 4]},
    "hs, two labels": {"loss": "hs", "n_labels": 2},
    "hs, one label": {"loss": "hs", "n_labels": 1},
    "ova, subwords": {"loss": "ova", "bucket": 50, **SUBWORDS},
    "ova, two labels": {"loss": "ova", "n_labels": 2},
    "ova, one label": {"loss": "ova", "n_labels": 1},
    "ns, longer subwords": {"loss": "ns", "bucket": 7, "min_n": 2, "max_n": 50},
    "quantized": {"quantized": "i", "dim": 6},
    "quantized, norms": {"quantized": "ino", "loss": "ova", "bucket": 30, "word_ngrams": 2},
    "quantized output, tree": {"quantized": "io", "loss": "hs"},
    "pruned": {"quantized": "in", "bucket": 60, "pruned": kept_buckets(60, **SUBWORDS), **SUBWORDS},
    "pruned to words": {"quantized": "i", "bucket": 60, "pruned": {}, **SUBWORDS},
    "version 11": {"bucket": 50, "version": 11, **SUBWORDS},
    "a minimum that no n-gram has": {"bucket": 9, "word_ngrams": 2, "min_n": 10**6},
    "no end of line": {},
}


def load(path: Path, name: str) -> tuple[oracle.Model, Pipeline]:
    model = random_model(len(name), **MODELS[name])
    if name == "no end of line":
        model.words[0] = b"other"
    return model, load_fasttext(save(model, path / "model.bin"))


@pytest.mark.parametrize("name", MODELS)
def test_predictions_and_vectors_are_those_of_the_formulas(name: str, tmp_path: Path) -> None:
    model, pipeline = load(tmp_path, name)
    texts = [
        text.replace("\n", " ")
        for text in TEXTS
        if oracle.rows_of_text(model, text.replace("\n", " "))
    ]
    labels = [label.decode() for label in model.labels]
    assert pipeline.classes_.tolist() == sorted(labels)
    expected = np.array([oracle.probabilities(model, text) for text in texts])[
        :, np.argsort(labels)
    ]
    probabilities = pipeline.predict_proba(texts)
    np.testing.assert_allclose(probabilities, expected, atol=1e-5)
    np.testing.assert_allclose(np.exp(pipeline.predict_log_proba(texts)), probabilities, atol=1e-7)
    assert (
        pipeline.predict(texts).tolist() == pipeline.classes_[probabilities.argmax(axis=1)].tolist()
    )
    vectors = pipeline[-1].document_vectors(pipeline[0].transform(TEXTS))
    np.testing.assert_allclose(
        vectors, [oracle.vector(model, text.replace("\n", " ")) for text in TEXTS], atol=1e-5
    )
    save_model(pipeline, tmp_path / "folder")
    assert (
        load_model(tmp_path / "folder").predict_proba(TEXTS).tobytes()
        == pipeline.predict_proba(TEXTS).tobytes()
    )


@pytest.mark.parametrize(
    "name", ["softmax.bin", "hs.bin", "ova.bin", "pruned.ftz", "quantized_output.ftz"]
)
def test_predictions_are_those_that_fasttext_printed(name: str) -> None:
    stored = json.loads((DATA / "predictions.json").read_text(encoding="utf-8"))
    pipeline = load_fasttext(DATA / name)
    for text, printed in zip(stored["texts"], stored[name], strict=True):
        probabilities = dict(
            zip(pipeline.classes_.tolist(), pipeline.predict_proba([text])[0], strict=True)
        )
        assert pipeline.predict([text]) == printed[0][0]
        assert all(abs(probabilities[label] - probability) < 1e-4 for label, probability in printed)


def test_scores_beyond_the_table_of_the_sigmoid(tmp_path: Path) -> None:
    """A label of a larger score is more probable, even where the table has one probability for
    both.
    """
    model = random_model(loss="ova", dim=2)
    model.output = np.array([[1, 0], [9, 0], [0, 1], [12, 0], [-9, 0]], dtype="f4")
    model.inputs = np.tile(np.array([1, 0], dtype="f4"), (len(model.words), 1))
    pipeline = load_fasttext(save(model, tmp_path / "model.bin"))
    best = pipeline[-1].predict_topk(pipeline[0].transform(["the"]), k=5)[0]
    assert [label.encode() for label, _ in best] == [model.labels[i] for i in (3, 1, 0, 2, 4)]
    assert [round(probability, 6) for _, probability in best] == [1, 1, 0.731059, 0.5, 0]


@pytest.mark.parametrize("loss", ["softmax", "hs", "ova"])
def test_a_text_without_rows_has_the_most_frequent_label(loss: str, tmp_path: Path) -> None:
    model = random_model(loss=loss, counts=[3, 9, 1, 8, 4])
    model.words = [b"end" if word == b"</s>" else word for word in model.words]
    pipeline = load_fasttext(save(model, tmp_path / "model.bin"))
    assert pipeline.predict(["zzz", ""]).tolist() == [model.labels[1].decode()] * 2
    assert pipeline.predict_proba([""]).max() == pytest.approx(9 / 25, abs=0.02)


@pytest.mark.parametrize(
    "name", ["softmax, two labels", "hs", "ova, subwords", "pruned", "hs, one label"]
)
def test_training_continues(name: str, tmp_path: Path) -> None:
    pipeline = load(tmp_path, name)[1]
    texts, labels, loss = (
        ["the sauce", "a crêpe of the"],
        np.resize(pipeline.classes_[:2], 2),
        pipeline[-1].loss_,
    )
    X, columns = pipeline[:-1].transform(texts), np.searchsorted(pipeline.classes_, labels)
    before = pipeline[-1].predict_proba(X)[[0, 1], columns]
    for _ in range(30):
        pipeline[-1].partial_fit(X, labels)
    after = pipeline[-1].predict_proba(X)[[0, 1], columns]
    assert (after > before).all() or len(pipeline.classes_) == 1
    assert pipeline.predict(texts).tolist() == labels.tolist()
    assert (pipeline[-1].loss_, len(pipeline[-1].history_)) == (loss, 30)


def test_words_have_vectors(tmp_path: Path) -> None:
    model = random_model(bucket=50, **SUBWORDS)
    model.words = [b"</s>", "New\xa0York".encode(), *model.words[2:]]
    vectorizer, classifier = load_fasttext(save(model, tmp_path / "model.bin"))
    words = [*vectorizer.words_, "unknown"]
    rows = [oracle.subwords(model, word.encode()) if word != "</s>" else [] for word in words]
    rows = [[i, *ids] if i < len(model.words) else ids for i, ids in enumerate(rows)]
    expected = [oracle.dense(model.inputs)[ids].mean(axis=0) for ids in rows]
    vectors = classifier.document_vectors(vectorizer.transform_words(words))
    np.testing.assert_allclose(vectors, expected, atol=1e-6)


def test_words_of_other_bytes_have_columns(tmp_path: Path) -> None:
    model = random_model()
    model.words[1] = b"\xff\xfe"
    vectorizer = load_fasttext(save(model, tmp_path / "model.bin"))[0]
    assert (
        vectorizer.transform_words(vectorizer.words_).toarray().tolist()
        == np.eye(len(model.words)).tolist()
    )
    assert vectorizer.transform_words([]).shape == (0, len(model.words))


@pytest.mark.parametrize("words", ["word", [""], ["a\0b"], ["a b"], [b"a"]])
def test_what_is_not_a_word_is_refused(words: Any) -> None:
    with pytest.raises(ValueError, match=r"FastTextVectorizer.transform_words takes"):
        load_fasttext(DATA / "softmax.bin")[0].transform_words(words)


def test_the_tree_is_that_of_huffman() -> None:
    for counts in ([5, 4, 3, 2, 1], [1, 1, 1, 1], [9], [0, 7, 7, 2]):
        sums = list(counts)
        for left, right in huffman_children(counts).tolist():
            sums.append(sums[left] + sums[right])
        assert (len(sums), sums[-1]) == (2 * len(counts) - 1, oracle._tree(counts)[0])


def test_subwords_that_are_not_kept_are_found_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    expected = load(tmp_path, "ova, subwords")[1].predict_proba(TEXTS)
    monkeypatch.setattr(_fasttext_rows, "_MAX_SUBWORDS", 0)
    pipeline = load(tmp_path, "ova, subwords")[1]
    assert pipeline.predict_proba(TEXTS).tobytes() == expected.tobytes()
    assert len(pipeline[0]._dictionary.tables.subwords) == 0


CHANGES: dict[str, tuple[Callable[[oracle.Model], Any], str]] = {
    "skipgram": (
        lambda m: setattr(m, "model", 2),
        r"is a skipgram model of fastText: .* load_word_vectors\(",
    ),
    "newer": (
        lambda m: setattr(m, "version", 13),
        "has version 13 of fastText's format; the newest known one is 12",
    ),
    "buckets": (
        lambda m: setattr(m, "bucket", 61),
        "texts can select 70 rows of its input matrix, which has 69",
    ),
    "no buckets": (lambda m: setattr(m, "bucket", 0), "it has n-grams, but 0 buckets"),
    "rows": (
        lambda m: setattr(m, "output", m.output[:4]),
        "its output matrix has 4 rows for 5 labels",
    ),
    "columns": (
        lambda m: setattr(m, "inputs", m.inputs[:, :4]),
        "its matrices have 4 and 5 columns",
    ),
    "no words": (
        lambda m: (m.words.clear(), setattr(m, "word_ngrams", 1)),
        "it has no words and no n-grams",
    ),
    "long n-grams": (
        lambda m: setattr(m, "word_ngrams", 1001),
        "its n-grams have up to 1001 words or characters",
    ),
    "nan": (lambda m: m.output.fill(np.nan), "its output matrix has infinite values or NaN"),
    "pruned": (
        lambda m: setattr(m, "pruned", {1: 0}),
        "pruned, but its input matrix was not quantized",
    ),
    "twice": (
        lambda m: setattr(m, "labels", [b"a", b"b", b"a", b"c", b"d"]),
        "two labels have the name 'a'",
    ),
    "count": (
        lambda m: setattr(m, "counts", [5, 4, 3, -2, 1]),
        "a label has a count that is negative",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_is_no_classifier_is_refused(change: str, tmp_path: Path) -> None:
    model = random_model(bucket=60, word_ngrams=2)
    alter, message = CHANGES[change]
    alter(model)
    with pytest.raises(ModelFormatError, match=rf"changed\.bin.*{message}"):
        load_fasttext(save(model, tmp_path / "changed.bin"))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "available_memory",
            lambda: 0,
            r"does not fit into memory.*Its input matrix is quantized and takes 0\.0 GB",
        ),
        ("_MAX_BYTES", 0, r"an array of its 260 labels, some very long, would take [0-9,]+ bytes"),
    ],
)
def test_memory_is_checked_before_it_is_taken(
    name: str, value: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fasttext_file._check_memory(101, 1, "input matrix")
    monkeypatch.setattr(_fasttext_file, name, value)
    with pytest.raises(ModelFormatError, match=message):
        load_fasttext(DATA / "quantized_output.ftz")
    if name == "_MAX_BYTES":
        _fasttext_file._check_memory(100, 1, "input matrix")
        with pytest.raises(ValueError, match="its input matrix would take 101 bytes"):
            _fasttext_file._check_memory(101, 1, "input matrix")


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
    with pytest.raises(
        ModelFormatError, match="its input matrix would take 4,611,686,018,427,387,904 bytes"
    ):
        load_fasttext(tmp_path / "large.bin")
    with pytest.raises(FileNotFoundError):
        load_fasttext(tmp_path / "none.bin")
