"""Step sizes of a saved model: the accumulators of its optimizer, a byte for each row of a table."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from sklearn_hashnlp.nn._lazy_zeros import lazy_zeros
from sklearn_hashnlp.training._optimizers import OPTIMIZERS, OptimizerName
from sklearn_hashnlp.training._weights import pack_table, unpack_table

_ACCUMULATORS = ("sum", "square", "step", "steps")  # of the row-wise optimizers; Adam's mean starts at zero again
_ONE = 128  # the code of 1; each further code is a factor of the square root of 2, and 0 is 0


def step_sizes_to_arrays(
    module: nn.Module, optimizer: Optimizer, tables: Container[str]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the accumulators of row-wise AdaGrad or Adam as codes: of a matrix of a dense layer, one for each column.

    Without them the next training step would move every weight by the whole learning rate.
    """
    names = [name for name, kind in OPTIMIZERS.items() if type(optimizer) is kind]
    arrays: dict[str, NDArray[Any]] = {}
    for name, parameter in module.named_parameters() if names else ():
        state = optimizer.state.get(parameter, {})
        for key in _ACCUMULATORS:
            if key not in state:
                continue
            value = torch.as_tensor(state[key], dtype=torch.float32, device="cpu").detach()
            if name not in tables and value.dim() > 1 and value.shape == parameter.shape:
                value = value.mean(dim=0, keepdim=True)
            codes = _encode(value.numpy())
            full_name = f"{name}.{key}"
            arrays |= pack_table(full_name, codes, 0) if name in tables else {full_name: codes}
    if not arrays:
        return {}, {}
    return {"optimizer": names[0], "eps": [float(group["eps"]) for group in optimizer.param_groups]}, arrays


def step_sizes_from_arrays(
    module: nn.Module,
    values: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    make: Callable[[OptimizerName], Optimizer],
) -> Optimizer:
    """Make an optimizer by its name, and load what :func:`step_sizes_to_arrays` returned."""
    if values["optimizer"] not in OPTIMIZERS:
        raise ValueError(f"The optimizer must be one of {tuple(OPTIMIZERS)}, got {values['optimizer']!r}.")
    optimizer = make(values["optimizer"])
    for group, eps in zip(optimizer.param_groups, values["eps"], strict=True):
        group["eps"] = float(eps)
    for name, parameter in module.named_parameters():
        keys = {key[len(name) + 1 :].partition(".")[0] for key in arrays if key.startswith(f"{name}.")}
        state: dict[str, Any] = {
            key: _accumulator(f"{name}.{key}", arrays, parameter) for key in keys & set(_ACCUMULATORS)
        }
        if "step" in state:
            state |= {"mean": torch.zeros_like(parameter), "step": round(float(state["step"]))}
        if state:
            optimizer.state[parameter] = state
    return optimizer


def _accumulator(name: str, arrays: Mapping[str, NDArray[Any]], parameter: Tensor) -> Tensor:
    """Return one accumulator, on the device of its parameter."""
    stored = arrays.get(name)
    if stored is not None and stored.dtype != np.uint8:
        raise ValueError(f"The array {name!r} must be of uint8, it is of {stored.dtype}.")
    if stored is not None and stored.shape != (len(parameter),):
        if stored.shape != () and (parameter.dim() < 2 or stored.shape != (1, *parameter.shape[1:])):
            raise ValueError(f"The array {name!r} must have a code for each row or column, it has {stored.shape}.")
        values = torch.from_numpy(_decode(stored))
        return values if not values.dim() else values.expand_as(parameter).clone().to(parameter.device)
    codes = np.zeros(len(parameter), dtype=np.uint8)
    unpack_table(name, arrays, codes)
    rows = np.flatnonzero(codes)
    table = lazy_zeros((len(parameter),), dtype=parameter.dtype)
    table.numpy()[rows] = _decode(codes[rows])
    return table.to(parameter.device)


def _encode(values: NDArray[np.float32]) -> NDArray[np.uint8]:
    positive = values > 0
    logarithms = 2 * np.log2(values, where=positive, out=np.zeros_like(values))
    return np.where(positive, np.clip(np.rint(logarithms) + _ONE, 1, 255), 0).astype(np.uint8)


def _decode(codes: NDArray[np.uint8]) -> NDArray[np.float32]:
    return np.where(codes > 0, np.exp2((codes.astype(np.float32) - _ONE) / 2), 0).astype(np.float32)
