"""The way of :class:`HashEmbeddingBag` through compiled kernels, there and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sklearn_hashnlp.kernels._hash_bags import (
    BagLayout,
    RowGradients,
    bag_gradients,
    embed_bags,
    group_bags,
)
from sklearn_hashnlp.kernels._hash_ids import locate_ids
from sklearn_hashnlp.nn._side_thread import beside
from sklearn_hashnlp.nn._universal_hash import INTEGERS

_DTYPES = (torch.float32, torch.float64)
_FEW = 2**11  # values that are not worth another thread


class CompiledBag(torch.autograd.Function):
    """Sums of hash embeddings whose gradients are sparse and coalesced from the start.

    Torch's own way makes a gradient row for each value of each document, sorts them and adds them up; here each row of
    a table is summed up once, so a step costs what the documents' values cost. Both tables' gradients are ordinary
    sparse tensors, for any optimiser that takes them.
    """

    @staticmethod
    def forward(
        ctx: Any,
        pool: Tensor,
        importance: Tensor | None,
        ids: Tensor,
        offsets: Tensor,
        counts: Tensor,
        constants: NDArray[np.uint64],
        layout: BagLayout,
        will_return: bool,
    ) -> Tensor:
        """Embed documents.

        Parameters
        ----------
        ctx : object
            Torch's.
        pool : Tensor of shape (n_buckets, d)
            E.
        importance : Tensor of shape (n_embeddings, k) or None
            P.
        ids, offsets, counts : Tensor
            As :meth:`HashEmbeddingBag.forward` has them.
        constants : ndarray of uint64 of shape (k + 1, 2)
            Of the hash functions.
        layout : BagLayout
            What to do with the tables.
        will_return : bool
            Whether gradients are to be expected.

        Returns
        -------
        Tensor of shape (n_documents, output_dim)
            A vector a document.
        """
        n_slots, n_rows = len(pool), len(pool if importance is None else importance)
        rows, slots = locate_ids(ids.contiguous().numpy(), constants, n_rows, n_slots, layout.variant)
        edges = offsets.contiguous().numpy()
        work = (group_bags, rows, slots, edges, n_rows, n_slots)
        # The way back needs the values in groups, and the way there does not: it costs no time beside that.
        groups = beside(*work) if will_return and slots.size > _FEW else None
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
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Give the gradients of both tables.

        Parameters
        ----------
        ctx : object
            Torch's.
        gradient : Tensor of shape (n_documents, output_dim)
            Of the vectors.

        Returns
        -------
        tuple of Tensor or None
            One for each argument of :meth:`forward`.

        Raises
        ------
        RuntimeError
            If the gradients are to be differentiated themselves.
        """
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
    """Tell whether :class:`CompiledBag` can do a module's work.

    Parameters
    ----------
    pool : Tensor
        The module's pool.
    ids : Tensor
        Feature ids; plain torch refuses those that are no integers.
    counts : Tensor
        Weights of the ids; the kernels have no gradient for them.

    Returns
    -------
    bool
        False on devices other than the CPU, for other dtypes than float32 and float64, for ids that are no integers,
        where a gradient of the weights is asked for, and where torch traces or transforms the program.
    """
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
