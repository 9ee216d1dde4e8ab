"""Probabilities of KneserNeyLanguageModel: those of the definition, and they sum to 1."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_hashnlp import KneserNeyLanguageModel
from tests.oracles import kneser_ney as oracle

SENTENCE = st.lists(st.sampled_from("abcd"), max_size=6)
SENTENCES = st.lists(SENTENCE, min_size=1, max_size=25)
SHORT = ["a b c d e", "a b c", "b c d", "", "a a a a", "c d e a b c"]


@settings(max_examples=60, deadline=None)
@given(
    sentences=SENTENCES,
    asked=st.lists(SENTENCE, min_size=1, max_size=4),
    order=st.integers(1, 5),
    min_counts=st.sampled_from([(1,), (1, 1, 2), (1, 2), (1, 2, 3)]),
)
def test_probabilities_equal_those_of_the_definition(sentences, asked, order, min_counts):
    min_counts = min_counts[:order]
    model = KneserNeyLanguageModel(order=order, min_ngram_counts=min_counts).fit(sentences)
    padded = [*min_counts, *[min_counts[-1]] * (order - len(min_counts))]
    occurrences = oracle.KneserNey(sentences, order=order, words=set(), discounts=[], min_counts=padded).counts
    discounts = [oracle.discounts(occurrences, n) for n in range(1, order + 1)]
    np.testing.assert_allclose(model.discounts_, discounts, rtol=1e-12)
    expected = oracle.KneserNey(
        sentences, order=order, words=set(model.vocabulary_), discounts=discounts, min_counts=padded
    )
    words = [word for word in model.vocabulary_ if word != "<s>"]
    for context, probs in zip(asked, model.predict_proba(asked), strict=True):
        known = ["<s>", *(word if word in model.vocabulary_ else "<unk>" for word in context)]
        tail = tuple(known[max(len(known) - order + 1, 0) :])
        np.testing.assert_allclose(probs, [expected.prob(tail, word) for word in words], rtol=1e-12)
        assert probs.sum() == pytest.approx(1, abs=1e-12)
    kept = [ngram for ngram in expected.kept if len(ngram) > 1]
    assert model.n_ngrams_[1:] == [sum(len(ngram) == n for ngram in kept) for n in range(2, order + 1)]


@settings(max_examples=40, deadline=None)
@given(sentences=SENTENCES, asked=SENTENCES, order=st.integers(1, 4))
def test_scores_are_sums_of_the_log_probabilities(sentences, asked, order):
    model = KneserNeyLanguageModel(order=order).fit(sentences)
    for sentence, score in zip(asked, model.score_samples(asked), strict=True):
        words = [*sentence, "</s>"]
        ids = [model.vocabulary_.get(word, model.vocabulary_["<unk>"]) for word in words]
        probs = model.predict_proba([sentence[:end] for end in range(len(words))])
        assert score == pytest.approx(sum(math.log(row[i]) for row, i in zip(probs, ids, strict=True)), abs=1e-11)


def test_a_reader_of_word_ids_gives_the_model_of_its_sentences():
    vocabulary = {word: word_id for word_id, word in enumerate(["<s>", "</s>", "<unk>", *"abcde"])}

    def windows():
        for sentence in SHORT:
            words = [*["<s>"] * 2, *sentence.split(), "</s>"]
            for end in range(3, len(words) + 1):
                yield tuple(vocabulary[word] for word in words[end - 3 : end])

    by_ids = KneserNeyLanguageModel(order=3, vocabulary=vocabulary).fit(windows)
    by_words = KneserNeyLanguageModel(order=3, vocabulary=vocabulary).fit(SHORT)
    assert by_ids.predict_proba(SHORT).tobytes() == by_words.predict_proba(SHORT).tobytes()
    assert by_ids.perplexity(windows) == pytest.approx(by_words.perplexity(SHORT))


def test_windows_of_a_reader_without_padding_are_counted():
    vocabulary = {word: word_id for word_id, word in enumerate(["<s>", "a", "b", "c"])}
    model = KneserNeyLanguageModel(order=3, vocabulary=vocabulary, special_tokens=("<s>", "c", "<unk>"))
    model.fit(lambda: iter([(0, 1, 2), (1, 2, 3), (1, 2, 3)]))
    assert model.predict_proba([["a"], ["a", "b"], ["b", "a"]]).sum(axis=1) == pytest.approx(1)
    assert model.predict([["a", "b"]]).tolist() == ["c"]
    assert model.n_ngrams_ == [5, 3, 2]  # also those that no window ends with: "<s> a" and "a b"


def test_rare_words_are_unknown_words():
    model = KneserNeyLanguageModel(order=2, min_count=2).fit(["a x", "a y", "a b", "b a"])
    assert "x" not in model.vocabulary_
    unknown = model.predict_proba(["a"])[0, model.vocabulary_["<unk>"]]
    assert unknown > model.predict_proba(["b"])[0, model.vocabulary_["<unk>"]]
    assert set(KneserNeyLanguageModel(order=2, max_features=1).fit(["a x", "a"]).vocabulary_) == {
        *("a", "</s>", "<unk>", "<s>")
    }


def test_many_words_are_predicted_in_small_batches(monkeypatch):
    model = KneserNeyLanguageModel(order=2).fit(SHORT)
    expected = model.predict_topk(SHORT, 2), model.sample(9, 0)
    monkeypatch.setattr("sklearn_hashnlp.language._base._MAX_PROBABILITIES", 16)
    assert model._batch_size() == 2
    assert (model.predict_topk(SHORT, 2), model.sample(9, 0)) == expected


def test_a_wide_vocabulary_needs_no_matrix_of_all_probabilities():
    words = [f"w{number}" for number in range(50_000)]
    model = KneserNeyLanguageModel(order=2).fit([words])
    assert model.predict_topk(["w7", "w8"], 1)[0][0][0] == "w8"
    assert model.predict(["w3 w4"] * 300).tolist() == ["w5"] * 300
