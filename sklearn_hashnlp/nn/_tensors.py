"""Tensors on the CPU: conditions for kernels, gradients of rows, and lazily committed zeros."""

from __future__ import annotations

import math
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sklearn_hashnlp._posix import lazy_bytes


def is_traced() -> bool:
    """Return whether torch compiles, traces or transforms code: shapes cannot depend on values."""
    return (
        torch.compiler.is_compiling()
        or torch._C._are_functorch_transforms_active()
        or torch._C._is_tracing()
    )


def is_readable(tensor: Tensor) -> bool:
    """Return whether a tensor's values can be read without synchronization: eager, on the CPU."""
    return (
        tensor.device.type == "cpu"
        and not is_traced()
        and type(tensor.data) is Tensor  # last, as functorch transforms forbid `data`
    )


def kernels_apply(table: Tensor) -> bool:
    """Return whether kernels can read a table: eager torch on the CPU, in float32 or float64."""
    return table.dtype in (torch.float32, torch.float64) and is_readable(table)


def row_gradient(
    rows: NDArray[Any], values: NDArray[Any], shape: tuple[int, ...], *, sparse: bool = True
) -> Tensor:
    """Return a table's gradient from the gradients of ascending rows: coalesced, or dense."""
    indices, gradients = torch.from_numpy(rows), torch.from_numpy(values)
    if not sparse:
        return torch.zeros(shape, dtype=gradients.dtype, device="cpu").index_copy_(
            0, indices, gradients
        )
    return torch.sparse_coo_tensor(
        indices.unsqueeze(0),
        gradients,
        shape,
        device="cpu",
        is_coalesced=True,
        check_invariants=False,
    )


class CheckedState(nn.Module):
    """A module that checks the extra state before loading weights; torch sets it last."""

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        if (state := state_dict.get(f"{prefix}_extra_state")) is not None:
            self.set_extra_state(state)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


def lazy_zeros(
    shape: tuple[int, ...],
    *,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """Return a tensor of zeros; on the CPU its memory is committed on first write."""
    # torch.zeros writes the zeros, which takes time and 800 MB for 200,000,000 parameters.
    device = torch.empty(0, device=device).device  # resolves the default device
    dtype = torch.get_default_dtype() if dtype is None else dtype
    n_values = math.prod(shape)
    if device.type != "cpu" or not n_values:
        return torch.zeros(shape, dtype=dtype, device=device)
    return torch.frombuffer(
        lazy_bytes(n_values * dtype.itemsize), dtype=dtype, count=n_values
    ).reshape(shape)
