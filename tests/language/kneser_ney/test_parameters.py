"""Parameters of KneserNeyLanguageModel, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_hashnlp.language import KneserNeyLanguageModel

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


def test_n_grams_that_are_longer_than_all_sentences_add_nothing():
    short, long = (KneserNeyLanguageModel(order=order).fit(["a b", "b"]) for order in (4, 9))
    assert long.n_ngrams_ == [*short.n_ngrams_, 0, 0, 0, 0, 0]
    assert long.predict_proba(["a b a b", ""]) == pytest.approx(short.predict_proba(["a b a b", ""]))


def test_unigrams_need_no_context():
    model = KneserNeyLanguageModel(order=1).fit(SENTENCES)
    probs = model.predict_proba(["a b c", "", "zzz"])
    assert (probs == probs[0]).all()
    assert probs[0].sum() == pytest.approx(1)
