"""Dense layers of trained weights as integers, with an arithmetic that gives the same numbers everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: What 1.0 in a row becomes.
ONE = 2**12
#: Outputs of hidden layers are below it.
MOST = 2**24
_LEVELS = 127
# Weights with a bias that is so much larger become coarser, lest sums leave 53 bits, and products with them 63.
_LARGEST_BIAS = 2.0**40
_LARGEST_PRODUCT, _LARGEST_MULTIPLIER = 2.0**61, 2.0**30
# How far a sum, and its last bit, may lie above the outputs of 24 bits that it becomes.
_LARGEST_SCALED, _LARGEST_STEP = 2.0**45, 2.0**6
_LARGEST_SHIFT = 62


class IntegerLayer(NamedTuple):
    """A linear layer, rectified unless it is the last, in integers."""

    weight: NDArray[np.int8]  # (n_outputs, n_inputs): between -127 and 127; each row has a scale of its own
    bias: NDArray[np.int64]  # (n_outputs,): added to the sums
    # (n_outputs,): what brings the sums of all rows to one scale; zeros in the last layer
    multiplier: NDArray[np.int32]
    shift: int  # how many bits are dropped after that; 0 in the last layer
    scale: NDArray[np.float64]  # (n_outputs,): what a sum of the last layer is multiplied by; zeros in the others


def integer_scores(layers: Sequence[IntegerLayer], rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Score rows."""
    numbers = np.rint(rows * ONE)
    for layer in layers[:-1]:
        scaled = _sums(layer, numbers) * layer.multiplier
        numbers = np.maximum((scaled + (1 << (layer.shift - 1))) >> layer.shift, 0).astype(np.float64)
    return np.asarray(_sums(layers[-1], numbers) * layers[-1].scale)


def _sums(layer: IntegerLayer, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    # Integers below 2**53 are added without error in float64, in whatever order a library does it.
    sums = numbers @ layer.weight.T.astype(np.float64)
    return np.asarray(sums.astype(np.int64) + layer.bias)


def integer_layers(
    weights: Sequence[NDArray[np.float64]], biases: Sequence[NDArray[np.float64]]
) -> tuple[IntegerLayer, ...]:
    """Round linear layers, all but the last rectified, to integers."""
    layers = []
    unit = 1 / ONE  # what the number 1 stands for
    lowest, highest = np.full(weights[0].shape[1], -ONE), np.full(weights[0].shape[1], ONE)
    for place, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
            raise ValueError(f"Layer {place} cannot become integers: it has weights that are infinite or not a number.")
        scale = np.maximum(np.abs(weight).max(axis=1) / _LEVELS, np.abs(bias) / (unit * _LARGEST_BIAS))
        scale[scale == 0] = scale[scale > 0].min(initial=1.0)  # of rows of zeros
        rounded = np.rint(weight / scale[:, np.newaxis]).astype(np.int8)
        offset = np.rint(bias / (scale * unit)).astype(np.int64)
        wide = rounded.astype(np.int64)
        top = offset + np.maximum(wide * lowest, wide * highest).sum(axis=1)
        largest = np.abs(offset) + (np.abs(wide) * np.maximum(-lowest, highest)).sum(axis=1)
        if largest.max() >= 2**53:
            raise ValueError(f"Layer {place} cannot become integers: with {weight.shape[1]} inputs sums may overflow.")
        if place == len(weights) - 1:
            nothing = np.zeros(len(bias), dtype=np.int32)
            layers.append(IntegerLayer(rounded, offset, nothing, 0, scale * unit))
            break
        # The largest output of any unit comes near MOST; multipliers are rounded, by one in 2**20. What is never
        # positive is zero, and its size has no say.
        lives = np.where(top > 0, scale, 0.0)
        outputs, sums = (top * lives).max() / (MOST - 64), (largest * lives).max() / _LARGEST_SCALED
        next_unit = unit * (max(outputs, sums, lives.max() / _LARGEST_STEP) or 1.0)
        factor = lives * unit / next_unit
        shift = _LARGEST_SHIFT
        while max((largest * factor).max() / _LARGEST_PRODUCT, factor.max() / _LARGEST_MULTIPLIER) * 2.0**shift > 1:
            shift -= 1
        multiplier = np.rint(factor * 2.0**shift).astype(np.int64)
        lowest = np.zeros(len(bias), dtype=np.int64)
        highest = np.maximum((top * multiplier + (1 << (shift - 1))) >> shift, 0)
        layers.append(IntegerLayer(rounded, offset, multiplier.astype(np.int32), shift, np.zeros(len(bias))))
        unit = next_unit
    return tuple(layers)
