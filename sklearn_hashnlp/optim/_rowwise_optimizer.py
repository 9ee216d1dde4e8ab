"""What the optimisers of embedding tables share: rows in place, and the mean of the weights over many steps."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from inspect import unwrap
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import Tensor
from torch.autograd.graph import increment_version
from torch.optim import Optimizer

from sklearn_hashnlp.kernels._bags import RowGradients
from sklearn_hashnlp.kernels._row_updates import add_drift, are_ascending
from sklearn_hashnlp.nn._lazy_zeros import lazy_zeros

# Torch guards this method against its compiler, which is imported at the first call: two seconds for nobody's use.
_add_param_group = unwrap(Optimizer.add_param_group)


class RowwiseOptimizer(Optimizer):
    """An optimiser that touches only the rows of a table that have a gradient."""

    row_mark: ClassVar[str]  # the subclass's state that is not zero for each row of a table that ever took a step

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any], average_after: int | None) -> None:
        for name in ("lr", "eps"):
            if defaults[name] < 0:
                raise ValueError(f"{name} must not be negative, got {defaults[name]}.")
        if average_after is not None and average_after < 0:
            raise ValueError(f"average_after must be None or not negative, got {average_after}.")
        super().__init__(params, defaults | {"average_after": average_after, "steps": 0})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters, as every torch optimiser does.

        Parameters
        ----------
        param_group : dict
            ``params`` and the options that differ from the optimiser's own.
        """
        _add_param_group(self, param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients.

        Parameters
        ----------
        set_to_none : bool, default=True
            False fills dense gradients with zeros instead; sparse ones are forgotten all the same.
        """
        for group in self.param_groups:
            for parameter in group["params"]:
                if set_to_none or parameter.grad is None or parameter.grad.is_sparse:
                    parameter.grad = None
                else:
                    parameter.grad = torch.zeros_like(parameter.grad)

    @torch.no_grad()
    def step(
        self, closure: Callable[[], Any] | None = None, *, row_gradients: Mapping[Tensor, RowGradients] | None = None
    ) -> Any:
        """Take one step.

        Parameters
        ----------
        closure : callable, default=None
            Evaluates the model again and returns the loss.
        row_gradients : mapping of Tensor to RowGradients, default=None
            Gradients of tables on the CPU, in the place of their ``grad``.

        Returns
        -------
        object
            What ``closure`` returned.

        Raises
        ------
        ValueError
            If a gradient is sparse along more than the first axis, so that it has no rows.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            group["steps"] += 1
            for parameter in group["params"]:
                if row_gradients is not None and parameter in row_gradients:
                    rows, values = map(torch.from_numpy, row_gradients[parameter])
                    self._update_table(parameter, rows, values, group)
                elif parameter.grad is not None:
                    self._update(parameter, group)
        return loss

    @torch.no_grad()
    def load_average(self) -> bool:
        """Give every parameter the mean of what it was after each step since ``average_after``, and stop averaging.

        Returns
        -------
        bool
            Whether there was a mean to load.
        """
        found = False
        for group in self.param_groups:
            n_steps = 0 if group["average_after"] is None else group["steps"] - group["average_after"]
            for parameter in group["params"]:
                state = self.state[parameter]
                drift, marks = state.pop("drift", None), state.get(self.row_mark)
                if drift is None:
                    continue
                found = True
                if _is_compiled(parameter) and isinstance(marks, Tensor) and marks.shape == (drift.shape[0],):
                    table = parameter.detach().view(drift.shape).numpy()
                    add_drift(table, drift.numpy(), marks.numpy(), table.dtype.type(1 / n_steps))
                    increment_version(parameter)
                else:
                    parameter.add_(drift.view_as(parameter), alpha=1 / n_steps)
            group["average_after"] = None
        return found

    def _update(self, parameter: Tensor, group: dict[str, Any]) -> None:
        gradient = cast(Tensor, parameter.grad)
        if not gradient.is_sparse:
            state = self.state[parameter]
            age, drift = self._drift(parameter, state, group)
            step = self._step_of_elements(gradient, state, group)
            parameter.sub_(step)
            if age > 0:
                drift.view_as(parameter).add_(step, alpha=age)
            return
        if gradient.sparse_dim() != 1:
            raise ValueError(
                "A sparse gradient must be sparse along its first axis alone, got one of shape "
                f"{tuple(gradient.shape)} with {gradient.sparse_dim()} sparse axes."
            )
        gradient = coalesced(gradient)
        values = gradient.values().unsqueeze(-1).flatten(1)  # (rows, columns); a row of a 1-D parameter has one column
        self._update_table(parameter, gradient.indices()[0], values.contiguous(), group)

    def _update_table(self, parameter: Tensor, rows: Tensor, values: Tensor, group: dict[str, Any]) -> None:
        """Take the step of rows, each of which occurs once."""
        state = self.state[parameter]
        age, drift = self._drift(parameter, state, group)
        table = parameter.view(len(parameter), values.shape[1])
        if _is_compiled(table):
            self._update_rows(table, drift if age > 0 else table[:0], rows, values, state, group, max(age, 0))
            increment_version(parameter)  # torch does not see what kernels write
            return
        step = self._step_of_rows(table, rows, values, state, group)
        table.index_add_(0, rows, step, alpha=-1)
        if age > 0:
            drift.index_add_(0, rows, step, alpha=age)

    def _drift(self, parameter: Tensor, state: dict[str, Any], group: dict[str, Any]) -> tuple[int, Tensor]:
        # w_T - mean of w_(t+1) .. w_T is a sum over the steps, each times its age: no second table is averaged.
        age = -1 if group["average_after"] is None else group["steps"] - group["average_after"] - 1
        if age < 0:
            return age, parameter
        if "drift" not in state:
            state["drift"] = _zeros(
                (len(parameter), math.prod(parameter.shape[1:])) if parameter.dim() else (1, 1), parameter
            )
        return age, state["drift"]

    @abstractmethod
    def _step_of_elements(self, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> Tensor:
        """Return what a dense gradient subtracts, shaped as it is."""

    @abstractmethod
    def _step_of_rows(
        self, table: Tensor, rows: Tensor, values: Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> Tensor:
        """Return what the rows' gradients ``values`` subtract, shaped as they are."""

    @abstractmethod
    def _update_rows(
        self,
        table: Tensor,
        drift: Tensor,
        rows: Tensor,
        values: Tensor,
        state: dict[str, Any],
        group: dict[str, Any],
        age: int,
    ) -> None:
        """Take the step of rows in place, compiled; where ``drift`` has rows, add ``age`` times the step to it."""


def coalesced(gradient: Tensor) -> Tensor:
    """Return a gradient each of whose rows occurs once."""
    if not gradient.is_coalesced() and gradient.device.type == "cpu" and are_ascending(gradient._indices()[0].numpy()):
        gradient._coalesced_(True)
    return gradient.coalesce()


def numpy_type(table: Tensor) -> type[np.floating[Any]]:
    """Return numpy's scalar type of a table that kernels handle."""
    return np.float64 if table.dtype == torch.float64 else np.float32


def _is_compiled(table: Tensor) -> bool:
    return table.device.type == "cpu" and table.dtype in (torch.float32, torch.float64)


def _zeros(shape: tuple[int, ...], like: Tensor) -> Tensor:
    return lazy_zeros(shape, dtype=like.dtype, device=like.device)


def row_state(
    state: dict[str, Any],
    name: str,
    table: Tensor,  # (n_rows, n_columns)
    *,
    per_row: bool,
) -> Tensor:  # (n_rows,) or (n_rows, n_columns)
    """Return a tensor of a table's optimiser state, made of zeros at first."""
    if name not in state:
        state[name] = _zeros((len(table),) if per_row else tuple(table.shape), table)
    tensor: Tensor = state[name]
    return tensor
