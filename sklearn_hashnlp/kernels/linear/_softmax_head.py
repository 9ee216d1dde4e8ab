"""Forward and backward pass of a linear layer with softmax and cross-entropy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import compiled


class HeadResult(NamedTuple):
    """Loss, scores and gradients of :func:`softmax_head`."""

    loss: float  # mean over the rows of cross-entropy times row weight
    scores: NDArray[Any]  # (n_rows, n_classes): before the softmax
    inputs: NDArray[Any]  # (n_rows, width): gradient of the inputs
    weight: NDArray[Any]  # (n_classes, width): gradient of the layer's weight
    bias: NDArray[Any]  # (n_classes,): gradient of the layer's bias


@compiled
def softmax_head(
    inputs: NDArray[Any],  # (n_rows, width)
    weight: NDArray[Any],  # (n_classes, width)
    bias: NDArray[Any],  # (n_classes,)
    targets: NDArray[np.int64],  # (n_rows,)
    row_weights: NDArray[Any] | None,  # (n_rows,); None is one each
) -> HeadResult:
    """Compute the scores of a linear layer and the gradients of the mean cross-entropy."""
    scores = np.empty((len(inputs), len(bias)), dtype=inputs.dtype)
    d_inputs, d_weight, d_bias = np.zeros_like(inputs), np.zeros_like(weight), np.zeros_like(bias)
    n_rows, width = inputs.shape
    n_classes = len(bias)
    loss, zero = 0.0, inputs.dtype.type(0)
    transposed = np.ascontiguousarray(weight.T)  # the loop over classes is vectorized, so no sum is split up
    d_scores = np.empty(n_classes, dtype=inputs.dtype)
    factors = np.ones(n_rows, dtype=inputs.dtype) if row_weights is None else row_weights
    for row in range(n_rows):
        vector, row_scores, d_vector = inputs[row], scores[row], d_inputs[row]
        row_scores[:] = bias
        for column in range(width):
            for label in range(n_classes):
                row_scores[label] += transposed[column, label] * vector[column]
        largest, total = row_scores.max(), zero
        for label in range(n_classes):
            d_scores[label] = np.exp(row_scores[label] - largest)
            total += d_scores[label]
        share = factors[row] / inputs.dtype.type(n_rows)
        loss += share * (np.log(total) + largest - row_scores[targets[row]])
        for label in range(n_classes):
            d_scores[label] *= share / total
        d_scores[targets[row]] -= share
        for label in range(n_classes):
            d_score = d_scores[label]
            d_bias[label] += d_score
            for column in range(width):
                d_vector[column] += d_score * weight[label, column]
                d_weight[label, column] += d_score * vector[column]
    return HeadResult(loss, scores, d_inputs, d_weight, d_bias)
