"""Optimizers by name, their state, and the restoring of weights that their steps changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from skorch.callbacks import Callback
from torch import Tensor, nn
from torch.optim import Optimizer

from sklearn_hashnlp.optim import RowwiseAdagrad, RowwiseAdam, RowwiseSGD
from sklearn_hashnlp.optim._rowwise_optimizer import coalesced
from sklearn_hashnlp.training._optimizer_state import (
    OptimizerName,
    OptimizerState,
    unpack_parameters,
)

OPTIMIZERS: Final[dict[OptimizerName, Any]] = {
    "adagrad": RowwiseAdagrad,
    "adam": RowwiseAdam,
    "sgd": RowwiseSGD,
}

_OF_ONE_TRAINING = "average_offset"  # state of weight averaging, which ends with a training


def transfer_state(old: Optimizer, new: Optimizer) -> None:
    """Copy the state of an optimizer to another of the same class; others start without state."""
    if type(old) is type(new):
        for parameter, state in old.state.items():
            new.state[parameter] = {
                key: value for key, value in state.items() if key != _OF_ONE_TRAINING
            }


def name_of(optimizer: Optimizer) -> str:
    """Return the name of an optimizer, or its class."""
    names = (name for name, kind in OPTIMIZERS.items() if isinstance(optimizer, kind))
    return next(names, type(optimizer).__name__)


def shapes_of(module: nn.Module) -> dict[str, tuple[int, ...]]:
    """Return the shape of each parameter by its name."""
    return {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}


def read_state(module: nn.Module, optimizer: Optimizer) -> OptimizerState:
    """Return the state of an optimizer; on the CPU its arrays share memory."""
    parameters: dict[str, dict[str, Any]] = {}
    for name, parameter in module.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            if key != _OF_ONE_TRAINING:
                array = (
                    value.detach().cpu().contiguous().numpy()
                    if isinstance(value, Tensor)
                    else value
                )
                parameters.setdefault(name, {})[key] = array
    return OptimizerState(
        name_of(optimizer),
        [group.get("eps") for group in optimizer.param_groups],
        parameters,
        [float(group["lr"]) for group in optimizer.param_groups],
    )


def load_state(module: nn.Module, optimizer: Optimizer, state: OptimizerState) -> None:
    """Load the result of :func:`read_state` into a new optimizer of that name."""
    for key, values in (("eps", state.eps), ("lr", state.learning_rates)):
        if values is not None:
            for group, value in zip(optimizer.param_groups, values, strict=True):
                group[key] = value
    write_state(module, optimizer, state.parameters)


def write_state(
    module: nn.Module, optimizer: Optimizer, parameters: Mapping[str, Mapping[str, Any]]
) -> None:
    """Load the state of a new optimizer; on the CPU its tensors share memory with the arrays."""
    for name, parameter in module.named_parameters():
        for key, value in parameters.get(name, {}).items():
            if isinstance(value, np.ndarray):  # torch's optimizers keep their step count on the CPU
                value = torch.from_numpy(value)
                value = value if key == "step" else value.to(parameter.device)
            optimizer.state[parameter][key] = value


def load_optimizer(
    module: nn.Module, optimizer: Optimizer, arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Load packed arrays into a new optimizer."""
    write_state(module, optimizer, unpack_parameters(shapes_of(module), arrays))


class UndoLog:
    """The previous values of a table's changed rows."""

    def __init__(self, table: Tensor) -> None:
        self.table = table
        # The system allocates its memory when it is written.
        self._seen: NDArray[np.bool_] = np.zeros(len(table), dtype=np.bool_)
        self._entries: list[tuple[Tensor, Tensor]] = []

    def note(self, rows: Tensor) -> None:
        """Copy rows before they are written."""
        indices = rows.cpu().numpy()
        new = indices[~self._seen[indices]]
        if len(new):
            self._seen[new] = True
            written = torch.from_numpy(new).to(self.table.device)
            self._entries.append((written, self.table.detach()[written]))

    def clear(self) -> None:
        """Make the current values those to restore."""
        for rows, _ in self._entries:
            self._seen[rows.cpu().numpy()] = False
        self._entries = []

    def undo(self) -> None:
        """Restore the previous values."""
        with torch.no_grad():
            for rows, values in self._entries:
                self.table[rows] = values
        self.clear()


class UndoSteps(Callback):  # type: ignore[misc]  # skorch has no types
    """Log the weights and the optimizer state before each step."""

    def __init__(self) -> None:
        self._logs: dict[int, UndoLog] = {}

    def on_grad_computed(self, net: Any, **_: Any) -> None:
        """Log the rows that have a gradient."""
        for parameter in net.module_.parameters():
            if parameter.grad is None:
                continue
            if parameter.grad.is_sparse:
                parameter.grad = coalesced(parameter.grad)  # required by the optimizer as well
                rows = parameter.grad.indices()[0]
            else:
                rows = torch.arange(len(parameter))
            for tensor in (parameter, *net.optimizer_.state[parameter].values()):
                if isinstance(tensor, Tensor):
                    self._logs.setdefault(id(tensor), UndoLog(tensor)).note(rows)

    def undo(self) -> None:
        """Restore the previous values."""
        for log in self._logs.values():
            log.undo()


@contextmanager
def undone_on_error(net: Any) -> Iterator[UndoSteps]:
    """Undo further training of a net on an error; the callback must be passed to the training."""
    steps, before = UndoSteps(), (net.optimizer_, net.was_trained)
    try:
        yield steps
    except BaseException:
        steps.undo()
        net.optimizer_, net.was_trained = before
        raise
