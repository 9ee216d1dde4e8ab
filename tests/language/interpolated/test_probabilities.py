"""Mixtures: sums of probabilities, whatever orders, codes and ids the members have, and how weights
are learned.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sklearn_hashnlp import CacheLanguageModel, InterpolatedLanguageModel, KneserNeyLanguageModel
from sklearn_hashnlp.language._mixture import ContextBins, em_weights, interpolate
from tests.language.interpolated.models import (
    CONTEXTS,
    TRAIN,
    UNSEEN,
    VALID,
    columns_of,
    fitted_members,
    mixture,
    network,
)
from tests.language.tokenizers import make_tokenizer
from tests.oracles.mixtures import context_bin, em_steps
from tests.trainings import assert_as_good, assert_near, assert_same_bits


@pytest.fixture(scope="module")
def model():
    return mixture()


def test_probabilities_are_the_weighted_sums(model):
    words = list(model.vocabulary_)[:-1]
    members = [columns_of(member, words) for member in model.models_]
    expected = sum(weight * probs for weight, probs in zip(model.weights_, members, strict=True))
    np.testing.assert_allclose(model.predict_proba(CONTEXTS), expected, rtol=1e-10)
    np.testing.assert_allclose(expected.sum(axis=1), 1, atol=1e-6)
    assert model.predict(CONTEXTS).tolist() == [words[index] for index in expected.argmax(axis=1)]
    for row, probs in zip(model.predict_topk(CONTEXTS, 3), expected, strict=True):
        assert [word for word, _ in row] == [
            words[index] for index in np.argsort(-probs, kind="stable")[:3]
        ]


def test_a_generator_is_read_once():
    once = InterpolatedLanguageModel(fitted_members(), prefit=True, frequency_bins=True)
    again = mixture(frequency_bins=True)
    assert_same_bits(once.fit(iter(TRAIN), X_valid=iter(VALID)).weights_, again.weights_)


def test_mixtures_can_be_mixed(model):
    first, *others = fitted_members()
    inner = InterpolatedLanguageModel([first, *others[:1]], prefit=True, weights="equal").fit()
    outer = InterpolatedLanguageModel([inner, others[1]], prefit=True, weights=[0.6, 0.4]).fit()
    flat = mixture(weights=[0.3, 0.3, 0.4])
    assert_near(outer.predict_proba(CONTEXTS), flat.predict_proba(CONTEXTS), rtol=1e-7)
    assert_near(outer.score_samples(UNSEEN), flat.score_samples(UNSEEN), rtol=1e-7)
    assert len(outer.sample(5, random_state=0)) == 5


@pytest.mark.parametrize("frequency_bins", [False, True])
def test_a_text_is_the_product_of_its_words_after_all_words_before(frequency_bins):
    members = [
        KneserNeyLanguageModel(order=3),
        CacheLanguageModel(),
        CacheLanguageModel(reset="sentence"),
    ]
    model = InterpolatedLanguageModel(members, frequency_bins=frequency_bins).fit(
        TRAIN, X_valid=VALID
    )
    text = ["a b c", "d a", "", "", "a a c z f", "b"]
    words = " </s> ".join([*text, ""]).split()
    steps = model.predict_proba([words[:end] for end in range(len(words))])
    ids = [model.vocabulary_.get(word, model.vocabulary_["<unk>"]) for word in words]
    expected = np.log(steps[np.arange(len(ids)), ids])
    np.testing.assert_allclose(model._log_prob(model._windows(text)), expected, rtol=1e-12)
    assert model.score_samples(text).sum() == pytest.approx(expected.sum(), rel=1e-12)


@pytest.mark.parametrize("frequency_bins", [False, True])
def test_a_network_that_reads_across_sentences_is_mixed(frequency_bins):
    far = network(far_context=6, across_sentences=True).fit(TRAIN)
    vocabulary = far.vocabulary_
    others = [
        KneserNeyLanguageModel(vocabulary=vocabulary),
        CacheLanguageModel(vocabulary=vocabulary),
    ]
    model = InterpolatedLanguageModel(
        [far, *(one.fit(TRAIN) for one in others)], prefit=True, frequency_bins=frequency_bins
    ).fit(TRAIN, X_valid=VALID)
    text = ["a b c", "d a", "a a c b f"]
    last = [*text[-1].split(), "</s>"]
    before = " </s> ".join([*text[:-1], ""]).split()
    steps = model.predict_proba([[*before, *last[:end]] for end in range(len(last))])
    ids = [vocabulary[word] for word in last]
    expected = model._log_prob(model._windows(text))[-len(ids) :]
    np.testing.assert_allclose(np.log(steps[np.arange(len(ids)), ids]), expected, rtol=1e-5)
    assert model.reads_across_sentences_


@given(arrays(float, st.tuples(st.integers(1, 8), st.integers(1, 3)), elements=st.floats(1e-6, 1)))
def test_weights_equal_the_slow_ones_and_the_likelihood_never_falls(probs):
    n_models = probs.shape[1]
    weights, scores = em_weights(np.log(probs), np.full(n_models, 1 / n_models))
    expected, expected_scores = em_steps(probs.tolist(), len(scores) - 1)
    alone = np.log(probs).mean(axis=0)
    if alone.max() > scores[-1]:
        expected = 1e-9 * np.array(expected) + (1 - 1e-9) * (np.arange(n_models) == alone.argmax())
    np.testing.assert_allclose(weights, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scores[:-1], expected_scores, rtol=1e-9, atol=1e-9)
    assert (np.diff(scores) > -1e-12).all()
    assert weights.sum() == pytest.approx(1)
    assert np.log(probs @ weights).mean() >= alone.max() - 1e-12  # no model alone is better


def test_a_model_alone_is_not_better_where_the_weights_come_to_it_slowly():
    log_probs = np.log([[0.31, 0.3], [0.2, 0.2001], [0.4, 0.409]])
    weights, scores = em_weights(log_probs, np.full(2, 0.5))
    assert scores[-1] < log_probs.mean(axis=0).max() - 1e-7
    assert np.log(np.exp(log_probs) @ weights).mean() >= log_probs.mean(axis=0).max() - 1e-12
    assert 0 < weights.min() < 1e-8
    assert weights.sum() == pytest.approx(1)


def test_tiny_probabilities_do_not_vanish():
    log_probs = np.array([[-2000.0, -2001.0], [-1500.0, -3000.0]])
    weights, scores = em_weights(log_probs, np.full(2, 0.5))
    assert weights[0] > 0.99
    mixed = interpolate(list(log_probs.T), np.array([[0.5, 0.5], [0.0, 1.0]]))
    np.testing.assert_allclose(mixed, [-2000 + np.log(0.5 + 0.5 * np.exp(-1)), -3000])
    assert np.isfinite(scores).all()
    assert interpolate([np.array([-np.inf])] * 2, np.full((1, 2), 0.5)).tolist() == [-np.inf]


@pytest.mark.parametrize("length", [1, 2, 3])
def test_bins_are_those_of_the_counts_of_contexts(length):
    text = ["I have a dream", "a dream a day", "have a dream", "", "one day I have a dream"] * 2
    tokenizer = make_tokenizer(order=length + 1)
    windows = tokenizer.read(text)
    counts = Counter()
    for sentence in text:
        words = ["<s>"] * length + sentence.split() + ["</s>"]
        counts.update(tuple(words[end - length : end]) for end in range(length, len(words)))
    bins = ContextBins.count(windows, 10)
    assert bins.n_bins == context_bin(0, counts.total()) + 1
    beginnings = [[], ["I"], ["have", "a"], ["dream", "a"], ["day", "day"], ["one", "day", "I"]]
    expected = []
    for words in beginnings:
        context = tuple((["<s>"] * length + words)[-length:])
        expected.append(context_bin(counts[context], counts.total()))
    assert bins.of_contexts(tokenizer.encode_contexts(beginnings), 10).tolist() == expected
    assert len(set(expected)) > 1


def test_contexts_that_do_not_occur_are_in_the_last_bin():
    bins = ContextBins(1, np.array([3, 7]), np.array([5, 5]))
    assert bins.of_contexts(np.array([[3], [4], [9]]), 10).tolist() == [
        1,
        bins.n_bins - 1,
        bins.n_bins - 1,
    ]


@pytest.mark.parametrize(
    ("length", "keys", "counts"),
    [(0, [3, 7], [1, 1]), (1, [7, 3], [1, 1]), (1, [3, 3], [1, 1]), (1, [3, 7], [1, 0])],
)
def test_damaged_bins_are_refused(length, keys, counts):
    with pytest.raises(ValueError, match="ascending contexts with positive counts"):
        ContextBins(length, np.array(keys), np.array(counts)).check()


def test_each_bin_has_the_best_weights_of_its_words():
    model = mixture(frequency_bins=True, context_length=1)
    text = model._windows(VALID)
    log_probs = np.stack(model._members.log_prob(text), axis=1)
    n_words = np.bincount(text.bins, minlength=len(model.weights_))
    assert (n_words > 0).sum() > 2
    overall = mixture().weights_
    for index, weights in enumerate(model.weights_):
        expected, _ = (
            em_weights(log_probs[text.bins == index], np.full(3, 1 / 3))
            if n_words[index]
            else (overall, [])
        )
        assert_near(weights, expected, atol=1e-12)
    # of these sentences
    assert_as_good(model.score_samples(VALID), mixture().score_samples(VALID), margin=0)


def test_given_weights_and_equal_weights_need_no_validation_text():
    members = fitted_members()
    for weights, expected in (("equal", [1 / 3] * 3), ([0.5, 0.25, 0.25], [0.5, 0.25, 0.25])):
        model = InterpolatedLanguageModel(members, weights=weights, prefit=True).fit()
        assert model.weights_.tolist() == expected
    assert (
        len(InterpolatedLanguageModel(members, weights="equal", prefit=True).fit(TRAIN).weights_)
        == 3
    )
    alone = InterpolatedLanguageModel(members, weights=[0.0, 1.0, 0.0], prefit=True).fit()
    assert_near(alone.score_samples(UNSEEN), members[1].score_samples(UNSEEN), rtol=1e-9)
