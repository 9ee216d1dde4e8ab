"""Saved Kneser-Ney models; damaged ones are refused."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_hashnlp import KneserNeyLanguageModel, load_model, save_model
from sklearn_hashnlp.persistence._model_document import decode_model, encode_model
from sklearn_hashnlp.persistence._values import ModelFormatError

SENTENCES = ["a b c", "a b d", "b c a", "c", "a b c d"]


@pytest.mark.parametrize("order", [1, 2, 4, 7])
def test_a_loaded_model_is_the_saved_one(order, tmp_path):
    model = KneserNeyLanguageModel(order=order).fit(SENTENCES)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.predict_proba(SENTENCES).tobytes() == model.predict_proba(SENTENCES).tobytes()
    assert loaded.discounts_.tolist() == model.discounts_.tolist()
    assert loaded.n_ngrams_ == model.n_ngrams_
    assert loaded.vocabulary_ == model.vocabulary_


def test_parameters_that_are_arrays_are_saved(tmp_path):
    discounts, counts = np.full((4, 3), 0.5), np.array([1, 1, 2])
    model = KneserNeyLanguageModel(order=4, discounts=discounts, min_ngram_counts=counts).fit(SENTENCES)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.score_samples(SENTENCES).tobytes() == model.score_samples(SENTENCES).tobytes()
    assert np.array_equal(loaded.discounts, discounts)
    assert np.array_equal(loaded.min_ngram_counts, counts)
    assert loaded.fit(SENTENCES).n_ngrams_ == model.n_ngrams_


def _set(index, value):
    def change(array):
        array[index] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("words", _set(-1, 99), "words in the trie"),
        ("words", _set(-1, -1), "words in the trie"),
        ("words", _set(3, 0), "words in the trie"),
        ("words", _set(8, 6), "words in the trie"),  # <s>
        ("words", lambda array: array[:-1], "same length"),
        ("words", lambda array: array.astype(np.int64), "dtypes"),
        ("first_child", _set(-1, 99), "children"),
        ("first_child", _set(0, 0), "children"),
        ("first_child", _set(1, 5), "order 3"),
        ("first_child", _set(5, -7), "children"),
        ("first_child", lambda array: array[:-1], "same length"),
        ("suffixes", _set(9, 9), "suffixes"),  # its own suffix: the lookup would never end
        ("suffixes", _set(0, 1), "suffixes"),
        ("suffixes", _set(4, -1), "suffixes"),
        ("log_probs", _set(4, np.nan), "infinite values or NaN"),
        ("log_probs", _set(4, 0.5), "logarithm"),
        ("log_probs", lambda array: array.reshape(1, -1), "dtypes"),
        ("backoffs", _set(4, np.inf), "infinite values or NaN"),
        ("discounts", lambda array: array[:2], "discounts have the shape"),
    ],
)
def test_damaged_arrays_are_refused(name, change, message):
    description, arrays = encode_model(KneserNeyLanguageModel(order=3).fit(SENTENCES))
    arrays[name] = change(arrays[name].copy())
    with pytest.raises(ModelFormatError, match=message):
        decode_model(description, arrays)


@pytest.mark.parametrize(("key", "value"), [("order", 2), ("order", 4), ("words", ["</s>", "<unk>"])])
def test_damaged_values_are_refused(key, value):
    description, arrays = encode_model(KneserNeyLanguageModel(order=3).fit(SENTENCES))
    description["state"][key] = value
    with pytest.raises(ModelFormatError):
        decode_model(description, arrays)
