"""Predictions and samples of softmax layers, the full softmax against its formula, and the adaptive
softmax.
"""

import math

import pytest
import torch

from sklearn_hashnlp.nn import FullSoftmax
from sklearn_hashnlp.nn._softmax_layers import AdaptiveSoftmax

ROWS = torch.zeros(2, 3, dtype=torch.float64)
each_layer = pytest.mark.parametrize("kind", [FullSoftmax, AdaptiveSoftmax])


def make(kind=FullSoftmax, in_features=3, n_classes=7, **options):
    torch.manual_seed(0)
    return kind(in_features, n_classes, **({"dtype": torch.float64} | options))


def plain_log_prob(layer, row):
    scores = [
        sum(w * x for w, x in zip(weights, row, strict=True)) + b
        for weights, b in zip(layer.weight.tolist(), layer.bias.tolist(), strict=True)
    ]
    total = sum(math.exp(score) for score in scores)
    return [score - math.log(total) for score in scores]


def test_full_softmax_follows_the_formula():
    layer, rows = make(), torch.randn(5, 3, dtype=torch.float64)
    expected = torch.tensor(
        [plain_log_prob(layer, row) for row in rows.tolist()], dtype=torch.float64
    )
    torch.testing.assert_close(layer.log_prob(rows), expected)


@pytest.mark.parametrize(
    ("kind", "in_features", "n_classes"),
    [(FullSoftmax, 3, 7), (FullSoftmax, 3, 1), (AdaptiveSoftmax, 1, 2), (AdaptiveSoftmax, 40, 200)],
)
def test_all_methods_agree_with_all_log_probabilities(kind, in_features, n_classes):
    layer = make(kind, in_features, n_classes)
    rows, target = torch.randn(6, in_features, dtype=torch.float64), torch.arange(6) % n_classes
    every = layer.log_prob(rows)
    assert every.shape == (6, n_classes)
    torch.testing.assert_close(every.exp().sum(1), torch.ones(6, dtype=torch.float64))
    log_probs, loss = layer(rows, target)
    torch.testing.assert_close(log_probs, every.gather(1, target[:, None])[:, 0])
    torch.testing.assert_close(loss, -log_probs.mean())
    values, classes = layer.topk(rows, min(3, n_classes))
    torch.testing.assert_close(values, every.topk(min(3, n_classes), dim=1).values)
    assert torch.equal(every.gather(1, classes), values)
    assert torch.equal(layer.predict(rows), classes[:, 0])


@each_layer
def test_samples_follow_the_probabilities_and_repeat(kind):
    layer = make(kind, n_classes=9)
    rows = torch.randn(1, 3, dtype=torch.float64)
    first, again = (
        layer.sample(rows.expand(20_000, 3), generator=torch.Generator().manual_seed(0))
        for _ in range(2)
    )
    assert torch.equal(first, again)
    frequencies = torch.bincount(first, minlength=9) / 20_000
    torch.testing.assert_close(
        frequencies.double(), layer.log_prob(rows)[0].exp(), atol=0.015, rtol=0
    )


def test_biases_of_counts_begin_at_the_class_frequencies():
    counts = torch.tensor([40, 20, 10, 9, 5, 5, 1, 1, 0, 0]).numpy()
    frequencies = torch.from_numpy((counts + 1) / (counts + 1).sum()).float()
    full, adaptive = FullSoftmax(4, 10), AdaptiveSoftmax(4, 10, cutoffs=[4, 6])
    for layer in (full, adaptive):
        layer.init_bias(counts)
        torch.testing.assert_close(layer.log_prob(torch.zeros(1, 4))[0].exp()[:6], frequencies[:6])
        with pytest.raises(
            ValueError, match=r"init_bias: counts must have one count for each of 10 classes, got 9"
        ):
            layer.init_bias(counts[:9])
    torch.testing.assert_close(full.log_prob(torch.zeros(1, 4))[0].exp(), frequencies)
    within = adaptive.log_prob(torch.zeros(1, 4))[0].exp()[6:]  # a cluster without biases
    torch.testing.assert_close(within, frequencies[6:].mean().expand(4))


@each_layer
def test_targets_of_any_integer_dtype_and_rows_of_any_leading_shape(kind):
    layer = make(kind)
    rows = torch.randn(2, 3, 3, dtype=torch.float64)
    target = torch.tensor([[0, 6, 4], [2, 1, 1]])
    expected = layer(rows.flatten(0, 1), target.flatten())
    for dtype in (torch.uint8, torch.int32):
        output, loss = layer(rows, target.to(dtype))
        torch.testing.assert_close(output.flatten(), expected.output)
        torch.testing.assert_close(loss, expected.loss)
    assert layer.predict(rows).shape == layer.sample(rows).shape == (2, 3)
    assert layer.predict(rows[0, 0]).shape == layer.sample(rows[0, 0]).shape == ()
    assert layer.topk(rows, 2)[1].shape == (2, 3, 2)


def test_full_softmax_ignores_targets():
    layer = make()
    rows = torch.randn(6, 3, dtype=torch.float64)
    target = torch.tensor([0, 6, -100, 2, 1, 1])
    output, loss = layer(rows, target)
    keep = target >= 0
    torch.testing.assert_close(loss, layer(rows[keep], target[keep]).loss)
    assert output[2] == 0
    total = make(reduction="sum")
    total.load_state_dict(layer.state_dict())
    torch.testing.assert_close(total(rows, target).loss, 5 * loss)


@each_layer
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_results_have_at_least_single_precision(kind, dtype):
    layer = make(kind, 8, 30, dtype=dtype)
    rows = torch.randn(20, 8, dtype=dtype)
    target = torch.arange(20)
    expected = layer(rows, target)[0]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        log_probs, loss = layer(rows, target)
        every = layer.log_prob(rows)
    results = expected, log_probs, loss, every, layer.topk(rows, 2)[0]
    assert {result.dtype for result in results} == {torch.float32}
    torch.testing.assert_close(log_probs, expected, rtol=0.05, atol=0.05)
    loss.backward()
    assert all(parameter.grad.any() for parameter in layer.parameters())


@each_layer
def test_no_rows(kind):
    layer, rows = make(kind), torch.empty(0, 3, dtype=torch.float64)
    log_probs, loss = layer(rows, torch.empty(0, dtype=torch.int64))
    assert log_probs.shape == layer.predict(rows).shape == layer.sample(rows).shape == (0,)
    assert loss.isnan()
    assert layer.topk(rows, 2)[1].shape == (0, 2)


@each_layer
@pytest.mark.parametrize("wrong", [-99, -1, 7])
def test_targets_out_of_range_are_refused(kind, wrong):
    with pytest.raises(
        ValueError, match=f"{kind.__name__}: target must be between 0 and 6, got {wrong}"
    ):
        make(kind)(torch.zeros(2, 3).double(), torch.tensor([0, wrong]))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: make()(ROWS, torch.zeros(2, 1).long()),
            ValueError,
            r"target must have shape \(2,\).*got \(2, 1\)",
        ),
        (
            lambda: make()(ROWS, torch.zeros(2)),
            TypeError,
            "target must have an integer dtype, got torch.float32",
        ),
        (
            lambda: make().topk(ROWS, 0),
            ValueError,
            "FullSoftmax: k must be an integer from 1 to 7, got 0",
        ),
        (lambda: make().topk(ROWS, 8), ValueError, "k must be an integer from 1 to 7, got 8"),
        (
            lambda: make(n_classes=0),
            ValueError,
            "n_classes must be an integer of at least 1, got 0",
        ),
        (
            lambda: make(AdaptiveSoftmax, n_classes=1),
            ValueError,
            "n_classes must be an integer of at least 2, got 1",
        ),
        (lambda: make(reduction="max"), ValueError, "reduction must be one of"),
    ],
)
def test_wrong_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_cutoffs_and_repr():
    assert AdaptiveSoftmax(8, 100, cutoffs=[10, 50]).layer.cutoffs == [10, 50, 100]
    assert repr(FullSoftmax(3, 7)) == "FullSoftmax(3, 7)"
