"""Zero tables whose memory is committed only where they are written."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sklearn_hashnlp.kernels.embeddings._tables import lazy_bytes


def lazy_zeros(
    shape: tuple[int, ...], *, dtype: torch.dtype | None = None, device: torch.device | str | None = None
) -> Tensor:
    """Return a tensor of zeros; on the CPU the system commits its memory only where it is written."""
    # torch.zeros writes the zeros, which for 200,000,000 parameters takes time and 800 MB.
    device = torch.empty(0, device=device).device  # which the user's default or a mode may decide
    dtype = torch.get_default_dtype() if dtype is None else dtype
    n_values = math.prod(shape)
    if device.type != "cpu" or not n_values:
        return torch.zeros(shape, dtype=dtype, device=device)
    return torch.frombuffer(lazy_bytes(n_values * dtype.itemsize), dtype=dtype, count=n_values).reshape(shape)
