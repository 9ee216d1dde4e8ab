"""Whether ids, offsets and weights make up documents; the kernels that add them up do not look."""

from __future__ import annotations

import torch
from torch import Tensor

_OFFSETS = "offsets must begin with 0, not decrease, and end with the number of ids"


def check_bags(ids: Tensor, offsets: Tensor, weights: Tensor | None) -> None:
    """Refuse documents that would read memory of others, or silently lose ids or weights."""
    if ids.dim() != 1:
        raise ValueError(f"ids must have one axis, all documents end to end, got shape {tuple(ids.shape)}.")
    if offsets.dim() != 1 or not len(offsets):
        raise ValueError(f"offsets must have shape (n_documents + 1,), got {tuple(offsets.shape)}.")
    if offsets.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"offsets must be of int64 or int32, got {offsets.dtype}.")
    if weights is not None and weights.shape != ids.shape:
        raise ValueError(
            f"per_sample_weights must have one weight for each of the {len(ids)} ids, got shape {tuple(weights.shape)}."
        )
    if torch.compiler.is_compiling() or offsets.is_cuda:
        # To branch on a value would wait for the device, and no traced program can: the device asserts for itself.
        good = (offsets[0] == 0) & (offsets[-1] == len(ids)) & (offsets[1:] >= offsets[:-1]).all()
        torch._assert_async(good, f"{_OFFSETS}.")
    elif not offsets.is_meta:
        _check_values(offsets, len(ids))


def _check_values(offsets: Tensor, n_values: int) -> None:
    first, last = int(offsets[0]), int(offsets[-1])
    if first != 0:
        raise ValueError(f"{_OFFSETS}; the first is {first}.")
    if last != n_values:
        raise ValueError(f"{_OFFSETS}; for {n_values} ids the last is {last}.")
    falls = offsets[1:] < offsets[:-1]
    if falls.any():
        place = int(falls.nonzero()[0])
        raise ValueError(f"{_OFFSETS}; {int(offsets[place])} comes before {int(offsets[place + 1])}.")
