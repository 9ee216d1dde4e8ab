"""Hash functions from n-grams of token ids to rows of tables: parameters, and form in torch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from sklearn_hashnlp._constraints import (
    FLAG,
    Constraint,
    check_parameters,
    integer,
    is_integer,
    none_or,
)
from sklearn_hashnlp._hash_specification import (
    GAMMA,
    HASH_SPECIFICATION,
    MULTIPLIERS,
    hash_constants,
    splitmix64,
)
from sklearn_hashnlp.kernels.embeddings._ngram_rows import NO_ID, NgramTables
from sklearn_hashnlp.nn._hashing import mix_ids, slot_tensor

Scheme: TypeAlias = (
    Literal["multiply_shift", "multiplicative_xor"] | tuple[Literal["polynomial"], int]
)
SCHEMES: Final = ("multiply_shift", "multiplicative_xor", "polynomial")

_MAX_ROWS = 2**31 - 1
_CONSTRAINTS = {
    "num_heads": integer(),
    "num_hashes": integer(),
    "importance": FLAG,
    "signs": FLAG,
    "seed": Constraint("an integer", is_integer),
}


@dataclass(frozen=True)
class NgramScheme:
    """Tables of n-grams and their hash functions; all values are numbers and strings."""

    sizes: tuple[int, ...]  # rows of each table, by order and head
    orders: tuple[int, ...]
    num_heads: int
    num_hashes: int
    importance: bool
    signs: bool
    scheme: str
    base: int  # of "polynomial", else 0
    boundary: int | None
    padding_idx: int | None
    seed: int

    # (n_tables, num_hashes + 2, 3): hash functions
    constants: ClassVar[tuple[tuple[tuple[int, int, int], ...], ...]]
    multipliers: ClassVar[tuple[int, ...]]  # (max_order,): of "multiplicative_xor"
    starts: ClassVar[tuple[int, ...]]  # (n_tables,): the first row of each table

    def __post_init__(self) -> None:
        # Plain numbers, since torch's compiler cannot trace arrays and cached properties.
        # also for options that are off: they do not change the rows
        n_functions = self.num_hashes + 2
        constants = hash_constants(self.seed, self.n_tables * n_functions)
        by_table = [
            constants[first : first + n_functions]
            for first in range(0, len(constants), n_functions)
        ]
        # Odd multipliers below 2**32: products with the ids of any vocabulary stay positive.
        multipliers = [value >> 32 | 1 for value in splitmix64(self.seed, self.max_order)]
        starts = [sum(self.sizes[:table]) for table in range(self.n_tables)]
        for name, value in (
            ("constants", by_table),
            ("multipliers", multipliers),
            ("starts", starts),
        ):
            object.__setattr__(self, name, tuple(value))

    @classmethod
    def of(
        cls,
        num_embeddings: Any,
        scheme: Any,
        *,
        orders: Any,
        num_heads: Any,
        num_hashes: Any,
        importance: Any,
        signs: Any,
        boundary: Any,
        padding_idx: Any,
        seed: Any,
    ) -> NgramScheme:
        """Check parameters of the layer, and derive the sizes of the tables."""
        name, base = _split_scheme(scheme)
        if not (
            isinstance(orders, Sequence)
            and orders
            and all(is_integer(n) and 1 <= n <= 64 for n in orders)
        ):
            raise ValueError(
                "NgramHashEmbedding: orders must be integers from 1 to 64, such as (2, 3), got "
                f"{orders!r}."
            )
        orders = tuple(int(order) for order in orders)
        if list(orders) != sorted(set(orders)):
            raise ValueError(
                f"NgramHashEmbedding: orders must ascend and be different, got {orders}."
            )
        token = none_or(integer(0, (base or 2**63) - 1))
        constraints = _CONSTRAINTS | {"boundary": token, "padding_idx": token}
        check_parameters("NgramHashEmbedding", constraints, locals())
        if name != SCHEMES[0] and (num_hashes > 1 or importance or signs):
            raise ValueError(
                f"NgramHashEmbedding: scheme={scheme!r} has one row per n-gram and head: "
                "num_hashes must be 1, and importance and signs False. Set num_heads, or "
                f"scheme={SCHEMES[0]!r}."
            )
        return cls(
            _sizes_of(num_embeddings, len(orders), int(num_heads), is_published=name != SCHEMES[0]),
            orders,
            int(num_heads),
            int(num_hashes),
            bool(importance),
            bool(signs),
            name,
            base,
            None if boundary is None else int(boundary),
            None if padding_idx is None else int(padding_idx),
            int(seed),
        )

    @property
    def n_tables(self) -> int:
        """The number of tables: one for each order and head."""
        return len(self.sizes)

    @property
    def max_order(self) -> int:
        """The largest order."""
        return self.orders[-1]

    @property
    def max_id(self) -> int:
        """The largest token id."""
        return self.base - 1 if self.base else 2**63 - 1

    @cached_property
    def tables(self) -> NgramTables:
        """The tables as the compiled kernel reads them."""
        return NgramTables(
            scheme=SCHEMES.index(self.scheme),
            orders=np.array(self.orders, dtype=np.int64),
            n_heads=self.num_heads,
            n_hashes=self.num_hashes,
            importance=self.importance,
            signs=self.signs,
            sizes=np.array(self.sizes, dtype=np.int64),
            starts=np.array(self.starts, dtype=np.int64),
            constants=np.array(self.constants, dtype=np.uint64),
            multipliers=np.array([self.base] if self.base else self.multipliers, dtype=np.int64),
            padding=NO_ID if self.padding_idx is None else self.padding_idx,
            boundary=NO_ID if self.boundary is None else self.boundary,
        )

    def to_json(self) -> str:
        """Return the description that is saved with tables."""
        return json.dumps({"hash_specification": HASH_SPECIFICATION} | asdict(self), sort_keys=True)

    def check_saved(self, text: str) -> None:
        """Check that saved tables have these rows for these n-grams."""
        own, saved = json.loads(self.to_json()), json.loads(text)
        for name in sorted(own.keys() | saved.keys()):
            if own.get(name) != saved.get(name):
                raise ValueError(
                    "NgramHashEmbedding: the tables were saved with "
                    f"{name}={_short(saved.get(name))}, this layer has "
                    f"{name}={_short(own.get(name))}. Build it with the parameters of the tables."
                )

    def locate(
        self,
        ids: Tensor,  # (batch, time)
        starts: Tensor | None,  # (batch, time)
        first: int,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Hash the n-grams of tokens from ``first`` on, as the compiled kernel does.

        Returns slots of shape (batch, time - first, n_tables, num_hashes); a mask of existing
        n-grams and rows of importance weights, both of shape (batch, time - first, n_tables), and
        signs of that shape or None.
        """
        ids = ids.to(torch.int64)
        exists = self._reaches(ids, starts, first)
        slots = []
        rows = []
        signs = []
        key, length = ids, 1
        for index, order in enumerate(self.orders):
            if self.scheme == SCHEMES[0]:
                while length < order:
                    key = _mix_64(key) + shifted(ids, length)
                    length += 1
                mixed, high = mix_ids(key[:, first:])
            for head in range(self.num_heads):
                table = index * self.num_heads + head
                size, offset = self.sizes[table], self.starts[table]
                if self.scheme == SCHEMES[0]:
                    constants = self.constants[table]
                    columns = [
                        slot_tensor(mixed, c, size, high) for c in constants[: self.num_hashes]
                    ]
                    rows.append(slot_tensor(mixed, constants[-2], size, high) + offset)
                    signs.append(1 - 2 * slot_tensor(mixed, constants[-1], 2, high))
                else:
                    columns = [self._published_row(ids, order, size)[:, first:]]
                slots.append(torch.stack(columns, dim=-1) + offset)
        stacked = torch.stack(slots, dim=2)
        return (
            stacked,
            exists,
            torch.stack(rows, dim=2) if self.importance else stacked[..., 0],
            torch.stack(signs, dim=2) if self.signs else None,
        )

    def _published_row(self, ids: Tensor, order: int, size: int) -> Tensor:
        if self.scheme == "multiplicative_xor":
            hashed = torch.zeros_like(ids)
            for j in range(order):
                hashed = hashed ^ (shifted(ids, j) * self.multipliers[j])
            return torch.remainder(hashed, size)
        value = torch.zeros_like(ids)
        for j in range(order - 1, -1, -1):
            value = (value * (self.base % size) + shifted(ids, j) % size) % size
        return value

    def _reaches(self, ids: Tensor, starts: Tensor | None, first: int) -> Tensor:
        """Return whether there is an n-gram of each table at each token."""
        is_padding = torch.zeros_like(ids, dtype=torch.bool)
        is_start = is_padding if starts is None else starts
        if self.padding_idx is not None:
            is_padding = ids == self.padding_idx
        if self.boundary is not None:
            is_start = is_start | (ids == self.boundary)
        reaches, results = ~is_padding, []
        for order in range(1, self.max_order + 1):
            # one more token: the last one did not start the history, this one exists and is no
            # padding
            if order > 1:
                reaches = (
                    reaches
                    & ~shifted(is_start, order - 2, True)
                    & ~shifted(is_padding, order - 1, True)
                )
            if order in self.orders:
                results += [reaches[:, first:]] * self.num_heads
        return torch.stack(results, dim=2)


def shifted(values: Tensor, distance: int, fill: int = 0) -> Tensor:
    """Return the values of the tokens at a distance before; ``fill`` before the first."""
    if not distance:
        return values
    kept = values[:, : max(values.shape[1] - distance, 0)]
    filled = torch.full_like(values[:, : values.shape[1] - kept.shape[1]], fill)
    return torch.cat([filled, kept], dim=1)


def _mix_64(key: Tensor) -> Tensor:
    # Two's complement gives the bits of unsigned numbers, and a mask turns the arithmetic shift
    # into a logical one.
    z = key + _signed(GAMMA)
    z = (z ^ ((z >> 30) & (2**34 - 1))) * _signed(MULTIPLIERS[0])
    z = (z ^ ((z >> 27) & (2**37 - 1))) * _signed(MULTIPLIERS[1])
    return z ^ ((z >> 31) & (2**33 - 1))


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def _split_scheme(scheme: Any) -> tuple[str, int]:
    if scheme in SCHEMES[:2]:
        return scheme, 0
    if (
        isinstance(scheme, tuple | list)
        and len(scheme) == 2
        and scheme[0] == "polynomial"
        and is_integer(scheme[1])
        and 2 <= scheme[1] < 2**63
    ):
        return "polynomial", int(scheme[1])
    raise ValueError(
        "NgramHashEmbedding: scheme must be 'multiply_shift', 'multiplicative_xor' or "
        "('polynomial', base), where the base is an integer of at least 2, such as the size of "
        f"the vocabulary. Got {scheme!r}."
    )


def _sizes_of(
    num_embeddings: Any, n_orders: int, n_heads: int, *, is_published: bool
) -> tuple[int, ...]:
    n_tables = n_orders * n_heads
    if is_integer(num_embeddings):
        sizes = [int(num_embeddings)] * n_tables
        if is_published and 1 <= num_embeddings <= _MAX_ROWS:  # heads differ by their sizes alone
            sizes = next_primes(int(num_embeddings), n_tables)
    elif isinstance(num_embeddings, Sequence) and len(num_embeddings) == n_tables:
        sizes = list(num_embeddings)
    else:
        raise ValueError(
            f"NgramHashEmbedding: num_embeddings must be an integer or a list of {n_tables}, one "
            f"for each order and head, got {_short(num_embeddings)}."
        )
    if not all(is_integer(size) and size >= 1 for size in sizes) or sum(sizes) > _MAX_ROWS:
        raise ValueError(
            "NgramHashEmbedding: num_embeddings must be positive integers, with a sum of at most "
            f"{_MAX_ROWS} rows, got {_short(num_embeddings)}."
        )
    for first in range(0, n_tables, n_heads):
        if is_published and len(set(sizes[first : first + n_heads])) < n_heads:
            raise ValueError(
                "NgramHashEmbedding: the heads of an order have the same rows if their "
                f"num_embeddings are equal, got {_short(num_embeddings)}. Set different numbers, "
                f"or scheme={SCHEMES[0]!r}."
            )
    return tuple(int(size) for size in sizes)


def next_primes(minimum: int, n_primes: int) -> list[int]:
    """Return the first prime numbers that are not below a number."""
    primes: list[int] = []
    candidate = max(minimum, 2)
    while len(primes) < n_primes:
        if all(candidate % divisor for divisor in range(2, int(candidate**0.5) + 1)):
            primes.append(candidate)
        candidate += 1
    return primes


def _short(value: Any) -> str:
    return f"{value!r:.60}"
