"""Parameters and saved models of KneserNeyLanguageModel, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_hashnlp import KneserNeyLanguageModel, load_model, save_model
from sklearn_hashnlp.persistence._model_document import decode_model, encode_model
from sklearn_hashnlp.persistence._values import ModelFormatError

SENTENCES = ["a b c", "a b d", "b c a", "c", "a b c d"]


@pytest.mark.parametrize(
    ("discounts", "expected"),
    [
        (0.75, [[0.75] * 3] * 2),
        ([0.5, 1, 1.5], [[0.5, 1, 1.5]] * 2),
        (np.array([[0.5, 1, 1.5], [0.6, 1.1, 1.2]]), [[0.5, 1, 1.5], [0.6, 1.1, 1.2]]),
    ],
)
def test_discounts_can_be_given(discounts, expected):
    model = KneserNeyLanguageModel(order=2, discounts=discounts).fit(SENTENCES)
    assert model.discounts_.tolist() == expected
    assert model.predict_proba(["a", "d"]).sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"discounts": [0.5, 1]}, r"a number, three numbers or an array of shape \(2, 3\)"),
        ({"discounts": ["a", "b", "c"]}, "three numbers"),
        ({"discounts": [0.5, 2.5, 1]}, "above 0 and at most 1, 2 and 3"),
        ({"discounts": [0.0, 1, 1]}, "above 0"),
        ({"discounts": [np.nan, 1, 1]}, "above 0"),
        ({"discounts": 1.5}, "discounts"),
        ({"min_ngram_counts": [1, 1, 1]}, "up to 2 integers"),
        ({"min_ngram_counts": []}, "up to 2 integers"),
        ({"min_ngram_counts": [1, 1.5]}, "up to 2 integers"),
        ({"min_ngram_counts": [2, 2]}, "begin with 1"),
        ({"min_ngram_counts": [1, 0]}, "none may be smaller"),
        ({"order": 0}, "order"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        KneserNeyLanguageModel(**{"order": 2} | parameters).fit(SENTENCES)


def test_no_text_is_an_error_and_a_fitted_model_stays():
    model = KneserNeyLanguageModel(order=2).fit(SENTENCES)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="found no sentence to learn from"):
        model.fit([])
    assert vars(model) == before


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
