"""The way of :class:`HashEmbeddingBag` through compiled kernels, there and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sklearn_hashnlp._threads import run_in_background
from sklearn_hashnlp.kernels._bags import BagLayout, RowGradients, bag_gradients, embed_bags, group_bags
from sklearn_hashnlp.kernels._hash_ids import locate_ids
from sklearn_hashnlp.nn._hashing import INTEGERS

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


_DTYPES = (torch.float32, torch.float64)
_FEW = 2**11  # values that are not worth another thread


class CompiledBag(torch.autograd.Function):
    """Sums of hash embeddings whose gradients are sparse and coalesced from the start."""

    @staticmethod
    def forward(
        ctx: Any,
        pool: Tensor,  # (n_buckets, d)
        importance: Tensor | None,  # (n_embeddings, k)
        ids: Tensor,
        offsets: Tensor,
        counts: Tensor,
        constants: NDArray[np.uint64],  # (k + 1, 2)
        layout: BagLayout,
        will_return: bool,
    ) -> Tensor:  # (n_documents, output_dim)
        """Embed documents."""
        n_slots, n_rows = len(pool), len(pool if importance is None else importance)
        rows, slots = locate_ids(ids.contiguous().numpy(), constants, n_rows, n_slots, layout.variant)
        edges = offsets.contiguous().numpy()
        work = (group_bags, rows, slots, edges, n_rows, n_slots)
        # The way back needs the values in groups, and the way there does not: it costs no time beside that.
        groups = run_in_background(*work) if will_return and slots.size > _FEW else None
        bags = embed_bags(
            rows,
            slots,
            edges,
            counts.detach().contiguous().numpy(),
            pool.detach().numpy(),
            None if importance is None else importance.detach().numpy(),
            layout,
        )
        ctx.groups = (lambda: group_bags(*work[1:])) if groups is None else groups.result
        ctx.save_for_backward(pool, importance, counts)  # torch notices when a table is changed before the way back
        ctx.bags, ctx.layout = bags, layout
        return torch.from_numpy(bags.documents)

    @staticmethod
    def backward(
        ctx: Any,
        gradient: Tensor,  # (n_documents, output_dim)
    ) -> tuple[Tensor | None, ...]:
        """Return the gradients of both tables."""
        if torch.is_grad_enabled():  # torch's once_differentiable is silent where `gradient` is a constant
            raise RuntimeError(
                "HashEmbeddingBag with sparse=True has first derivatives only, but create_graph=True asks for more. "
                "Leave create_graph out."
            )
        pool, importance, counts = ctx.saved_tensors
        of_pool, of_importance = bag_gradients(
            gradient.detach().contiguous().numpy(),
            ctx.bags,
            counts.contiguous().numpy(),
            pool.detach().numpy(),
            None if importance is None else importance.detach().numpy(),
            ctx.layout,
            ctx.groups(),
        )
        wanted = ctx.needs_input_grad
        return (
            _as_sparse(of_pool, pool) if wanted[0] else None,
            _as_sparse(of_importance, importance) if wanted[1] and of_importance is not None else None,
            *[None] * 6,
        )


def runs_compiled(pool: Tensor, ids: Tensor, counts: Tensor) -> bool:
    """Return whether :class:`CompiledBag` can do a module's work."""
    return (
        pool.device.type == "cpu"
        and pool.dtype in _DTYPES
        and ids.dtype in INTEGERS
        and counts.dtype == pool.dtype
        and counts.device.type == "cpu"
        and not (counts.requires_grad and torch.is_grad_enabled())
        and not torch.compiler.is_compiling()
        and not torch._C._are_functorch_transforms_active()
        and not torch._C._is_tracing()
        and type(pool.data) is Tensor  # asked last: transforms forbid the look
    )


def _as_sparse(gradients: RowGradients, table: Tensor) -> Tensor:
    return torch.sparse_coo_tensor(
        torch.from_numpy(gradients.rows).unsqueeze(0),
        torch.from_numpy(gradients.values),
        table.shape,
        device="cpu",
        is_coalesced=True,
        check_invariants=False,
    )
