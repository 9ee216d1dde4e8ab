"""Dense layers quantized to integers, with the same results on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ONE = 2**12
"""The integer that represents 1.0 in a row."""
MAX_ACTIVATION = 2**24
"""Upper bound of the outputs of hidden layers."""
_MAX_WEIGHT = 127
# Weights with a much larger bias are rounded more coarsely, to keep sums below 2**53 and products
# below 2**63.
_MAX_BIAS = 2.0**40
_MAX_PRODUCT, _MAX_MULTIPLIER = 2.0**61, 2.0**30
# Upper bounds of a sum, and of its last bit, in units of the 24-bit outputs.
_MAX_SCALED, _MAX_STEP = 2.0**45, 2.0**6
_MAX_SHIFT = 62


class IntegerLayer(NamedTuple):
    """A linear layer in integers, with ReLU unless it is the last."""

    # (n_outputs, n_inputs): between -127 and 127; each row has a separate scale
    weight: NDArray[np.int8]
    bias: NDArray[np.int64]  # (n_outputs,): added to the sums
    # (n_outputs,): brings all sums to the same scale; zeros in the last layer
    multiplier: NDArray[np.int32]
    shift: int  # number of bits dropped after that; 0 in the last layer
    # (n_outputs,): factors of the sums of the last layer; zeros in the others
    scale: NDArray[np.float64]


def check_layers(layers: Sequence[IntegerLayer], n_inputs: int, n_outputs: int) -> None:
    """Raise an error for layers of a damaged file that do not fit together."""
    for index, layer in enumerate(layers):
        width = len(layer.weight)
        if layer.weight.shape != (width, n_inputs) or layer.weight.dtype != np.int8:
            raise ValueError(
                f"The weights of layer {index} must be int8 of shape ({width}, {n_inputs})."
            )
        if (
            layer.bias.dtype.kind != "i"
            or layer.multiplier.dtype.kind != "i"
            or layer.scale.dtype.kind != "f"
        ):
            raise ValueError(
                f"Layer {index} must have integer biases and multipliers, and scales of floats."
            )
        if index < len(layers) - 1 and not 0 < layer.shift < 64:
            raise ValueError(f"Layer {index} must have a shift from 1 to 63, got {layer.shift}.")
        if not layer.bias.shape == layer.multiplier.shape == layer.scale.shape == (width,):
            raise ValueError(f"Layer {index} must have {width} biases, multipliers and scales.")
        n_inputs = width
    if n_inputs != n_outputs:
        raise ValueError(f"The last layer must have {n_outputs} outputs, got {n_inputs}.")


def integer_scores(
    layers: Sequence[IntegerLayer], rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Compute the scores of rows."""
    activations = np.rint(rows * ONE)
    for layer in layers[:-1]:
        scaled = _sums(layer, activations) * layer.multiplier
        activations = np.maximum((scaled + (1 << (layer.shift - 1))) >> layer.shift, 0).astype(
            np.float64
        )
    return np.asarray(_sums(layers[-1], activations) * layers[-1].scale)


def _sums(layer: IntegerLayer, activations: NDArray[np.float64]) -> NDArray[np.int64]:
    # Sums of integers below 2**53 are exact in float64, in any order of summation.
    sums = activations @ layer.weight.T.astype(np.float64)
    return np.asarray(sums.astype(np.int64) + layer.bias)


def integer_layers(
    weights: Sequence[NDArray[np.float64]], biases: Sequence[NDArray[np.float64]]
) -> tuple[IntegerLayer, ...]:
    """Quantize linear layers, with ReLU after all but the last, to integers."""
    layers = []
    unit = 1 / ONE  # value of the integer 1
    lowest, highest = np.full(weights[0].shape[1], -ONE), np.full(weights[0].shape[1], ONE)
    for index, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
            raise ValueError(
                f"Layer {index} cannot be quantized: it has weights that are infinite or not a "
                "number."
            )
        scale = np.maximum(
            np.abs(weight).max(axis=1) / _MAX_WEIGHT, np.abs(bias) / (unit * _MAX_BIAS)
        )
        scale[scale == 0] = scale[scale > 0].min(initial=1.0)  # for rows of zeros
        rounded = np.rint(weight / scale[:, np.newaxis]).astype(np.int8)
        offset = np.rint(bias / (scale * unit)).astype(np.int64)
        wide = rounded.astype(np.int64)
        top = offset + np.maximum(wide * lowest, wide * highest).sum(axis=1)
        largest = np.abs(offset) + (np.abs(wide) * np.maximum(-lowest, highest)).sum(axis=1)
        if largest.max() >= 2**53:
            raise ValueError(
                f"Layer {index} cannot be quantized: with {weight.shape[1]} inputs its sums may "
                "overflow."
            )
        if index == len(weights) - 1:
            no_multiplier = np.zeros(len(bias), dtype=np.int32)
            layers.append(IntegerLayer(rounded, offset, no_multiplier, 0, scale * unit))
            break
        # The largest possible output comes near MAX_ACTIVATION, with a margin since multipliers are
        # rounded, by one in 2**20. Units that are never positive have the output 0 and do not
        # influence the scale.
        active_scale = np.where(top > 0, scale, 0.0)
        outputs, sums = (
            (top * active_scale).max() / (MAX_ACTIVATION - 64),
            (largest * active_scale).max() / _MAX_SCALED,
        )
        next_unit = unit * (max(outputs, sums, active_scale.max() / _MAX_STEP) or 1.0)
        factor = active_scale * unit / next_unit
        shift = _MAX_SHIFT
        while (
            max((largest * factor).max() / _MAX_PRODUCT, factor.max() / _MAX_MULTIPLIER)
            * 2.0**shift
            > 1
        ):
            shift -= 1
        multiplier = np.rint(factor * 2.0**shift).astype(np.int64)
        lowest = np.zeros(len(bias), dtype=np.int64)
        highest = np.maximum((top * multiplier + (1 << (shift - 1))) >> shift, 0)
        layers.append(
            IntegerLayer(rounded, offset, multiplier.astype(np.int32), shift, np.zeros(len(bias)))
        )
        unit = next_unit
    return tuple(layers)
