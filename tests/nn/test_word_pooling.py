"""Pooling against plain loops over the words of one sentence."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.nn._word_batch import WordPooling

POOLINGS = ["max", "mean", "attention", "weighted"]


def by_hand(layer, vectors, weights):
    """Pool the words of one sentence, without padding."""
    if not len(vectors):
        return np.zeros(vectors.shape[1])
    if not any(weights) or layer.pooling == "mean":
        weights = np.ones(len(vectors))
    if layer.pooling == "max":
        pooled = vectors.max(axis=0)
    elif layer.pooling == "attention":
        scores = [math.exp(layer.score.weight.detach().numpy()[0] @ vector) for vector in vectors]
        pooled = sum(w * score * vector for w, score, vector in zip(weights, scores, vectors, strict=True))
    else:
        pooled = sum(w * vector for w, vector in zip(weights, vectors, strict=True))
    return pooled / np.linalg.norm(pooled)


@pytest.mark.parametrize("pooling", POOLINGS)
@given(data=st.data())
def test_it_is_what_its_name_says(pooling, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    layer = WordPooling(3, pooling).double()
    if layer.score is not None:
        layer.score.weight.data.copy_(torch.tensor(rng.normal(size=(1, 3))))
    n_sentences, longest = data.draw(st.integers(0, 4)), data.draw(st.integers(0, 5))
    vectors = rng.normal(size=(n_sentences, longest, 3))
    there = rng.random((n_sentences, longest)) < data.draw(st.sampled_from([0.2, 0.8, 1.0]))
    # What stands at padding must not matter, in weights neither.
    weights = rng.random(there.shape) * (rng.random(there.shape) < data.draw(st.sampled_from([0.0, 0.5, 1.0])))
    pooled = layer(torch.tensor(vectors), torch.tensor(there), torch.tensor(weights))
    expected = [by_hand(layer, vectors[i][there[i]], weights[i][there[i]]) for i in range(n_sentences)]
    torch.testing.assert_close(pooled, torch.tensor(np.array(expected).reshape(n_sentences, 3)))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_gradients_stay_finite_where_there_are_no_words(pooling):
    layer = WordPooling(3, pooling)
    vectors = torch.randn(2, 4, 3, requires_grad=True)
    there = torch.tensor([[True, True, False, True], [False] * 4])
    pull = torch.randn(2, 3)
    (layer(vectors, there, torch.ones(2, 4)) * pull).sum().backward()
    assert vectors.grad[there].any()
    assert not vectors.grad[~there].any()
    assert layer.score is None or layer.score.weight.grad.isfinite().all()


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_the_scale_of_weights_does_not_matter(scale):
    vectors, weights = torch.randn(2, 4, 3), torch.rand(2, 4)
    there = torch.ones(2, 4, dtype=torch.bool)
    for pooling in ("attention", "weighted"):
        layer = WordPooling(3, pooling)
        torch.testing.assert_close(layer(vectors, there, weights * scale), layer(vectors, there, weights))


def test_fresh_attention_is_the_weighted_mean():
    words = torch.randn(2, 4, 3), torch.ones(2, 4, dtype=torch.bool), torch.rand(2, 4)
    torch.testing.assert_close(WordPooling(3, "attention")(*words), WordPooling(3, "weighted")(*words))


def test_scores_of_any_size_leave_a_unit_vector():
    layer = WordPooling(3, "attention")
    layer.score.weight.data.fill_(1e3)
    there = torch.tensor([[True, True, False]])
    vectors = torch.tensor([[[-1.0, -2, -3], [-2.0, -2, -3], [9.0, 9, 9]]])  # padding would win, and must not
    torch.testing.assert_close(layer(vectors, there, there.float()), vectors[:, 0] / vectors[:, 0].norm())


def test_half_precision_comes_out_single():
    words = torch.randn(2, 4, 3).bfloat16(), torch.ones(2, 4, dtype=torch.bool), torch.rand(2, 4)
    for pooling in POOLINGS:
        pooled = WordPooling(3, pooling).bfloat16()(*words)
        assert pooled.dtype == torch.float32
        torch.testing.assert_close(pooled.norm(dim=1), torch.ones(2))


def test_a_pooling_that_is_none_is_named():
    with pytest.raises(ValueError, match=r"pooling must be one of .* got 'sum'"):
        WordPooling(3, "sum")
    assert "'mean'" in repr(WordPooling(3, "mean"))
