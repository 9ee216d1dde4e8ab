"""Forward and backward pass of a linear layer with softmax and cross-entropy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native


class HeadResult(NamedTuple):
    """Loss, scores and gradients of :func:`softmax_head`."""

    loss: float  # mean over the rows of cross-entropy times row weight
    scores: NDArray[Any]  # (n_rows, n_classes): before the softmax
    inputs: NDArray[Any]  # (n_rows, width): gradient of the inputs
    weight: NDArray[Any]  # (n_classes, width): gradient of the layer's weight
    bias: NDArray[Any]  # (n_classes,): gradient of the layer's bias


def softmax_head(
    inputs: NDArray[Any],  # (n_rows, width)
    weight: NDArray[Any],  # (n_classes, width)
    bias: NDArray[Any],  # (n_classes,)
    targets: NDArray[np.int64],  # (n_rows,)
    row_weights: NDArray[Any] | None,  # (n_rows,); None is one each
) -> HeadResult:
    """Compute the scores of a linear layer and the gradients of the mean cross-entropy."""
    scores = np.empty((len(inputs), len(bias)), dtype=inputs.dtype)
    d_inputs = np.zeros_like(inputs)
    d_weight = np.zeros_like(weight)
    d_bias = np.zeros_like(bias)
    factors = np.ones(len(inputs), dtype=inputs.dtype) if row_weights is None else row_weights
    gradients = d_inputs, d_weight, d_bias
    loss = _native.softmax_head(inputs, weight, bias, targets, factors, scores, *gradients)
    return HeadResult(loss, scores, *gradients)
