"""Optimizers by name, and their state as arrays."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from sklearn_hashnlp.nn._lazy_zeros import lazy_zeros
from sklearn_hashnlp.optim import RowwiseAdagrad, RowwiseAdam, RowwiseSGD
from sklearn_hashnlp.persistence._precision import TABLE_VALUES
from sklearn_hashnlp.training._weights import pack_table, unpack_table

AdaptiveOptimizer: TypeAlias = Literal["adagrad", "adam"]
OptimizerName: TypeAlias = Literal["adagrad", "adam", "sgd"]

OPTIMIZERS: Final[dict[OptimizerName, Any]] = {"adagrad": RowwiseAdagrad, "adam": RowwiseAdam, "sgd": RowwiseSGD}
"""By the names that they have as a parameter."""

_OF_ONE_TRAINING = "average_offset"  # for the average of the weights, which is loaded when a training ends


def transfer_state(old: Optimizer, new: Optimizer) -> None:
    """Copy the state of an optimizer to another of its kind, which continues with it; another kind starts anew."""
    if type(old) is type(new) and old is not new:
        for parameter, state in old.state.items():
            new.state[parameter] = {key: value for key, value in state.items() if key != _OF_ONE_TRAINING}


def optimizer_to_arrays(
    module: nn.Module, optimizer: Optimizer, tables: Container[str]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return an optimizer's name and learning rates, and its state: of tables only the rows that were trained."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, parameter in module.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            if key == _OF_ONE_TRAINING:
                continue
            is_tensor = isinstance(value, Tensor)
            array = value.detach().cpu().contiguous().numpy() if is_tensor else np.array(value)
            full_name = f"{name}.{key}"
            arrays |= pack_table(full_name, array, 0.0) if is_tensor and name in tables else {full_name: array.copy()}
    names = [name for name, kind in OPTIMIZERS.items() if isinstance(optimizer, kind)]
    rates = [float(group["lr"]) for group in optimizer.param_groups]
    values = {"optimizer": names[0] if names else type(optimizer).__name__, "learning_rates": rates}
    return values | {"eps": [group.get("eps") for group in optimizer.param_groups]}, arrays


def optimizer_from_arrays(
    module: nn.Module,
    values: dict[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    make: Callable[[OptimizerName], Optimizer],
) -> Optimizer:
    """Make an optimizer by its name, and load the state that :func:`optimizer_to_arrays` returned."""
    if values["optimizer"] not in OPTIMIZERS:
        raise ValueError(f"The optimizer must be one of {tuple(OPTIMIZERS)}, got {values['optimizer']!r}.")
    optimizer = make(values["optimizer"])
    for group, rate, eps in zip(optimizer.param_groups, values["learning_rates"], values["eps"], strict=True):
        group["lr"], group["eps"] = rate, eps
    load_optimizer(module, optimizer, arrays)
    return optimizer


def load_optimizer(module: nn.Module, optimizer: Optimizer, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Load the state of an optimizer that has none yet."""
    for name, parameter in module.named_parameters():
        keys = {key[len(name) + 1 :].partition(".")[0] for key in arrays if key.startswith(f"{name}.")}
        for key in sorted(keys):
            value = _accumulator(f"{name}.{key}", arrays, parameter)
            if isinstance(value, Tensor):  # torch's own optimizers keep their count of steps on the CPU
                value = value if key == "step" else value.to(parameter.device)
            optimizer.state[parameter][key] = value


def _accumulator(name: str, arrays: Mapping[str, NDArray[Any]], parameter: Tensor) -> Any:
    if f"{name}{TABLE_VALUES}" in arrays:
        columns = arrays[f"{name}{TABLE_VALUES}"].shape[1:]
        # Whatever the axes of a parameter are, what is accumulated for its elements has two.
        if columns not in ((), (parameter[:1].numel(),), tuple(parameter.shape[1:])):
            raise ValueError(
                f"The array '{name}{TABLE_VALUES}' must have rows of one number or of as many as the parameter's."
            )
        table = lazy_zeros((len(parameter), *columns), dtype=parameter.dtype)
        unpack_table(name, arrays, table.numpy())
        return table
    array = arrays[name]
    if array.shape == ():  # a count of steps: a number of row-wise optimizers, a tensor of torch's own
        return torch.from_numpy(np.array(array)) if array.dtype == np.float32 else array.item()
    # A tree's weights, whose gradients are sparse, may have a number a row, and its biases have rows of one number.
    shapes = [tuple(parameter.shape), (len(parameter),), (len(parameter), 1)]
    if array.shape not in shapes:
        raise ValueError(f"The array {name!r} must have shape {shapes[0]}, it has {array.shape}.")
    return torch.from_numpy(np.array(array))
