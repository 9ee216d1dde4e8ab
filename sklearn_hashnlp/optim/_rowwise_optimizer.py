"""Base class of row-wise optimizers: in-place row updates, weight averaging, gradient clipping."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from inspect import unwrap
from typing import Any, ClassVar, TypeAlias, cast

import torch
from torch import Tensor
from torch.autograd.graph import increment_version
from torch.optim import Optimizer

from sklearn_hashnlp.kernels.embeddings._bags import RowGradients
from sklearn_hashnlp.kernels.embeddings._row_updates import (
    add_average_offset,
    are_ascending,
    decay_rows,
)
from sklearn_hashnlp.nn._tensors import lazy_zeros

# torch wraps these methods so that its compiler skips them; the first call would import the
# compiler (two seconds).
_add_param_group, _load_state_dict = (
    unwrap(Optimizer.add_param_group),
    unwrap(Optimizer.load_state_dict),
)

RowKernel: TypeAlias = tuple[Callable[..., None], list[Tensor], list[float]]
"""A compiled kernel, the tables of state that it updates, and its numbers."""


class RowwiseOptimizer(Optimizer):
    """An optimizer that only updates the rows of a table with a gradient."""

    state_names: ClassVar[frozenset[str]]  # names in the state of a parameter
    touched_key: ClassVar[str]  # name of a state that is nonzero for every updated row

    def __init__(
        self,
        params: Iterable[Any],
        defaults: dict[str, Any],
        weight_decay: float,
        average_after: int | None,
    ) -> None:
        defaults = defaults | {"weight_decay": weight_decay}
        for name in ("lr", "eps", "weight_decay"):
            if name in defaults and defaults[name] < 0:
                raise ValueError(f"{name} must not be negative, got {defaults[name]}.")
        if average_after is not None and average_after < 0:
            raise ValueError(f"average_after must be None or not negative, got {average_after}.")
        super().__init__(params, defaults | {"average_after": average_after, "steps": 0})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a parameter group: ``params`` and the options that differ from the defaults."""
        _add_param_group(self, param_group)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state of an optimizer of the same class."""
        missing = {
            name
            for group in state_dict["param_groups"]
            for name in self.defaults.keys() - group.keys()
        }
        unknown = {
            name for state in state_dict["state"].values() for name in state
        } - self.state_names
        if missing or unknown:
            errors = [f"{', '.join(sorted(missing))} is missing"] if missing else []
            errors += [f"{', '.join(sorted(unknown))} is unknown"] if unknown else []
            raise ValueError(
                f"{type(self).__name__}: the state is of another optimizer: {'; '.join(errors)}. "
                "Load it into an optimizer of its own class, or start without a state."
            )
        _load_state_dict(self, state_dict)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset all gradients; ``set_to_none=False`` fills dense gradients with zeros instead."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if set_to_none or parameter.grad is None or parameter.grad.is_sparse:
                    parameter.grad = None
                else:
                    parameter.grad = torch.zeros_like(parameter.grad)

    @torch.no_grad()
    def step(
        self,
        closure: Callable[[], Any] | None = None,
        *,
        row_gradients: Mapping[Tensor, RowGradients] | None = None,
    ) -> Any:
        """Take a step, and return the result of ``closure``, which evaluates the model again.

        ``row_gradients`` are gradients of tables on the CPU, used instead of their ``grad``.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            group["steps"] += 1
            for parameter in group["params"]:
                if not parameter.numel():
                    continue
                if row_gradients is not None and parameter in row_gradients:
                    rows, gradients = map(torch.from_numpy, row_gradients[parameter])
                    self._update_table(parameter, rows, gradients, group)
                elif parameter.grad is not None:
                    self._update(parameter, group)
        return loss

    @torch.no_grad()
    def load_average(self) -> bool:
        """Set every parameter to its mean over the steps since ``average_after``; stop averaging.

        Return whether there was a mean to load.
        """
        loaded = False
        for group in self.param_groups:
            n_steps = (
                0 if group["average_after"] is None else group["steps"] - group["average_after"]
            )
            for parameter in group["params"]:
                state = self.state[parameter]
                average_offset, touched = (
                    state.pop("average_offset", None),
                    state.get(self.touched_key),
                )
                if average_offset is None:
                    continue
                loaded = True
                is_table = isinstance(touched, Tensor) and touched.shape == (
                    average_offset.shape[0],
                )
                if _is_compiled(parameter) and is_table:
                    table = parameter.detach().view(average_offset.shape).numpy()
                    add_average_offset(table, average_offset.numpy(), touched.numpy(), 1 / n_steps)
                    increment_version(parameter)
                else:
                    parameter.add_(average_offset.view_as(parameter), alpha=1 / n_steps)
            group["average_after"] = None
        return loaded

    def _update(self, parameter: Tensor, group: dict[str, Any]) -> None:
        gradient = cast(Tensor, parameter.grad)
        state = self.state[parameter]
        if not gradient.is_sparse and self._has_row_state(state, parameter):
            rows = torch.arange(len(parameter), device=parameter.device)
            self._update_table(
                parameter, rows, gradient.unsqueeze(-1).flatten(1).contiguous(), group
            )
            return
        if not gradient.is_sparse:
            steps_averaged, average_offset = self._average_state(parameter, state, group)
            update = self._dense_update(gradient, state, group)
            if group["weight_decay"]:
                update.add_(parameter, alpha=group["lr"] * group["weight_decay"])
            parameter.sub_(update)
            if steps_averaged > 0:
                average_offset.view_as(parameter).add_(update, alpha=steps_averaged)
            return
        if gradient.sparse_dim() != 1:
            raise ValueError(
                "A sparse gradient must be sparse along its first axis alone, got one of shape "
                f"{tuple(gradient.shape)} with {gradient.sparse_dim()} sparse axes."
            )
        gradient = coalesced(gradient)
        # (rows, columns); a row of a 1-D parameter has one column
        values = gradient.values().unsqueeze(-1).flatten(1)
        self._update_table(parameter, gradient.indices()[0], values.contiguous(), group)

    def _update_table(
        self, parameter: Tensor, rows: Tensor, gradients: Tensor, group: dict[str, Any]
    ) -> None:
        """Update rows without duplicates."""
        state = self.state[parameter]
        self._to_row_state(state, parameter)
        steps_averaged, average_offset = self._average_state(parameter, state, group)
        table = parameter.view(len(parameter), gradients.shape[1])
        decay = group["lr"] * group["weight_decay"]
        if _is_compiled(table):
            offset = average_offset if steps_averaged > 0 else table[:0]
            steps = max(steps_averaged, 0)
            if decay:
                decay_rows(table.numpy(), offset.numpy(), rows.numpy(), decay, steps)
            kernel, tables, numbers = self._row_kernel(table, state, group)
            arrays = [tensor.numpy() for tensor in (table, *tables, offset, rows, gradients)]
            kernel(*arrays, *numbers, steps)
            increment_version(parameter)  # torch does not notice writes of kernels
            return
        updates = self._row_updates(table, rows, gradients, state, group)
        if decay:
            updates.add_(table[rows], alpha=decay)
        table.index_add_(0, rows, updates, alpha=-1)
        if steps_averaged > 0:
            average_offset.index_add_(0, rows, updates, alpha=steps_averaged)

    def _average_state(
        self, parameter: Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> tuple[int, Tensor]:
        """Return the number of averaged steps, -1 before averaging, and the offset of the mean."""
        # The last weights minus their mean since step t are a sum over the updates, each times the
        # number of averaged steps before it. So a step only changes the rows that it updates, and
        # no second table is averaged.
        steps_averaged = (
            -1 if group["average_after"] is None else group["steps"] - group["average_after"] - 1
        )
        if steps_averaged < 0:
            return steps_averaged, parameter
        if "average_offset" not in state:
            shape = (len(parameter), math.prod(parameter.shape[1:])) if parameter.dim() else (1, 1)
            state["average_offset"] = _zeros(shape, parameter)
        return steps_averaged, state["average_offset"]

    @abstractmethod
    def _dense_update(
        self, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> Tensor:
        """Return the update that a dense gradient subtracts from its parameter."""

    def _has_row_state(self, state: dict[str, Any], parameter: Tensor) -> bool:
        return "steps" in state

    @abstractmethod
    def _to_row_state(self, state: dict[str, Any], parameter: Tensor) -> None:
        """Convert any state of dense gradients to one after as many gradients of all rows."""

    @abstractmethod
    def _row_updates(
        self,
        table: Tensor,  # (n_rows, n_columns)
        rows: Tensor,  # (n,)
        gradients: Tensor,  # (n, n_columns)
        state: dict[str, Any],
        group: dict[str, Any],
    ) -> Tensor:  # (n, n_columns)
        """Return the updates that are subtracted from rows."""

    @abstractmethod
    def _row_kernel(self, table: Tensor, state: dict[str, Any], group: dict[str, Any]) -> RowKernel:
        """Return the kernel that updates rows, and adds ``steps`` times that to average offsets."""


def coalesced(gradient: Tensor) -> Tensor:
    """Return a gradient without duplicate rows."""
    if (
        not gradient.is_coalesced()
        and gradient.device.type == "cpu"
        and are_ascending(gradient._indices()[0].numpy())
    ):
        gradient._coalesced_(True)
    return gradient.coalesce()


def row_state(
    state: dict[str, Any],
    name: str,
    table: Tensor,  # (n_rows, n_columns)
    *,
    per_row: bool,
) -> Tensor:  # (n_rows,) or (n_rows, n_columns)
    """Return a tensor of the optimizer state of a table, initially zero."""
    if name not in state:
        state[name] = _zeros((len(table),) if per_row else tuple(table.shape), table)
    tensor: Tensor = state[name]
    return tensor


def _is_compiled(table: Tensor) -> bool:
    return (
        table.device.type == "cpu"
        and table.dtype in (torch.float32, torch.float64)
        and table.is_contiguous()
    )


def _zeros(shape: tuple[int, ...], like: Tensor) -> Tensor:
    return lazy_zeros(shape, dtype=like.dtype, device=like.device)


_EPS = 1e-6  # as in torch


@torch.no_grad()
def clip_grad_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float) -> Tensor:
    """Scale all gradients in place so that their total norm is at most ``max_norm``.

    :func:`torch.nn.utils.clip_grad_norm_` does not support sparse gradients. Here a row that occurs
    several times in a sparse gradient counts once, with the sum of its occurrences: the norm is
    that of the dense gradient [1]_.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensor
        A parameter or parameters; parameters without a gradient are ignored.
    max_norm : float
        Maximum norm.

    Returns
    -------
    Tensor of shape ()
        The norm before clipping.

    References
    ----------
    .. [1] Pascanu, Mikolov & Bengio (2013). On the difficulty of training recurrent neural
           networks. ICML, arXiv:1211.5063, algorithm 1.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.optim import clip_grad_norm_
    >>> embedding = torch.nn.Embedding(100, 1, sparse=True)
    >>> embedding(torch.tensor([7, 7, 9])).sum().backward()
    >>> clip_grad_norm_(embedding.parameters(), max_norm=1.0)  # of 2 and 1
    tensor(2.2361)
    >>> embedding.weight.grad.to_dense().norm()
    tensor(1.0000)
    """
    values = []
    for parameter in [parameters] if isinstance(parameters, Tensor) else parameters:
        if parameter.grad is None:
            continue
        if parameter.grad.is_sparse:
            parameter.grad = coalesced(parameter.grad)
            values.append(parameter.grad._values())
        else:
            values.append(parameter.grad)
    if not values:
        return torch.tensor(0.0)
    device = values[0].device
    norm: Tensor = torch.stack(
        [torch.linalg.vector_norm(part).to(device) for part in values]
    ).norm()
    factor = (max_norm / (norm + _EPS)).clamp(max=1.0)
    for part in values:
        part.mul_(factor.to(part.device))
    return norm
