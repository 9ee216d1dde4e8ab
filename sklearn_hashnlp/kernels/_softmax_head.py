"""A linear layer, its softmax and cross-entropy, there and back at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled


class HeadGradients(NamedTuple):
    """What :func:`softmax_head` gives."""

    loss: float  # mean over the rows of their cross-entropy times their weight
    scores: NDArray[Any]  # (n_rows, n_classes): before the softmax
    inputs: NDArray[Any]  # (n_rows, width): gradient of the inputs
    weight: NDArray[Any]  # (n_classes, width): gradient of the layer's weights
    bias: NDArray[Any]  # (n_classes,): gradient of its biases


@compiled
def _learn(
    inputs: NDArray[Any],
    weight: NDArray[Any],
    bias: NDArray[Any],
    targets: NDArray[np.int64],
    row_weights: NDArray[Any],
    scores: NDArray[Any],
    of_inputs: NDArray[Any],
    of_weight: NDArray[Any],
    of_bias: NDArray[Any],
) -> Number:
    n_rows, width = inputs.shape
    n_classes = len(bias)
    loss, zero = 0.0, inputs.dtype.type(0)
    across = np.ascontiguousarray(weight.T)  # scores are added up side by side: no sum is split up
    slopes = np.empty(n_classes, dtype=inputs.dtype)
    for row in range(n_rows):
        vector, own, back = inputs[row], scores[row], of_inputs[row]
        own[:] = bias
        for column in range(width):
            for number in range(n_classes):
                own[number] += across[column, number] * vector[column]
        largest, total = own.max(), zero
        for number in range(n_classes):
            slopes[number] = np.exp(own[number] - largest)
            total += slopes[number]
        share = row_weights[row] / inputs.dtype.type(n_rows)
        loss += share * (np.log(total) + largest - own[targets[row]])
        for number in range(n_classes):
            slopes[number] *= share / total
        slopes[targets[row]] -= share
        for number in range(n_classes):
            slope = slopes[number]
            of_bias[number] += slope
            for column in range(width):
                back[column] += slope * weight[number, column]
                of_weight[number, column] += slope * vector[column]
    return loss


def softmax_head(
    inputs: NDArray[Any],  # (n_rows, width)
    weight: NDArray[Any],  # (n_classes, width)
    bias: NDArray[Any],  # (n_classes,)
    targets: NDArray[np.int64],  # (n_rows,)
    row_weights: NDArray[Any] | None,  # (n_rows,)
) -> HeadGradients:
    """Score rows by a linear layer and differentiate the mean of their cross-entropy."""
    found = HeadGradients(
        0.0,
        np.empty((len(inputs), len(bias)), dtype=inputs.dtype),
        np.zeros_like(inputs),
        np.zeros_like(weight),
        np.zeros_like(bias),
    )
    if row_weights is None:
        row_weights = np.ones(len(inputs), dtype=inputs.dtype)
    return found._replace(loss=float(_learn(inputs, weight, bias, targets, row_weights, *found[1:])))
