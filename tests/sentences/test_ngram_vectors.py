"""Vectors in one native call against the rows of the regression, and what an encoder keeps."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sklearn_hashnlp import TextClassifier, load_model, save_model
from sklearn_hashnlp.sentences import DistilledSentenceEncoder
from sklearn_hashnlp.sentences._ngram_regression import NgramDictionary
from sklearn_hashnlp.sentences._ngram_vectors import NgramModel
from sklearn_hashnlp.sentences._sentence_reader import read_texts

TEXTS = [
    "The cat sat on the mat.",
    "the cat, the cats",
    "",
    "A dog sat on the cat!",
    "naïve cafés 日本語",
    "dogs sat on the mat",
    " ",
    "the unknown word",
    "?",
]
DIM = 21


def read(texts: list[str]):
    return read_texts(texts, max_words=99, caller="Me")


def encoder(**parameters) -> DistilledSentenceEncoder:
    """Return an encoder of random coefficients."""
    dictionary = NgramDictionary.learn(*read(TEXTS[:6]), 10_000)
    rng = np.random.default_rng(0)
    coefficients = rng.normal(size=(len(dictionary.counts), DIM)).astype(np.float32)
    mean = rng.normal(size=DIM).astype(np.float32)
    result = DistilledSentenceEncoder(**parameters)
    result._set(NgramModel(dictionary, coefficients, mean), [])
    return result


def test_vectors_are_rows_of_the_regression_times_coefficients():
    model = encoder()
    design = model._model.dictionary.design(*read(TEXTS))
    dense = (design.outer.astype(float) @ design.inner.astype(float) + design.direct).toarray()
    expected = dense @ model.coef_.astype(float) + model.intercept_
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    expected[[2, 6]] = 0
    np.testing.assert_allclose(model.transform(TEXTS), expected, atol=1e-6)


def test_threads_and_batches_change_no_bit(monkeypatch):
    texts = [f"{text} {i % 50}" for i in range(60) for text in TEXTS]
    expected = encoder().transform(texts)
    assert encoder(n_jobs=3).transform(texts).tobytes() == expected.tobytes()
    monkeypatch.setattr("sklearn_hashnlp.sentences._ngram_vectors.CHUNK_CHARACTERS", 1000)
    assert encoder().transform(texts).tobytes() == expected.tobytes()
    for text, vector in zip(texts[:99], expected, strict=False):
        assert encoder().transform([text]).tobytes() == vector.tobytes()
    assert encoder().transform([]).shape == (0, DIM)


def test_the_native_encoder_is_kept_and_follows_the_parameters():
    model = encoder()
    native = model._native_encoder()
    assert model._native_encoder() is native
    model.set_params(max_words=2)
    with pytest.warns(UserWarning, match="the longest text has 7 words; texts are truncated to 2"):
        truncated = model.transform(TEXTS)
    short = ["The cat", "the cat", "", "A dog", "naïve cafés", "dogs sat", "", "the unknown", "?"]
    assert truncated.tobytes() == encoder().transform(short).tobytes()
    assert model.set_params(max_words=512)._native_encoder() is not native
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert again.transform(TEXTS).tobytes() == encoder().transform(TEXTS).tobytes()
    with pytest.raises(NotFittedError):
        DistilledSentenceEncoder().transform(TEXTS)
    with pytest.raises(NotFittedError):
        _ = DistilledSentenceEncoder().coef_


def test_a_lone_surrogate_is_an_error_that_names_the_text():
    for texts in (["fine", "a \ud800"], ["fine"] * 200 + ["é \udfff"]):
        with pytest.raises(ValueError, match=f"document {len(texts) - 1} holds the lone surrogate"):
            encoder().transform(texts)


def test_coefficients_in_4_bits_are_kept(tmp_path: Path):
    model = encoder()
    save_model(model, tmp_path / "int4", precision="int4")
    loaded = load_model(tmp_path / "int4")
    scales = np.percentile(np.abs(model.coef_), 99, axis=1, keepdims=True) / 7
    levels = np.rint(model.coef_ / scales).clip(-7, 7)
    np.testing.assert_allclose(loaded.coef_, levels * scales, rtol=1e-6)
    similarities = (loaded.transform(TEXTS) * model.transform(TEXTS)).sum(axis=1)
    assert (similarities[[0, 1, 3, 4, 5, 7, 8]] > 0.95).all()
    model._set(NgramModel(model._model.dictionary, loaded.coef_, model.intercept_), [])
    assert model.transform(TEXTS).tobytes() == loaded.transform(TEXTS).tobytes()
    assert copy.deepcopy(loaded).transform(TEXTS).tobytes() == loaded.transform(TEXTS).tobytes()
    first = (tmp_path / "int4" / "weights.safetensors").read_bytes()
    for precision in ("float32", "int8", "int4"):
        save_model(loaded, tmp_path / precision, precision=precision)
        assert (tmp_path / precision / "weights.safetensors").read_bytes() == first
    assert loaded.n_parameters_ == loaded.coef_.size == model.coef_.size


def test_a_classifier_keeps_the_4_bits_of_its_encoder(tmp_path: Path):
    save_model(encoder(), tmp_path / "encoder", precision="int4")
    pretrained = load_model(tmp_path / "encoder")
    texts, labels = TEXTS[:6] * 3, ["a", "b", "a", "b", "a", "b"] * 3
    model = TextClassifier(pretrained=pretrained, random_state=0).fit(texts, labels)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.predict_proba(TEXTS).tobytes() == model.predict_proba(TEXTS).tobytes()
    save_model(loaded.pretrained, tmp_path / "again")
    files = [tmp_path / name / "weights.safetensors" for name in ("again", "encoder")]
    assert files[0].read_bytes() == files[1].read_bytes()
