"""Zero tables whose memory is committed only where they are written."""

from __future__ import annotations

import math
import mmap
from contextlib import suppress

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

# Up to so many bytes huge pages make random rows faster; of a larger table each row written would commit 2 MB.
_MAX_HUGE_PAGES = 2**26


def lazy_zeros(
    shape: tuple[int, ...], *, dtype: torch.dtype | None = None, device: torch.device | str | None = None
) -> Tensor:
    """Return a tensor of zeros; on the CPU the system commits its memory only where it is written."""
    # torch.zeros writes the zeros, which for 200,000,000 parameters takes time and 800 MB. numpy.zeros does not, but
    # asks for huge pages whatever the size.
    device = torch.empty(0, device=device).device  # which the user's default or a mode may decide
    dtype = torch.get_default_dtype() if dtype is None else dtype
    n_values = math.prod(shape)
    if device.type != "cpu" or not n_values:
        return torch.zeros(shape, dtype=dtype, device=device)
    return torch.frombuffer(_zero_bytes(n_values * dtype.itemsize), dtype=dtype, count=n_values).reshape(shape)


def _zero_bytes(n_bytes: int) -> mmap.mmap | NDArray[np.uint8]:
    try:
        if not hasattr(mmap, "MAP_ANONYMOUS"):  # Windows, where pages of zeros are not huge
            return np.zeros(n_bytes, dtype=np.uint8)
        # Private, so that the writes of a forked process do not reach its parent.
        pages = mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (MemoryError, OSError, OverflowError, ValueError) as error:
        raise MemoryError(f"A table of {n_bytes} bytes does not fit into memory.") from error
    with suppress(AttributeError, OSError):  # some systems have no huge pages
        pages.madvise(mmap.MADV_HUGEPAGE if n_bytes <= _MAX_HUGE_PAGES else mmap.MADV_NOHUGEPAGE)
    return pages
