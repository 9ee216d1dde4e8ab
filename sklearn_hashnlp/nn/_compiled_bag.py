"""Forward and backward pass of :class:`HashEmbeddingBag` by compiled kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sklearn_hashnlp._constraints import check_dtype, check_shape
from sklearn_hashnlp._threads import run_in_background
from sklearn_hashnlp.kernels.embeddings._bags import (
    BagLayout,
    bag_gradients,
    embed_bags,
    group_bags,
)
from sklearn_hashnlp.nn._hashing import INTEGERS
from sklearn_hashnlp.nn._tensors import kernels_apply, row_gradient

_MIN_BACKGROUND = 2**11  # minimum number of values for another thread


class CompiledBag(torch.autograd.Function):
    """Sums of hash embeddings, with coalesced sparse gradients of both tables."""

    # torch's own backward pass creates a gradient row for each value of each document, sorts and
    # sums them. Here the gradient of each row of a table is summed once.

    @staticmethod
    def forward(
        ctx: Any,
        pool: Tensor,  # (n_buckets, d)
        importance: Tensor | None,  # (n_embeddings, k)
        counts: Tensor,  # (n_values,)
        rows: NDArray[np.int32],  # (n_values,): of the importance table
        slots: NDArray[np.int32],  # (n_values, k): of the pool
        indptr: NDArray[np.int64],  # (n_documents + 1,)
        layout: BagLayout,
        needs_backward: bool,
    ) -> Tensor:  # (n_documents, output_dim)
        """Embed documents."""
        n_slots, n_rows = len(pool), len(pool if importance is None else importance)
        grouping = (group_bags, rows, slots, indptr, n_rows, n_slots)
        # Only the backward pass needs the values in groups: they are grouped during the forward
        # pass.
        groups = (
            run_in_background(*grouping)
            if needs_backward and slots.size > _MIN_BACKGROUND
            else None
        )
        bags = embed_bags(
            rows,
            slots,
            indptr,
            counts.detach().contiguous().numpy(),
            pool.detach().numpy(),
            None if importance is None else importance.detach().numpy(),
            layout,
        )
        ctx.groups = (lambda: group_bags(*grouping[1:])) if groups is None else groups.result
        # Saved this way, torch detects changes before the backward pass.
        ctx.save_for_backward(pool, importance, counts)
        ctx.bags, ctx.layout = bags, layout
        return torch.from_numpy(bags.documents)

    @staticmethod
    def backward(
        ctx: Any,
        gradient: Tensor,  # (n_documents, output_dim)
    ) -> tuple[Tensor | None, ...]:
        """Compute the gradients of both tables."""
        # torch's once_differentiable does not raise if `gradient` is a constant
        if torch.is_grad_enabled():
            raise RuntimeError(
                "Hash embeddings with sparse=True have first derivatives only, but "
                "create_graph=True needs more. Set create_graph=False, or sparse=False."
            )
        pool, importance, counts = ctx.saved_tensors
        d_pool, d_importance = bag_gradients(
            gradient.detach().contiguous().numpy(),
            ctx.bags,
            counts.contiguous().numpy(),
            pool.detach().numpy(),
            None if importance is None else importance.detach().numpy(),
            ctx.layout,
            ctx.groups(),
        )
        needed = ctx.needs_input_grad
        return (
            row_gradient(*d_pool, pool.shape) if needed[0] else None,
            row_gradient(*d_importance, importance.shape)
            if needed[1] and d_importance is not None
            else None,
            *[None] * 6,
        )


def runs_compiled(pool: Tensor, ids: Tensor, counts: Tensor) -> bool:
    """Return whether :class:`CompiledBag` can compute a bag; it has no gradient of the counts."""
    return (
        ids.dtype in INTEGERS
        and counts.dtype == pool.dtype
        and counts.device.type == "cpu"
        and not (counts.requires_grad and torch.is_grad_enabled())
        and kernels_apply(pool)
    )


_OFFSETS = "offsets must start with 0, not decrease, and end with the number of ids"


def check_bags(caller: str, ids: Tensor, offsets: Tensor, weights: Tensor | None) -> None:
    """Check documents: invalid ones could read out of bounds, or silently lose ids or weights."""
    check_shape(caller, "ids", ids, "n_values", note=", all documents concatenated")
    check_shape(caller, "offsets", offsets, "n_documents + 1")
    check_dtype(caller, "offsets", offsets, torch.int64, torch.int32)
    if weights is not None:
        check_shape(caller, "per_sample_weights", weights, len(ids), note=", a weight for each id")
    if torch.compiler.is_compiling() or offsets.is_cuda:
        # Reading the values would wait for the device and cannot be compiled, so the assertion runs
        # on the device.
        valid = (offsets[0] == 0) & (offsets[-1] == len(ids)) & (offsets[1:] >= offsets[:-1]).all()
        torch._assert_async(valid, f"{_OFFSETS}.")
    elif not offsets.is_meta:
        first, last = (int(offsets[0]), int(offsets[-1])) if len(offsets) else (None, None)
        if first != 0:
            raise ValueError(f"{_OFFSETS}; the first is {first}.")
        if last != len(ids):
            raise ValueError(f"{_OFFSETS}; for {len(ids)} ids the last is {last}.")
        decreasing = offsets[1:] < offsets[:-1]
        if decreasing.any():
            index = int(decreasing.nonzero()[0])
            raise ValueError(
                f"{_OFFSETS}; {int(offsets[index])} comes before {int(offsets[index + 1])}."
            )
