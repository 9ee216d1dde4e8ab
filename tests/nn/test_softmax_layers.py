"""Predictions and samples of softmax layers, the full softmax against its formula, and the adaptive softmax."""

from __future__ import annotations

import math

import pytest
import torch

from sklearn_hashnlp.nn import FullSoftmax
from sklearn_hashnlp.nn._softmax_layers import AdaptiveSoftmax, SoftmaxLayer


class Table(SoftmaxLayer):
    """Its input is the probabilities themselves."""

    n_classes = 3

    def log_prob(self, input):  # noqa: A002 - torch's name for it
        return input.log()


PROBABILITIES = torch.tensor([[0.1, 0.7, 0.2], [0.5, 0.2, 0.3]])


def test_predict_and_topk_are_the_most_probable_classes():
    assert Table().predict(PROBABILITIES).tolist() == [1, 0]
    log_probs, classes = Table().topk(PROBABILITIES, 2)
    assert classes.tolist() == [[1, 2], [0, 2]]
    torch.testing.assert_close(log_probs.exp(), torch.tensor([[0.7, 0.2], [0.5, 0.3]]))


def test_biases_of_counts_begin_at_the_class_frequencies():
    counts = torch.tensor([40, 20, 10, 9, 5, 5, 1, 1, 0, 0]).numpy()
    frequencies = torch.from_numpy((counts + 1) / (counts + 1).sum()).float()
    full, adaptive = FullSoftmax(4, 10), AdaptiveSoftmax(4, 10, cutoffs=[4, 6])
    for layer in (full, adaptive):
        layer.init_bias(counts)
        torch.testing.assert_close(layer.log_prob(torch.zeros(1, 4))[0].exp()[:6], frequencies[:6])
        with pytest.raises(ValueError, match=r"init_bias: counts must have one count for each of 10 classes, got 9"):
            layer.init_bias(counts[:9])
    torch.testing.assert_close(full.log_prob(torch.zeros(1, 4))[0].exp(), frequencies)
    within = adaptive.log_prob(torch.zeros(1, 4))[0].exp()[6:]  # a cluster without biases
    torch.testing.assert_close(within, frequencies[6:].mean().expand(4))


@pytest.mark.parametrize("k", [0, 4])
def test_topk_refuses_a_wrong_k(k):
    with pytest.raises(ValueError, match=f"Table: k must be between 1 and n_classes=3, got {k}"):
        Table().topk(PROBABILITIES, k)


def test_samples_follow_the_probabilities():
    rows = PROBABILITIES[:1].expand(20_000, 3)
    drawn = Table().sample(rows, generator=torch.Generator().manual_seed(0))
    assert torch.equal(drawn, Table().sample(rows, generator=torch.Generator().manual_seed(0)))
    frequencies = torch.bincount(drawn, minlength=3) / len(rows)
    torch.testing.assert_close(frequencies, PROBABILITIES[0], atol=0.015, rtol=0)


def make(in_features=3, n_classes=7):
    torch.manual_seed(0)
    return FullSoftmax(in_features, n_classes, dtype=torch.float64)


def plain_log_prob(layer, row):
    scores = [
        sum(w * x for w, x in zip(weights, row, strict=True)) + b
        for weights, b in zip(layer.weight.tolist(), layer.bias.tolist(), strict=True)
    ]
    total = sum(math.exp(score) for score in scores)
    return [score - math.log(total) for score in scores]


def test_full_softmax_follows_the_formula():
    layer, rows = make(), torch.randn(5, 3, dtype=torch.float64)
    expected = torch.tensor([plain_log_prob(layer, row) for row in rows.tolist()], dtype=torch.float64)
    torch.testing.assert_close(layer.log_prob(rows), expected)
    target = torch.tensor([0, 6, 3, 3, 1])
    log_probs, loss = layer(rows, target)
    torch.testing.assert_close(log_probs, torch.stack([expected[i, c] for i, c in enumerate(target)]))
    torch.testing.assert_close(loss, -log_probs.mean())
    assert layer.predict(rows).tolist() == [row.index(max(row)) for row in expected.tolist()]
    values, classes = layer.topk(rows, 3)
    for i, row in enumerate(expected.tolist()):
        assert classes[i].tolist() == sorted(range(7), key=row.__getitem__, reverse=True)[:3]
        assert values[i].tolist() == pytest.approx(sorted(row, reverse=True)[:3])


def test_full_softmax_gradients_are_those_of_finite_differences():
    layer = make()
    rows, target = torch.randn(4, 3, dtype=torch.float64, requires_grad=True), torch.tensor([2, 0, 2, 6])

    def loss(rows, weight, bias):
        return torch.func.functional_call(layer, {"weight": weight, "bias": bias}, (rows, target))[1]

    assert torch.autograd.gradcheck(loss, (rows, layer.weight, layer.bias))


def test_full_softmax_of_one_class():
    layer = make(n_classes=1)
    rows = torch.randn(4, 3, dtype=torch.float64)
    assert layer(rows, torch.zeros(4, dtype=torch.int64))[1].item() == 0
    assert layer.predict(rows).tolist() == [0, 0, 0, 0]
    assert layer.sample(rows).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_full_softmax_returns_at_least_single_precision(dtype):
    layer, rows = FullSoftmax(3, 5, dtype=dtype), torch.randn(2, 3, dtype=dtype)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer.log_prob(rows).dtype == torch.float32
        assert layer(rows, torch.tensor([0, 1]))[1].dtype == torch.float32
    assert layer.topk(rows, 2)[0].dtype == torch.float32


def test_full_softmax_of_no_rows():
    layer, rows = make(), torch.empty(0, 3, dtype=torch.float64)
    nothing = torch.empty(0, dtype=torch.int64)
    log_probs, loss = layer(rows, nothing)
    assert log_probs.shape == (0,)
    assert loss.isnan()
    assert layer.predict(rows).shape == (0,)
    assert layer.topk(rows, 2)[1].shape == (0, 2)
    assert layer.sample(rows).shape == (0,)


@pytest.mark.parametrize("target", [[-99, 0], [7, 0], [0, -1]])
def test_full_softmax_refuses_targets_out_of_range(target):
    wrong = next(c for c in target if not 0 <= c < 7)
    with pytest.raises(ValueError, match=f"target must be between 0 and 6, got {wrong}"):
        make()(torch.zeros(2, 3, dtype=torch.float64), torch.tensor(target))


def test_full_softmax_refuses_wrong_shapes_dtypes_and_sizes():
    with pytest.raises(ValueError, match=r"target must have shape \(2,\).*got \(2, 1\)"):
        make()(torch.zeros(2, 3, dtype=torch.float64), torch.zeros(2, 1, dtype=torch.int64))
    with pytest.raises(TypeError, match=r"target must have an integer dtype, got torch.float32"):
        make()(torch.zeros(2, 3, dtype=torch.float64), torch.zeros(2))
    with pytest.raises(ValueError, match="n_classes must be 1 or more, got 0"):
        FullSoftmax(3, 0)


def test_full_softmax_takes_targets_of_any_integer_dtype():
    layer, rows, target = make(), torch.randn(3, 3, dtype=torch.float64), torch.tensor([0, 6, 2])
    assert torch.equal(layer(rows, target.to(torch.uint8))[0], layer(rows, target)[0])


def test_full_softmax_of_any_leading_shape_ignores_targets():
    layer, rows, target = make(), torch.randn(2, 3, 3, dtype=torch.float64), torch.tensor([[0, 6, -100], [2, 1, 1]])
    output, loss = layer(rows, target)
    expected = layer(rows.flatten(0, 1)[[0, 1, 3, 4, 5]], target.flatten()[[0, 1, 3, 4, 5]])
    torch.testing.assert_close(loss, expected.loss)
    assert output.shape == (2, 3)
    assert output[0, 2] == 0
    assert layer.predict(rows).shape == layer.sample(rows).shape == (2, 3)
    assert layer.predict(rows[0, 0]).shape == layer.sample(rows[0, 0]).shape == ()
    assert layer.topk(rows, 2)[1].shape == (2, 3, 2)
    total = FullSoftmax(3, 7, reduction="sum", dtype=torch.float64)
    total.load_state_dict(layer.state_dict())
    torch.testing.assert_close(total(rows, target).loss, 5 * loss)
    with pytest.raises(ValueError, match="reduction must be one of"):
        FullSoftmax(3, 7, reduction="max")


def test_full_softmax_repr():
    assert repr(FullSoftmax(3, 7)) == "FullSoftmax(3, 7)"


@pytest.mark.parametrize("n_classes", [2, 3, 5, 200])
@pytest.mark.parametrize("in_features", [1, 40])
def test_adaptive_probabilities(n_classes, in_features):
    layer = AdaptiveSoftmax(in_features, n_classes)
    x, target = torch.randn(6, in_features), torch.arange(6) % n_classes
    log_probs, loss = layer(x, target)
    every = layer.log_prob(x)
    assert every.shape == (6, n_classes)
    torch.testing.assert_close(every.exp().sum(1), torch.ones(6))
    torch.testing.assert_close(log_probs, every.gather(1, target[:, None])[:, 0])
    torch.testing.assert_close(loss, -log_probs.mean())


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32])
def test_adaptive_softmax_takes_targets_of_any_integer_dtype_and_rows_of_any_shape(dtype):
    layer, x, target = AdaptiveSoftmax(4, 10), torch.randn(2, 3, 4), torch.arange(6).view(2, 3)
    output, loss = layer(x, target.to(dtype))
    torch.testing.assert_close(output, layer.log_prob(x).gather(2, target.unsqueeze(2)).squeeze(2))
    torch.testing.assert_close(loss, -output.mean())


def test_adaptive_softmax_refuses_wrong_targets():
    with pytest.raises(ValueError, match="AdaptiveSoftmax: target must be between 0 and 9, got 10"):
        AdaptiveSoftmax(4, 10)(torch.randn(1, 4), torch.tensor([10]))


def test_adaptive_topk_and_samples():
    layer, x = AdaptiveSoftmax(8, 30), torch.randn(5, 8)
    every = layer.log_prob(x)
    log_probs, classes = layer.topk(x, 4)
    torch.testing.assert_close(log_probs, every.topk(4, dim=1).values)
    assert torch.equal(layer.predict(x), classes[:, 0])
    drawn = layer.sample(x[:1].expand(5000, 8), generator=torch.Generator().manual_seed(0))
    frequencies = torch.bincount(drawn, minlength=30) / 5000
    torch.testing.assert_close(frequencies, every[0].exp(), atol=0.03, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_adaptive_softmax_of_no_rows(dtype):
    log_probs, loss = AdaptiveSoftmax(8, 30, dtype=dtype)(torch.empty(0, 8, dtype=dtype), torch.empty(0).long())
    assert log_probs.shape == (0,)
    assert log_probs.dtype == torch.float32
    assert loss.isnan()


@pytest.mark.parametrize("half", [True, False])
def test_adaptive_softmax_returns_single_precision_under_autocast(half):
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


def test_adaptive_softmax_of_half_precision():
    layer, x = AdaptiveSoftmax(8, 30, dtype=torch.bfloat16), torch.randn(20, 8, dtype=torch.bfloat16)
    log_probs, loss = layer(x, torch.arange(20))
    assert log_probs.dtype == loss.dtype == layer.log_prob(x).dtype == torch.float32


def test_adaptive_cutoffs():
    assert AdaptiveSoftmax(8, 100, cutoffs=[10, 50]).layer.cutoffs == [10, 50, 100]


def test_adaptive_softmax_refuses_one_class():
    with pytest.raises(ValueError, match="n_classes must be 2 or more, got 1"):
        AdaptiveSoftmax(8, 1)
