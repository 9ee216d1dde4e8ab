"""Layers in integers: exactly what the definition says, and close to the layers that they were made
of.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_hashnlp.classifiers.sgnn._integer_layers import ONE, integer_layers, integer_scores
from tests.oracles.integer_layers import integer_scores_of_row


def float_scores(weights, biases, rows):
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        rows = np.maximum(rows @ weight.T + bias, 0)
    return rows @ weights[-1].T + biases[-1]


def network(rng, sizes, scale=1.0):
    pairs = list(pairwise(sizes))
    weights = [rng.normal(0, scale / np.sqrt(n_in), (n_out, n_in)) for n_in, n_out in pairs]
    return weights, [rng.normal(0, scale, n_out) for _, n_out in pairs]


@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.integers(1, 12), min_size=2, max_size=5),
    exponents=st.tuples(st.integers(-12, 6), st.integers(-12, 6)),
    kind=st.sampled_from(["bits", "signs", "extremes", "means"]),
)
@settings(max_examples=60, deadline=None)
def test_scores_equal_the_oracle(seed, sizes, exponents, kind):
    rng = np.random.default_rng(seed)
    weights, biases = network(rng, sizes)
    weights = [w * 10.0 ** exponents[0] for w in weights]
    biases = [b * 10.0 ** exponents[1] for b in biases]
    for weight, bias in zip(weights, biases, strict=True):
        weight[rng.random(len(weight)) < 0.2] = 0
        bias[rng.random(len(bias)) < 0.2] = 0
    layers = integer_layers(weights, biases)
    shape = (4, sizes[0])
    if kind == "means":
        rows = rng.uniform(-1, 1, shape)
    elif kind == "extremes":  # what makes the first sum as large as it can be
        rows = np.sign(weights[0][rng.integers(sizes[1], size=4)])
    else:
        rows = rng.integers(0, 2, shape).astype(float)
        rows = 2 * rows - 1 if kind == "signs" else rows
    assert integer_scores(layers, rows).tolist() == [
        integer_scores_of_row(layers, row) for row in rows
    ]


def test_halves_are_rounded_to_even():
    layers = integer_layers([np.array([[1.0]])], [np.array([0.0])])
    rows = np.array([[0.5], [1.5], [2.5], [-0.5], [-1.5]]) / ONE
    scores = integer_scores(layers, rows) / integer_scores(layers, np.array([[1 / ONE]]))
    assert scores.ravel().tolist() == [0.0, 2.0, 2.0, 0.0, -2.0]


@pytest.mark.parametrize("sizes", [(1120, 256, 256, 6), (1120, 5), (64, 32, 32, 32, 32, 32, 3)])
def test_integer_scores_are_close_to_float_scores(sizes):
    rng = np.random.default_rng(0)
    weights, biases = network(rng, sizes, 1.5)
    rows = rng.integers(0, 2, (300, sizes[0])).astype(float)
    expected = float_scores(weights, biases, rows)
    layers = integer_layers(weights, biases)
    assert np.abs(integer_scores(layers, rows) - expected).max() < 0.05 * expected.std()
    # Nearly all of the difference is that of the weights: what goes from layer to layer has bits to
    # spare.
    rounded = [np.abs(w).max(axis=1, keepdims=True) / 127 for w in weights]
    rounded = [np.rint(w / scale) * scale for w, scale in zip(weights, rounded, strict=True)]
    exact = float_scores(rounded, biases, rows)
    assert np.abs(integer_scores(layers, rows) - exact).max() < 0.002 * expected.std()


def test_each_output_has_a_scale_of_its_own():
    [layer] = integer_layers([np.array([[1.0, -0.5], [1e-3, 2e-3]])], [np.zeros(2)])
    assert layer.weight.tolist() == [[127, -64], [64, 127]]
    assert layer.weight.dtype == np.int8


def test_inactive_units_and_large_biases_are_quantized():
    weights = [
        np.array([[1.0, 1.0], [1e9, 1e9], [0.0, 0.0], [1e-9, 1e-9]]),
        np.array([[1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]),
    ]
    biases = [np.array([0.0, -1e12, 0.0, 1e3]), np.array([0.5, 2.0])]
    rows = np.array([[0.0, 1.0], [1.0, 1.0], [-1.0, 0.0]])
    assert integer_scores(integer_layers(weights, biases), rows) == pytest.approx(
        float_scores(weights, biases, rows), rel=0.02
    )
    silent = integer_layers(
        [np.array([[1.0]]), np.array([[2.0]])], [np.array([-9.0]), np.array([0.25])]
    )
    assert integer_scores(silent, np.array([[1.0], [-1.0]])).tolist() == [[0.25], [0.25]]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_refused(bad):
    with pytest.raises(ValueError, match="Layer 1 cannot be quantized"):
        integer_layers([np.ones((2, 2)), np.array([[1.0, bad]])], [np.zeros(2), np.zeros(1)])
