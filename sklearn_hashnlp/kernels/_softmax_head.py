"""A linear layer, its softmax and cross-entropy, there and back at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled


class HeadGradients(NamedTuple):
    """What :func:`softmax_head` gives.

    Parameters
    ----------
    loss : float
        Mean over the rows of their cross-entropy times their weight.
    scores : ndarray of float of shape (n_rows, n_classes)
        Before the softmax.
    inputs : ndarray of float of shape (n_rows, width)
        Gradient of the inputs.
    weight : ndarray of float of shape (n_classes, width)
        Gradient of the layer's weights.
    bias : ndarray of float of shape (n_classes,)
        Gradient of its biases.
    """

    loss: float
    scores: NDArray[Any]
    inputs: NDArray[Any]
    weight: NDArray[Any]
    bias: NDArray[Any]


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
    inputs: NDArray[Any],
    weight: NDArray[Any],
    bias: NDArray[Any],
    targets: NDArray[np.int64],
    row_weights: NDArray[Any] | None,
) -> HeadGradients:
    """Score rows by a linear layer and differentiate the mean of their cross-entropy.

    For few classes: the work of a large matrix product is better left to a library.

    Parameters
    ----------
    inputs : ndarray of float of shape (n_rows, width)
        Rows.
    weight : ndarray of float of shape (n_classes, width)
        Of the layer.
    bias : ndarray of float of shape (n_classes,)
        Of the layer.
    targets : ndarray of int64 of shape (n_rows,)
        Class numbers. They are not checked.
    row_weights : ndarray of float of shape (n_rows,) or None
        What the loss of each row is multiplied by; None is one each.

    Returns
    -------
    HeadGradients
        Loss, scores and gradients.

    Examples
    --------
    >>> import numpy as np
    >>> inputs, weight, bias = np.ones((1, 2)), np.zeros((2, 2)), np.zeros(2)
    >>> found = softmax_head(inputs, weight, bias, np.array([1]), None)
    >>> round(float(np.exp(found.loss)), 3), found.bias.tolist(), found.weight.tolist()
    (2.0, [0.5, -0.5], [[0.5, 0.5], [-0.5, -0.5]])
    """
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
