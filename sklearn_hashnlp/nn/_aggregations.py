"""How the k component vectors of one feature become its vector."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def sum_parts(
    parts: Tensor,  # (..., k, d)
) -> Tensor:  # (..., d)
    """Add the components."""
    return parts.sum(dim=-2)


def concat_parts(
    parts: Tensor,  # (..., k, d)
) -> Tensor:  # (..., k * d)
    """Put the components side by side."""
    return parts.flatten(start_dim=-2)


def median_parts(
    parts: Tensor,  # (..., k, d)
) -> Tensor:  # (..., d)
    """Take the median of the components, column by column."""
    ordered = parts.sort(dim=-2).values
    k = parts.shape[-2]
    middle = ordered[..., (k - 1) // 2, :]
    return middle if k % 2 else (middle + ordered[..., k // 2, :]) / 2


AGGREGATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "sum": sum_parts,
    "concat": concat_parts,
    "median": median_parts,
}


def segment_sum(
    values: Tensor,  # (n_values, ...)
    offsets: Tensor,  # (n_segments + 1,)
) -> Tensor:  # (n_segments, ...)
    """Add up rows of values, segment by segment, in their order."""
    return torch.segment_reduce(values, "sum", offsets=offsets, axis=0, unsafe=True, initial=0)
