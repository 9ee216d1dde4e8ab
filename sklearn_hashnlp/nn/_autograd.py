"""Conditions for compiled kernels in autograd functions, and sparse gradients."""

from __future__ import annotations

import torch
from torch import Tensor


def is_traced() -> bool:
    """Return whether torch compiles, exports, traces or transforms a function: shapes cannot depend on values."""
    return torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active() or torch._C._is_tracing()


def is_readable(tensor: Tensor) -> bool:
    """Return whether the values of a tensor are available without synchronization: eager torch on the CPU."""
    return (
        tensor.device.type == "cpu"
        and not is_traced()
        and type(tensor.data) is Tensor  # last, as functorch transforms forbid `data`
    )


def kernels_apply(table: Tensor) -> bool:
    """Return whether compiled kernels can read a table: eager torch on the CPU, in float32 or float64."""
    return table.dtype in (torch.float32, torch.float64) and is_readable(table)


def sparse_gradient(
    rows: Tensor,  # (n,): sorted
    values: Tensor,  # (n, ...)
    shape: tuple[int, ...],
) -> Tensor:
    """Return the gradient of a table as a coalesced sparse tensor."""
    return torch.sparse_coo_tensor(
        rows.unsqueeze(0), values, shape, device="cpu", is_coalesced=True, check_invariants=False
    )
