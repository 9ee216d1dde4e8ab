"""Zero tables with memory that is committed on first write."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sklearn_hashnlp.kernels.embeddings._tables import lazy_bytes


def lazy_zeros(
    shape: tuple[int, ...], *, dtype: torch.dtype | None = None, device: torch.device | str | None = None
) -> Tensor:
    """Return a tensor of zeros; on the CPU its memory is committed on first write."""
    # torch.zeros writes the zeros, which takes time and 800 MB for 200,000,000 parameters.
    device = torch.empty(0, device=device).device  # resolves the default device
    dtype = torch.get_default_dtype() if dtype is None else dtype
    n_values = math.prod(shape)
    if device.type != "cpu" or not n_values:
        return torch.zeros(shape, dtype=dtype, device=device)
    return torch.frombuffer(lazy_bytes(n_values * dtype.itemsize), dtype=dtype, count=n_values).reshape(shape)
