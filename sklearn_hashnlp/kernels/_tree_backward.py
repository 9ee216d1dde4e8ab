"""The way back through a tree of classifiers: gradients of the weight, the bias and the input."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import compiled, vectorized
from sklearn_hashnlp.kernels._intrinsics import add_scaled, add_scaled_4, add_scaled_8, prefetch_row
from sklearn_hashnlp.kernels._tree_forward import Visits

_AHEAD = 8  # nodes between asking for a weight and using it
_TILE = 16  # inputs whose gradients stay in the fastest cache while all rows of a node are added to them


@compiled
def _scale(
    starts: NDArray[np.int64],
    places: NDArray[np.int64],
    rows: NDArray[np.int32],
    slopes: NDArray[Any],
    gradients: NDArray[Any],
    changes: NDArray[Any],
) -> None:
    for group in range(len(starts) - 1):
        place = places[group]
        arity = (places[group + 1] - place) // (starts[group + 1] - starts[group])
        for at in range(starts[group], starts[group + 1]):
            gradient = gradients[rows[at]]
            for j in range(place, place + arity):
                changes[j] = gradient * slopes[j]
            place += arity


def score_gradients(
    gradients: NDArray[Any],  # (rows,)
    slopes: NDArray[Any],  # (n,)
    visits: Visits,
) -> NDArray[Any]:  # (n,)
    """Differentiate with respect to the scores."""
    changes = np.empty_like(slopes)
    _scale(visits.starts, visits.places, visits.rows, slopes, gradients, changes)
    return changes


@vectorized
def _weight_gradients(
    inputs: NDArray[Any],
    starts: NDArray[np.int64],
    rows: NDArray[np.int32],
    places: NDArray[np.int64],
    weight_starts: NDArray[np.int64],
    changes: NDArray[Any],
    of_weight: NDArray[Any],
    of_bias: NDArray[Any],
) -> None:
    # Of a node, eight visits at a time are added to all its rows, so that these visits' inputs stay in the fastest
    # cache; then four, then one.
    for group in range(len(starts) - 1):
        first, arity = weight_starts[group], weight_starts[group + 1] - weight_starts[group]
        at, end, place = starts[group], starts[group + 1], places[group]
        of_weight[first : first + arity] = 0
        while at + 8 <= end:
            vectors = (
                *(inputs[rows[at]], inputs[rows[at + 1]], inputs[rows[at + 2]], inputs[rows[at + 3]]),
                *(inputs[rows[at + 4]], inputs[rows[at + 5]], inputs[rows[at + 6]], inputs[rows[at + 7]]),
            )
            for j in range(arity):
                p = place + j
                scales = (
                    *(changes[p], changes[p + arity], changes[p + 2 * arity], changes[p + 3 * arity]),
                    *(changes[p + 4 * arity], changes[p + 5 * arity], changes[p + 6 * arity], changes[p + 7 * arity]),
                )
                add_scaled_8(of_weight[first + j], scales, vectors)
            at, place = at + 8, place + 8 * arity
        if at + 4 <= end:
            four = inputs[rows[at]], inputs[rows[at + 1]], inputs[rows[at + 2]], inputs[rows[at + 3]]
            for j in range(arity):
                p = place + j
                few = changes[p], changes[p + arity], changes[p + 2 * arity], changes[p + 3 * arity]
                add_scaled_4(of_weight[first + j], few, four)
            at, place = at + 4, place + 4 * arity
        for j in range(arity):
            for i in range(end - at):
                add_scaled(of_weight[first + j], changes[place + i * arity + j], inputs[rows[at + i]])
            total = of_bias.dtype.type(0)
            for p in range(places[group] + j, places[group + 1], arity):
                total += changes[p]
            of_bias[first + j] = total


def weight_gradients(
    inputs: NDArray[Any],  # (rows, in_features)
    changes: NDArray[Any],  # (n,)
    visits: Visits,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Differentiate with respect to the weight and the bias."""
    n_weight_rows = len(visits.weight_rows)
    of_weight = np.empty((n_weight_rows, inputs.shape[1]), dtype=inputs.dtype)
    of_bias = np.empty(n_weight_rows, dtype=inputs.dtype)
    _weight_gradients(
        inputs, visits.starts, visits.rows, visits.places, visits.weight_starts, changes, of_weight, of_bias
    )
    return of_weight, of_bias


@vectorized
def _input_gradients(
    weight: NDArray[Any],
    weight_rows: NDArray[np.int64],
    weight_starts: NDArray[np.int64],
    starts: NDArray[np.int64],
    rows: NDArray[np.int32],
    places: NDArray[np.int64],
    changes: NDArray[Any],
    of_inputs: NDArray[Any],
) -> None:
    n_groups = len(starts) - 1
    for group in range(n_groups):
        prefetch_row(weight, weight_rows[weight_starts[min(group + _AHEAD, n_groups - 1)]])
        first, arity = weight_rows[weight_starts[group]], weight_starts[group + 1] - weight_starts[group]
        start, end, place, whole = starts[group], starts[group + 1], places[group], arity // 8 * 8
        for begin in range(start, end, _TILE):
            stop = min(begin + _TILE, end)
            for j in range(0, whole, 8):
                row = first + j
                vectors = (
                    *(weight[row], weight[row + 1], weight[row + 2], weight[row + 3]),
                    *(weight[row + 4], weight[row + 5], weight[row + 6], weight[row + 7]),
                )
                for at in range(begin, stop):
                    p = place + (at - start) * arity + j
                    scales = (
                        *(changes[p], changes[p + 1], changes[p + 2], changes[p + 3]),
                        *(changes[p + 4], changes[p + 5], changes[p + 6], changes[p + 7]),
                    )
                    add_scaled_8(of_inputs[rows[at]], scales, vectors)
            for j in range(whole, arity):
                vector = weight[first + j]
                for at in range(begin, stop):
                    add_scaled(of_inputs[rows[at]], changes[place + (at - start) * arity + j], vector)


def input_gradients(
    weight: NDArray[Any],  # (n_scores, in_features)
    changes: NDArray[Any],  # (n,)
    visits: Visits,
    n_rows: int,
) -> NDArray[Any]:  # (n_rows, in_features)
    """Differentiate with respect to the input."""
    of_inputs = np.zeros((n_rows, weight.shape[1]), dtype=weight.dtype)
    _input_gradients(
        weight,
        visits.weight_rows,
        visits.weight_starts,
        visits.starts,
        visits.rows,
        visits.places,
        changes,
        of_inputs,
    )
    return of_inputs
