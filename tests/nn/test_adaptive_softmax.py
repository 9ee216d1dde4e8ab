from __future__ import annotations

import pytest
import torch

from sklearn_hashnlp.nn._softmax_layers import AdaptiveSoftmax


@pytest.mark.parametrize("n_classes", [2, 3, 4, 5, 11, 200])
@pytest.mark.parametrize("in_features", [1, 3, 40])
def test_probabilities(n_classes, in_features):
    layer = AdaptiveSoftmax(in_features, n_classes)
    x, target = torch.randn(6, in_features), torch.arange(6) % n_classes
    log_probs, loss = layer(x, target)
    every = layer.log_prob(x)
    assert every.shape == (6, n_classes)
    torch.testing.assert_close(every.exp().sum(1), torch.ones(6))
    torch.testing.assert_close(log_probs, every.gather(1, target[:, None])[:, 0])
    torch.testing.assert_close(loss, -log_probs.mean())


def test_searches_and_draws():
    layer, x = AdaptiveSoftmax(8, 30), torch.randn(5, 8)
    every = layer.log_prob(x)
    log_probs, classes = layer.topk(x, 4)
    torch.testing.assert_close(log_probs, every.topk(4, dim=1).values)
    assert torch.equal(layer.predict(x), classes[:, 0])
    draws = torch.stack([layer.sample(x, generator=torch.Generator().manual_seed(s)) for s in range(2000)])
    shares = torch.nn.functional.one_hot(draws, 30).double().mean(dim=0)
    torch.testing.assert_close(shares, every.double().exp(), atol=0.04, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_no_rows(dtype):
    log_probs, loss = AdaptiveSoftmax(8, 30, dtype=dtype)(torch.empty(0, 8, dtype=dtype), torch.empty(0).long())
    assert log_probs.shape == (0,)
    assert log_probs.dtype == torch.float32
    assert loss.isnan()


@pytest.mark.parametrize("half", [True, False])
def test_autocast_gives_single_precision(half):
    layer, x, target = AdaptiveSoftmax(8, 30), torch.randn(20, 8), torch.arange(20)
    x = x.bfloat16() if half else x
    expected = layer(x.float(), target)[0]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        log_probs, loss = layer(x, target)
        every = layer.log_prob(x)
    assert log_probs.dtype == every.dtype == torch.float32
    torch.testing.assert_close(log_probs, expected)
    torch.testing.assert_close(every.exp().sum(1), torch.ones(20))
    loss.backward()
    assert layer.layer.head.weight.grad.any()


def test_a_layer_of_half_precision():
    layer, x = AdaptiveSoftmax(8, 30, dtype=torch.bfloat16), torch.randn(20, 8, dtype=torch.bfloat16)
    log_probs, loss = layer(x, torch.arange(20))
    assert log_probs.dtype == loss.dtype == layer.log_prob(x).dtype == torch.float32


def test_cutoffs():
    assert AdaptiveSoftmax(8, 100, cutoffs=[10, 50]).layer.cutoffs == [10, 50, 100]


def test_refusals():
    with pytest.raises(ValueError, match="n_classes must be 2 or more, got 1"):
        AdaptiveSoftmax(8, 1)
    with pytest.raises(ValueError, match="k must be between 1 and n_classes=5, got 6"):
        AdaptiveSoftmax(8, 5).topk(torch.randn(1, 8), 6)
