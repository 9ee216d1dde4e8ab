"""Optimizers by name, and their state."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from sklearn_hashnlp.optim import RowwiseAdagrad, RowwiseAdam, RowwiseSGD
from sklearn_hashnlp.training._optimizer_state import OptimizerName, OptimizerState, Packed, unpack_parameters

OPTIMIZERS: Final[dict[OptimizerName, Any]] = {"adagrad": RowwiseAdagrad, "adam": RowwiseAdam, "sgd": RowwiseSGD}

_OF_ONE_TRAINING = "average_offset"  # state of weight averaging, which ends with a training


def transfer_state(old: Optimizer, new: Optimizer) -> None:
    """Copy the state of an optimizer to another one of the same class; other classes start without state."""
    if type(old) is type(new) and old is not new:
        for parameter, state in old.state.items():
            new.state[parameter] = {key: value for key, value in state.items() if key != _OF_ONE_TRAINING}


def shapes_of(module: nn.Module) -> dict[str, tuple[int, ...]]:
    """Return the shape of each parameter by its name."""
    return {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}


def read_state(module: nn.Module, optimizer: Optimizer) -> OptimizerState:
    """Return the state of an optimizer; on the CPU its arrays share memory."""
    parameters: dict[str, dict[str, Any]] = {}
    for name, parameter in module.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            if key != _OF_ONE_TRAINING:
                array = value.detach().cpu().contiguous().numpy() if isinstance(value, Tensor) else value
                parameters.setdefault(name, {})[key] = array
    names = [name for name, kind in OPTIMIZERS.items() if isinstance(optimizer, kind)]
    return OptimizerState(
        names[0] if names else type(optimizer).__name__,
        [group.get("eps") for group in optimizer.param_groups],
        parameters,
        [float(group["lr"]) for group in optimizer.param_groups],
    )


def make_with_state(module: nn.Module, state: OptimizerState, make: Callable[[OptimizerName], Optimizer]) -> Optimizer:
    """Build an optimizer by its name, and load its state."""
    optimizer = make(state.optimizer)  # type: ignore[arg-type]  # checked when it was read
    for group, eps in zip(optimizer.param_groups, state.eps, strict=True):
        group["eps"] = eps
    if state.learning_rates is not None:
        for group, rate in zip(optimizer.param_groups, state.learning_rates, strict=True):
            group["lr"] = rate
    write_state(module, optimizer, state.parameters)
    return optimizer


def write_state(module: nn.Module, optimizer: Optimizer, parameters: Mapping[str, Mapping[str, Any]]) -> None:
    """Load the state of a new optimizer; on the CPU its tensors share memory with the arrays."""
    for name, parameter in module.named_parameters():
        for key, value in parameters.get(name, {}).items():
            if isinstance(value, np.ndarray):  # torch's optimizers keep their step count on the CPU
                value = torch.from_numpy(value)
                value = value if key == "step" else value.to(parameter.device)
            optimizer.state[parameter][key] = value


def optimizer_to_arrays(module: nn.Module, optimizer: Optimizer, tables: Container[str]) -> Packed:
    """Return an optimizer's name, learning rates and state, with the trained rows of tables only."""
    return read_state(module, optimizer).to_training_state(tables)


def optimizer_from_arrays(
    module: nn.Module,
    values: dict[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    make: Callable[[OptimizerName], Optimizer],
) -> Optimizer:
    """Build an optimizer from the result of :func:`optimizer_to_arrays`."""
    return make_with_state(module, OptimizerState.from_training_state(shapes_of(module), values, arrays), make)


def load_optimizer(module: nn.Module, optimizer: Optimizer, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Load packed arrays into a new optimizer."""
    write_state(module, optimizer, unpack_parameters(shapes_of(module), arrays))
