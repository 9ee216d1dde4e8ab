"""The full softmax against the formula, written as plain loops."""

from __future__ import annotations

import math

import pytest
import torch

from sklearn_hashnlp.nn import FullSoftmax


def make(in_features: int = 3, n_classes: int = 7) -> FullSoftmax:
    torch.manual_seed(0)
    return FullSoftmax(in_features, n_classes, dtype=torch.float64)


def plain_log_prob(layer: FullSoftmax, row: list[float]) -> list[float]:
    scores = [
        sum(w * x for w, x in zip(weights, row, strict=True)) + b
        for weights, b in zip(layer.weight.tolist(), layer.bias.tolist(), strict=True)
    ]
    total = sum(math.exp(score) for score in scores)
    return [score - math.log(total) for score in scores]


def test_log_probabilities_follow_the_formula() -> None:
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


def test_gradients_are_those_of_finite_differences() -> None:
    layer = make()
    rows, target = torch.randn(4, 3, dtype=torch.float64, requires_grad=True), torch.tensor([2, 0, 2, 6])

    def through(rows: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(layer, {"weight": weight, "bias": bias}, (rows, target))[1]

    assert torch.autograd.gradcheck(through, (rows, layer.weight, layer.bias))


def test_draws_follow_the_probabilities_and_repeat() -> None:
    layer, row = make(), torch.randn(1, 3, dtype=torch.float64)
    expected = layer.log_prob(row).exp().squeeze(0)
    rows = row.expand(20_000, 3)
    drawn = layer.sample(rows, generator=torch.Generator().manual_seed(1))
    assert torch.equal(drawn, layer.sample(rows, generator=torch.Generator().manual_seed(1)))
    shares = torch.bincount(drawn, minlength=7) / 20_000
    assert (shares - expected).abs().max() < 0.02


def test_one_class_is_certain() -> None:
    layer = make(n_classes=1)
    rows = torch.randn(4, 3, dtype=torch.float64)
    assert layer(rows, torch.zeros(4, dtype=torch.int64))[1].item() == 0
    assert layer.predict(rows).tolist() == [0, 0, 0, 0]
    assert layer.sample(rows).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_log_probabilities_are_single_precision_at_least(dtype: torch.dtype) -> None:
    layer, rows = FullSoftmax(3, 5, dtype=dtype), torch.randn(2, 3, dtype=dtype)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer.log_prob(rows).dtype == torch.float32
        assert layer(rows, torch.tensor([0, 1]))[1].dtype == torch.float32
    assert layer.topk(rows, 2)[0].dtype == torch.float32


def test_no_rows_are_legal() -> None:
    layer, rows = make(), torch.empty(0, 3, dtype=torch.float64)
    nothing = torch.empty(0, dtype=torch.int64)
    log_probs, loss = layer(rows, nothing)
    assert log_probs.shape == (0,)
    assert loss.isnan()
    assert layer.predict(rows).shape == (0,)
    assert layer.topk(rows, 2)[1].shape == (0, 2)
    assert layer.sample(rows).shape == (0,)


@pytest.mark.parametrize("target", [[-100, 0], [7, 0], [0, -1]])
def test_a_class_that_is_not_there_is_refused(target: list[int]) -> None:
    wrong = next(c for c in target if not 0 <= c < 7)
    with pytest.raises(ValueError, match=f"target must be between 0 and 6, got {wrong}"):
        make()(torch.zeros(2, 3, dtype=torch.float64), torch.tensor(target))


def test_wrong_shapes_and_sizes_are_named() -> None:
    with pytest.raises(ValueError, match=r"target must have shape \(2,\).*got \(2, 1\)"):
        make()(torch.zeros(2, 3, dtype=torch.float64), torch.zeros(2, 1, dtype=torch.int64))
    with pytest.raises(ValueError, match="k must be between 1 and n_classes=7, got 8"):
        make().topk(torch.zeros(2, 3, dtype=torch.float64), 8)
    with pytest.raises(ValueError, match="n_classes must be 1 or more, got 0"):
        FullSoftmax(3, 0)


def test_repr_says_what_it_is() -> None:
    assert repr(FullSoftmax(3, 7)) == "FullSoftmax(3, 7)"
