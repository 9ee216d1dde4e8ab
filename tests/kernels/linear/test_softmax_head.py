"""A linear softmax layer there and back, against plain formulas and finite differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax

from sklearn_hashnlp.kernels.linear._softmax_head import softmax_head


def draw(n_rows, width, n_classes, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    inputs, weight, bias = (
        rng.normal(size=shape) for shape in ((n_rows, width), (n_classes, width), n_classes)
    )
    targets, row_weights = rng.integers(0, n_classes, n_rows), rng.random(n_rows)
    return (
        *(array.astype(dtype) for array in (inputs, weight, bias)),
        targets,
        row_weights.astype(dtype),
    )


def plain_loss(inputs, weight, bias, targets, row_weights):
    logs = log_softmax(inputs @ weight.T + bias, axis=1)
    return -(row_weights * logs[np.arange(len(targets)), targets]).mean()


@settings(max_examples=30)
@given(
    n_rows=st.integers(1, 6),
    width=st.integers(1, 5),
    n_classes=st.integers(1, 5),
    weighted=st.booleans(),
)
def test_loss_scores_and_gradients(n_rows, width, n_classes, weighted):
    inputs, weight, bias, targets, row_weights = draw(n_rows, width, n_classes)
    kept = [array.copy() for array in (inputs, weight, bias, targets, row_weights)]
    if not weighted:
        row_weights = np.ones(n_rows)
    result = softmax_head(inputs, weight, bias, targets, row_weights if weighted else None)
    np.testing.assert_allclose(result.scores, inputs @ weight.T + bias, rtol=1e-12, atol=1e-12)
    assert result.loss == pytest.approx(
        plain_loss(inputs, weight, bias, targets, row_weights), rel=1e-12, abs=1e-14
    )
    for array, gradient in ((inputs, result.inputs), (weight, result.weight), (bias, result.bias)):
        expected = np.empty_like(array)
        for place in np.ndindex(array.shape):
            ends = []
            for side in (1e-6, -1e-6):
                before, array[place] = array[place], array[place] + side
                ends.append(plain_loss(inputs, weight, bias, targets, row_weights))
                array[place] = before
            expected[place] = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-8)
    for array, before in zip((inputs, weight, bias, targets), kept, strict=False):
        assert (array == before).all()


def test_single_precision_is_close_and_stays_single():
    result, exact = (softmax_head(*draw(40, 7, 9, dtype)) for dtype in (np.float32, np.float64))
    assert result.loss == pytest.approx(exact.loss, rel=1e-5)
    for single, double in zip(result[1:], exact[1:], strict=True):
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, double, rtol=1e-4, atol=1e-5)


def test_scores_that_an_exponential_cannot_hold():
    inputs, bias = np.array([[1.0], [-1.0]], dtype=np.float32), np.zeros(2, dtype=np.float32)
    result = softmax_head(
        inputs, np.array([[1e4], [-1e4]], dtype=np.float32), bias, np.array([0, 0]), None
    )
    assert result.loss == 1e4  # nothing in the first row, 2e4 in the second
    np.testing.assert_array_equal(result.bias, [-0.5, 0.5])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_is_seen_in_the_loss(value):
    inputs, weight, bias, targets, _ = draw(3, 2, 4)
    inputs[1, 0] = value
    assert not np.isfinite(softmax_head(inputs, weight, bias, targets, None).loss)
