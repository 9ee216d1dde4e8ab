"""Which values belong to the same row of a table: a radix sort."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled

_MOST_BITS = 12  # of a digit: its 4096 counters stay in the fastest cache
_PLACE = np.int64(2**32 - 1)


@compiled
def _group(
    rows: NDArray[np.int32],
    n_bits: Number,
    n_rounds: Number,
    items: NDArray[np.int64],
    spare: NDArray[np.int64],
    order: NDArray[np.int32],
    starts: NDArray[np.int64],
    distinct: NDArray[np.int64],
) -> int:
    # An item holds a row in its upper half and its place in the lower. Items are sorted digit by digit from the
    # row's lowest, and each round keeps the order of the one before.
    mask = (1 << n_bits) - 1
    counts = np.zeros((n_rounds, mask + 1), dtype=np.int64)
    for at in range(len(rows)):
        items[at] = (np.int64(rows[at]) << 32) | at
        for round_ in range(n_rounds):
            counts[round_, (rows[at] >> (round_ * n_bits)) & mask] += 1
    for round_ in range(n_rounds):
        ends, shift, place = counts[round_], 32 + round_ * n_bits, 0
        for digit in range(mask + 1):
            place, ends[digit] = place + ends[digit], place
        for at in range(len(rows)):
            digit = (items[at] >> shift) & mask
            spare[ends[digit]] = items[at]
            ends[digit] += 1
        items, spare = spare, items
    n_groups, last = 0, np.int64(-1)
    for at in range(len(rows)):
        row = items[at] >> 32
        order[at] = items[at] & _PLACE
        if row != last:
            starts[n_groups] = at
            distinct[n_groups] = row
            n_groups += 1
            last = row
    starts[n_groups] = len(rows)
    return n_groups


def group_rows(
    rows: NDArray[np.int32],  # (n_values,)
    n_rows: int,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Bring together the places that name the same row."""
    n_bits = max(n_rows - 1, 1).bit_length()
    n_rounds = -(-n_bits // _MOST_BITS)
    items, spare, distinct = (np.empty(len(rows), dtype=np.int64) for _ in range(3))
    order, starts = np.empty_like(rows), np.empty(len(rows) + 1, dtype=np.int64)
    n_groups = _group(rows, -(-n_bits // n_rounds), n_rounds, items, spare, order, starts, distinct)
    return order, starts[: n_groups + 1], distinct[:n_groups]
