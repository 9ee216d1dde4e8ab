"""The tables of a hash embedding, the rows of a feature id, and aggregations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from sklearn_hashnlp._constraints import is_integer
from sklearn_hashnlp.kernels.embeddings._tables import Aggregation, TableSpec, Variant
from sklearn_hashnlp.nn._hashing import mix_ids, mix_tensor, slot_tensor
from sklearn_hashnlp.nn._tensors import CheckedState, lazy_zeros


def _median(
    parts: Tensor,  # (..., k, d)
) -> Tensor:  # (..., d)
    """Return the median of the components by column, the mean of the middle two if even."""
    ordered = parts.sort(dim=-2).values
    k = parts.shape[-2]
    middle = ordered[..., (k - 1) // 2, :]
    return middle if k % 2 else (middle + ordered[..., k // 2, :]) / 2


AGGREGATIONS: Final[dict[Aggregation, Callable[[Tensor], Tensor]]] = {
    "sum": lambda parts: parts.sum(dim=-2),
    "concat": lambda parts: parts.flatten(start_dim=-2),
    "median": _median,
}
"""From components of shape (..., k, d) to a vector of shape (..., d), (..., k * d) for "concat"."""


def segment_sum(
    values: Tensor,  # (n_values, ...)
    offsets: Tensor,  # (n_segments + 1,)
) -> Tensor:  # (n_segments, ...)
    """Sum the values of each segment, in their order."""
    return torch.segment_reduce(values, "sum", offsets=offsets, axis=0, unsafe=True, initial=0)


class HashTables(CheckedState):
    """Tables and hash functions of :class:`HashEmbedding` and :class:`HashEmbeddingBag`."""

    # (num_embeddings, num_hashes): p in the paper; None for ``"standard"``
    importance: nn.Parameter | None

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        *,
        num_buckets: int,
        num_hashes: int = 2,
        variant: Variant = "improved",
        aggregation: Aggregation = "sum",
        append_weight: bool = True,
        hash_rows: bool = True,
        padding_idx: int | None = None,
        seed: int = 0,
        pool_std: float = 0.1,
        importance_init: float = 1.0,
        sparse: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        spec = TableSpec(
            num_embeddings,
            num_buckets,
            embedding_dim,
            num_hashes=num_hashes,
            variant=variant,
            aggregation=aggregation,
            append_weight=append_weight,
            hash_rows=hash_rows,
            seed=seed,
        )
        first, end = (-(2**63), 2**63) if hash_rows else (0, num_embeddings)
        if padding_idx is not None and not (is_integer(padding_idx) and first <= padding_idx < end):
            raise ValueError(
                f"{type(self).__name__}: padding_idx must be None or an id, an integer of 64 bits, "
                f"with hash_rows=False from 0 to {num_embeddings - 1}. Got {padding_idx!r}."
            )
        self.spec = spec
        self.num_embeddings = num_embeddings
        self.num_buckets = num_buckets
        self.embedding_dim = embedding_dim
        self.num_hashes = num_hashes
        self.variant = variant
        self.aggregation = aggregation
        self.append_weight = append_weight
        self.hash_rows = hash_rows
        self.padding_idx = padding_idx
        self.seed = seed
        self.pool_std = pool_std
        self.importance_init = importance_init
        self.sparse = sparse
        self._constants = spec.constants
        self.pool = nn.Parameter(lazy_zeros(spec.pool_shape, dtype=dtype, device=device))
        if spec.has_importance:
            self.importance = nn.Parameter(
                lazy_zeros(spec.importance_shape, dtype=dtype, device=device)
            )
        else:
            self.register_parameter("importance", None)
        self._fill()

    def _fill(self) -> None:
        # The tables are already zero; writing zeros would commit their memory.
        if self.pool_std:
            nn.init.normal_(self.pool, std=self.pool_std)
        if self.importance is not None and self.importance_init:
            nn.init.constant_(self.importance, self.importance_init)

    def reset_parameters(self) -> None:
        """Initialize both tables."""
        nn.init.zeros_(self.pool)
        if self.importance is not None:
            nn.init.zeros_(self.importance)
        self._fill()

    @property
    def output_dim(self) -> int:
        """Columns of the output: d (k d for "concat"), plus k for appended weights."""
        return self.spec.output_dim

    def locate(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Hash feature ids of any shape to rows of both tables, (...) and (..., num_hashes)."""
        # Rows are h(w), D1(w) for "paper", and w itself with hash_rows=False. Slots are u_1(w) ..
        # u_k(w), those of D1(w) for "paper", and one column, the rows, for "standard".
        mixed, high = mix_ids(ids)
        if self.hash_rows:
            rows = slot_tensor(mixed, self._constants[0], self.num_embeddings, high)
        else:
            rows = ids.to(torch.int64)
            self.check_rows(rows)
        if self.importance is None:
            return rows, rows.unsqueeze(-1)
        if self.variant == "paper":
            mixed, high = mix_tensor(rows), None
        slots = [
            slot_tensor(mixed, constants, self.num_buckets, high)
            for constants in self._constants[1:]
        ]
        return rows, torch.stack(slots, dim=-1)

    def check_rows(self, ids: Tensor) -> None:
        """Check that ids are table rows if ``hash_rows=False``; CUDA checks in the lookup."""
        if self.hash_rows or ids.device.type != "cpu" or not ids.numel():
            return
        smallest, largest = (int(end) for end in torch.aminmax(ids))
        if smallest < 0 or largest >= self.num_embeddings:
            raise ValueError(
                f"{type(self).__name__}: with hash_rows=False ids must be from 0 to "
                f"{self.num_embeddings - 1}, got {smallest} to {largest}. Increase num_embeddings, "
                "or set hash_rows=True."
            )

    def weights_of(self, rows: Tensor) -> Tensor:
        """Return importance weights p_w of rows, (..., num_hashes); ones for ``"standard"``."""
        if self.importance is None:
            return torch.ones((*rows.shape, 1), dtype=self.pool.dtype, device=self.pool.device)
        return functional.embedding(rows, self.importance, sparse=self.sparse)

    def get_extra_state(self) -> Tensor:
        """Return the parameters of the hash functions and the aggregation, for ``state_dict``."""
        return torch.tensor(self.spec.to_numbers(), dtype=torch.int64, device="cpu")

    def set_extra_state(self, state: Tensor) -> None:
        """Check that a state has the hash functions and the aggregation of this module."""
        self.spec.check_state(state.tolist())

    def extra_repr(self) -> str:
        """Describe the module in ``repr``."""
        text = f"{self.num_embeddings}, {self.embedding_dim}, num_buckets={self.num_buckets}, "
        text += f"variant={self.variant!r}"
        text += "" if self.hash_rows else ", hash_rows=False"
        text += "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        if self.importance is None:
            return text
        return (
            f"{text}, num_hashes={self.num_hashes}, aggregation={self.aggregation!r}, "
            f"append_weight={self.append_weight}, seed={self.seed}"
        )
