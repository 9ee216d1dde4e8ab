"""A table of word vectors whose sparse gradient names each row once."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from sklearn_hashnlp.kernels._sum_rows import sum_rows


class WordTable(nn.Embedding):
    """:class:`torch.nn.Embedding`, but for its sparse gradient on the CPU."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        *,
        sparse: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, sparse=sparse, device=device, dtype=dtype)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name for it
        """Look up vectors."""
        if (
            self.sparse
            and not torch.compiler.is_compiling()
            and not torch._C._are_functorch_transforms_active()
            and self.weight.device.type == "cpu"
            and self.weight.dtype in (torch.float32, torch.float64)
        ):
            vectors: Tensor = _Lookup.apply(self.weight, input)  # type: ignore[no-untyped-call]  # torch's, without types
            return vectors
        return functional.embedding(input, self.weight, sparse=self.sparse)


class _Lookup(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor) -> Tensor:
        ctx.save_for_backward(ids)  # torch notices when they are changed before the way back
        ctx.shape = table.shape
        return functional.embedding(ids, table)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        ids, values = ctx.saved_tensors[0].reshape(-1), gradient.reshape(-1, ctx.shape[1])
        if torch.is_grad_enabled():  # the gradient is to be differentiated itself
            return gradient.new_zeros(ctx.shape).index_add(0, ids, values), None
        rows, sums = sum_rows(ids.numpy().astype(np.int32), values.detach().contiguous().numpy(), ctx.shape[0])
        indices = torch.from_numpy(rows).unsqueeze(0)
        return torch.sparse_coo_tensor(
            indices, torch.from_numpy(sums), ctx.shape, device="cpu", is_coalesced=True, check_invariants=False
        ), None
