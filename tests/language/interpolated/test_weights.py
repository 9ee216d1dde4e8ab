"""Weights of mixtures: expectation maximization, bins of context frequency."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sklearn_hashnlp import InterpolatedLanguageModel
from sklearn_hashnlp.language._mixture import ContextBins, em_weights, interpolate
from tests.language.interpolated.models import TRAIN, VALID, fitted_members, mixture
from tests.language.tokenizers import make_tokenizer
from tests.oracles.mixtures import context_bin, em_steps


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
    assert bins.of_contexts(np.array([[3], [4], [9]]), 10).tolist() == [1, bins.n_bins - 1, bins.n_bins - 1]


@pytest.mark.parametrize(
    ("length", "keys", "counts"), [(0, [3, 7], [1, 1]), (1, [7, 3], [1, 1]), (1, [3, 3], [1, 1]), (1, [3, 7], [1, 0])]
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
        expected, _ = em_weights(log_probs[text.bins == index], np.full(3, 1 / 3)) if n_words[index] else (overall, [])
        np.testing.assert_allclose(weights, expected, atol=1e-12)
    assert model.score(VALID) > mixture().score(VALID)


def test_given_weights_and_equal_weights_need_no_validation_text():
    members = fitted_members()
    for weights, expected in (("equal", [1 / 3] * 3), ([0.5, 0.25, 0.25], [0.5, 0.25, 0.25])):
        model = InterpolatedLanguageModel(members, weights=weights, prefit=True).fit()
        assert model.weights_.tolist() == expected
    assert len(InterpolatedLanguageModel(members, weights="equal", prefit=True).fit(TRAIN).weights_) == 3
