"""Counted n-grams on texts: orders, discounts, rare n-grams, wide vocabularies."""

from __future__ import annotations

from sklearn_hashnlp import KneserNeyLanguageModel
from tests.golden._register import texts

PARAGRAPHS = [" ".join(paragraph.lower().split()) for text in texts() for paragraph in text.split("\n\n")]
ENGLISH, OTHER_ENGLISH = PARAGRAPHS[::2], PARAGRAPHS[1::2]


def test_the_discounts_of_the_formula_are_hard_to_beat():
    model, *others = (
        KneserNeyLanguageModel(order=3, discounts=discounts).fit(ENGLISH).perplexity(OTHER_ENGLISH)
        for discounts in ("auto", 0.3, 0.5, 0.7, 0.9)
    )
    assert model < 1.05 * min(others)


def test_dropping_rare_ngrams_makes_the_model_smaller_and_worse():
    model, small = (
        KneserNeyLanguageModel(order=4, min_ngram_counts=counts).fit(ENGLISH) for counts in (None, (1, 1, 2))
    )
    assert sum(small.n_ngrams_) < 0.6 * sum(model.n_ngrams_)
    assert model.perplexity(OTHER_ENGLISH) < small.perplexity(OTHER_ENGLISH) < 1.1 * model.perplexity(OTHER_ENGLISH)


def test_a_wide_vocabulary_needs_no_matrix_of_all_probabilities():
    words = [f"w{number}" for number in range(50_000)]
    model = KneserNeyLanguageModel(order=2).fit([words])
    assert model.predict_topk(["w7", "w8"], 1)[0][0][0] == "w8"
    assert model.predict(["w3 w4"] * 300).tolist() == ["w5"] * 300
