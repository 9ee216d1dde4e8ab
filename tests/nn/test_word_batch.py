"""Moving a batch of words, and pooling against the words of one sentence at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.nn import WordBatch
from sklearn_hashnlp.nn._word_batch import WordPooling, pool_rows

from ..oracles import sentence_network as oracle


def test_a_batch_moves_to_a_device():
    words = torch.tensor([[0, 1], [1, -1]])
    batch = WordBatch(torch.zeros(2, 5, dtype=torch.uint8), words, (words >= 0).float())
    moved = batch.to("meta", non_blocking=True)
    assert isinstance(moved, WordBatch)
    assert [tensor.device.type for tensor in moved] == ["meta"] * 3
    assert [(tensor.shape, tensor.dtype) for tensor in moved] == [(tensor.shape, tensor.dtype) for tensor in batch]
    assert torch.equal(batch.to("cpu").words, words)


POOLINGS = ["max", "mean", "attention", "weighted"]


@given(data=st.data())
def test_pooling_follows_the_formula(data):
    pooling = data.draw(st.sampled_from(POOLINGS))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    layer = WordPooling(3, pooling).double()
    if layer.score is not None:
        layer.score.weight.data.copy_(torch.tensor(rng.normal(size=(1, 3))))
    n_sentences, longest = data.draw(st.integers(0, 4)), data.draw(st.integers(0, 5))
    vectors = rng.normal(size=(n_sentences, longest, 3))
    mask = rng.random((n_sentences, longest)) < data.draw(st.sampled_from([0.2, 0.8, 1.0]))
    # Values and weights at padding must not matter.
    weights = rng.random(mask.shape) * (rng.random(mask.shape) < data.draw(st.sampled_from([0.0, 0.5, 1.0])))
    pooled = layer(torch.tensor(vectors), torch.tensor(mask), torch.tensor(weights))
    expected = [oracle.pool(layer, vectors[i][mask[i]], weights[i][mask[i]]) for i in range(n_sentences)]
    torch.testing.assert_close(pooled, torch.tensor(np.array(expected).reshape(n_sentences, 3)))


@given(data=st.data())
def test_rows_are_pooled_as_their_copies(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    n_distinct, n_sentences, longest = (data.draw(st.integers(0, 4)) for _ in range(3))
    words = torch.tensor(rng.integers(-1, n_distinct, (n_sentences, longest)))
    weights = torch.tensor(rng.random(words.shape) * (rng.random(words.shape) < data.draw(st.sampled_from([0.0, 0.7]))))
    vectors = torch.tensor(rng.normal(size=(n_distinct, 3)))
    copies = torch.cat([vectors, torch.zeros(1, 3)])[words]  # -1 is the last
    expected = WordPooling(3, "weighted")(copies, words >= 0, weights)
    torch.testing.assert_close(pool_rows(vectors, words, weights), expected)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_pooling_has_finite_gradients_without_words(pooling):
    layer = WordPooling(3, pooling)
    vectors = torch.randn(2, 4, 3, requires_grad=True)
    mask = torch.tensor([[True, True, False, True], [False] * 4])
    upstream = torch.randn(2, 3)
    (layer(vectors, mask, torch.ones(2, 4)) * upstream).sum().backward()
    assert vectors.grad[mask].any()
    assert not vectors.grad[~mask].any()
    assert layer.score is None or layer.score.weight.grad.isfinite().all()


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_pooling_ignores_the_scale_of_weights(scale):
    vectors, weights = torch.randn(2, 4, 3), torch.rand(2, 4)
    mask = torch.ones(2, 4, dtype=torch.bool)
    for pooling in ("attention", "weighted"):
        layer = WordPooling(3, pooling)
        torch.testing.assert_close(layer(vectors, mask, weights * scale), layer(vectors, mask, weights))


def test_initial_attention_is_the_weighted_mean():
    words = torch.randn(2, 4, 3), torch.ones(2, 4, dtype=torch.bool), torch.rand(2, 4)
    torch.testing.assert_close(WordPooling(3, "attention")(*words), WordPooling(3, "weighted")(*words))


def test_attention_scores_of_any_size_leave_a_unit_vector():
    layer = WordPooling(3, "attention")
    layer.score.weight.data.fill_(1e3)
    mask = torch.tensor([[True, True, False]])
    vectors = torch.tensor([[[-1.0, -2, -3], [-2.0, -2, -3], [9.0, 9, 9]]])  # padding would win, and must not
    torch.testing.assert_close(layer(vectors, mask, mask.float()), vectors[:, 0] / vectors[:, 0].norm())


def test_pooling_returns_at_least_single_precision():
    words = torch.randn(2, 4, 3).bfloat16(), torch.ones(2, 4, dtype=torch.bool), torch.rand(2, 4)
    for pooling in POOLINGS:
        pooled = WordPooling(3, pooling).bfloat16()(*words)
        assert pooled.dtype == torch.float32
        torch.testing.assert_close(pooled.norm(dim=1), torch.ones(2))


def test_pooling_refuses_other_names():
    with pytest.raises(ValueError, match=r"pooling must be one of .* got 'sum'"):
        WordPooling(3, "sum")
    assert "'mean'" in repr(WordPooling(3, "mean"))
