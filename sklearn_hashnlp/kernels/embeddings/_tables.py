"""Sizes, hash functions and options of the two tables of hash embeddings; tables of zeros."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._constraints import check_parameters, integer, one_of
from sklearn_hashnlp._hash_specification import HASH_SPECIFICATION, hash_constants
from sklearn_hashnlp._posix import lazy_bytes
from sklearn_hashnlp.kernels.embeddings._bags import BagLayout

Aggregation: TypeAlias = Literal["sum", "concat", "median"]
Variant: TypeAlias = Literal["improved", "paper", "standard"]
Norm: TypeAlias = Literal["l1", "l2"]

# Saved states hold indices of these: append only.
AGGREGATIONS: Final[tuple[Aggregation, ...]] = get_args(Aggregation)
VARIANTS: Final[tuple[Variant, ...]] = get_args(Variant)
NORMS: Final[tuple[Norm | None, ...]] = (None, *get_args(Norm))

_IDENTITY = (0, 0, 0)  # the constants by which kernels recognize ids that are not hashed
_UNHASHED = 2**8  # added to the variant's index in saved states
_CONSTRAINTS = {
    **dict.fromkeys(
        ("num_embeddings", "num_buckets", "embedding_dim", "num_hashes"), integer(1, 2**31 - 1)
    ),
    "variant": one_of(*VARIANTS),
    "aggregation": one_of(*AGGREGATIONS),
    "normalize": one_of(*NORMS),
}


@dataclass(frozen=True)
class TableSpec:
    """The tables of a hash embedding: their shapes, and the rows that an id has in them."""

    num_embeddings: int  # n in the paper
    num_buckets: int  # B
    embedding_dim: int  # d
    num_hashes: int = 2  # k
    variant: Variant = "improved"
    aggregation: Aggregation = "sum"
    append_weight: bool = True
    hash_rows: bool = True
    normalize: Norm | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_parameters("HashEmbedding", _CONSTRAINTS, vars(self))

    @cached_property
    def constants(self) -> tuple[tuple[int, ...], ...]:
        """The constants of the hash functions: of the importance table, then of the pool."""
        first, *others = hash_constants(self.seed, self.num_hashes + 1)
        return (first if self.hash_rows else _IDENTITY, *others)

    @cached_property
    def constant_array(self) -> NDArray[np.uint64]:
        """The constants as the kernels read them, shape (k + 1, 3)."""
        return np.array(self.constants, dtype=np.uint64)

    @property
    def has_importance(self) -> bool:
        """Whether there is a table of importance weights."""
        return self.variant != "standard"

    @property
    def pool_shape(self) -> tuple[int, int]:
        """The shape of the pool; for ``"standard"`` of the only table."""
        return self.num_buckets if self.has_importance else self.num_embeddings, self.embedding_dim

    @property
    def importance_shape(self) -> tuple[int, int]:
        """The shape of the importance table."""
        return self.num_embeddings, self.num_hashes

    @property
    def output_dim(self) -> int:
        """Columns of the output: d (k d for "concat"), plus k when weights are appended."""
        return self.vector_dim + (
            self.num_hashes if self.append_weight and self.has_importance else 0
        )

    @property
    def vector_dim(self) -> int:
        """Columns of the output without the appended weights."""
        return self.embedding_dim * (self.slots_per_id if self.aggregation == "concat" else 1)

    @property
    def slots_per_id(self) -> int:
        """Rows of the pool that an id has."""
        return self.num_hashes if self.has_importance else 1

    @cached_property
    def layout(self) -> BagLayout:
        """The options that the compiled kernels read."""
        return BagLayout(
            variant=VARIANTS.index(self.variant),
            concat=self.aggregation == "concat",
            append_weight=self.append_weight,
            norm=NORMS.index(self.normalize),
        )

    def to_numbers(self) -> list[int]:
        """Return the numbers that identify hash functions and aggregation in saved states."""
        seed = (self.seed + 2**63) % 2**64 - 2**63
        variant = VARIANTS.index(self.variant) + (0 if self.hash_rows else _UNHASHED)
        aggregation = AGGREGATIONS.index(self.aggregation) if self.has_importance else 0
        return [HASH_SPECIFICATION, seed, variant, aggregation, NORMS.index(self.normalize)]

    def check_state(self, state: Sequence[int]) -> None:
        """Check that a saved state has these hash functions and this aggregation."""
        if np.shape(state) != (5,):
            raise ValueError(
                f"The state of hash tables has 5 numbers, got the shape {np.shape(state)}."
            )
        for describe, own, other in zip(_DESCRIPTIONS, self.to_numbers(), state, strict=True):
            if own != other:
                raise ValueError(
                    f"These tables were trained with {describe(other)}, this module has "
                    f"{describe(own)}. Build it with the parameters of the tables."
                )


def _name_of(names: Sequence[str | None], index: int) -> str:
    return repr(names[index]) if 0 <= index < len(names) else f"number {index} of a later version"


# Of the numbers in a saved state, in their order.
_DESCRIPTIONS: Final[tuple[Callable[[int], str], ...]] = (
    lambda number: f"hash specification {number}",
    lambda seed: f"seed={seed} (modulo 2**64)",
    lambda code: f"variant={_name_of(VARIANTS, code % _UNHASHED)}, hash_rows={code < _UNHASHED}",
    lambda index: f"aggregation={_name_of(AGGREGATIONS, index)}",
    lambda index: f"normalize={_name_of(NORMS, index)}",
)


def lazy_table(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return zeros of float32; the system commits their memory on first write."""
    n_values = math.prod(shape)
    if not n_values:
        return np.zeros(shape, dtype=np.float32)
    return np.frombuffer(lazy_bytes(4 * n_values), dtype=np.float32, count=n_values).reshape(shape)
