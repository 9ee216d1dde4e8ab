"""How the k component vectors of one feature become its vector."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def sum_parts(parts: Tensor) -> Tensor:
    """Add the components.

    Parameters
    ----------
    parts : Tensor of shape (..., k, d)
        Weighted components.

    Returns
    -------
    Tensor of shape (..., d)
        Their sum.
    """
    return parts.sum(dim=-2)


def concat_parts(parts: Tensor) -> Tensor:
    """Put the components side by side.

    Parameters
    ----------
    parts : Tensor of shape (..., k, d)
        Weighted components.

    Returns
    -------
    Tensor of shape (..., k * d)
        First component first.
    """
    return parts.flatten(start_dim=-2)


def median_parts(parts: Tensor) -> Tensor:
    """Take the median of the components, column by column.

    For an even number it is the mean of the two middle values; ``torch.median`` would take the lower of them.

    Parameters
    ----------
    parts : Tensor of shape (..., k, d)
        Weighted components.

    Returns
    -------
    Tensor of shape (..., d)
        Their median.

    Examples
    --------
    >>> import torch
    >>> median_parts(torch.tensor([[1.0], [2.0], [9.0], [4.0]]))
    tensor([3.])
    """
    ordered = parts.sort(dim=-2).values
    k = parts.shape[-2]
    middle = ordered[..., (k - 1) // 2, :]
    return middle if k % 2 else (middle + ordered[..., k // 2, :]) / 2


AGGREGATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "sum": sum_parts,
    "concat": concat_parts,
    "median": median_parts,
}


def segment_sum(values: Tensor, offsets: Tensor) -> Tensor:
    """Add up rows of values, segment by segment, in their order.

    Parameters
    ----------
    values : Tensor of shape (n_values, ...)
        The rows of all segments, end to end.
    offsets : Tensor of shape (n_segments + 1,), dtype int64
        Where each segment begins, and after the last where it ends.

    Returns
    -------
    Tensor of shape (n_segments, ...)
        The sums; zero for an empty segment.

    Examples
    --------
    >>> import torch
    >>> segment_sum(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0, 2, 2, 3]))
    tensor([3., 0., 4.])
    """
    return torch.segment_reduce(values, "sum", offsets=offsets, axis=0, unsafe=True, initial=0)
