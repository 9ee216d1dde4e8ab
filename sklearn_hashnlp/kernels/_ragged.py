"""Rows of unequal length, the data structure that the parts of the package exchange."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Ragged(NamedTuple):
    """Rows of unequal length, end to end; row ``i`` is ``values[offsets[i]:offsets[i + 1]]``."""

    # It is scipy's `(indices, indptr)` and the `(input, offsets)` of torch.nn.EmbeddingBag with
    # include_last_offset=True: one result of a kernel feeds both.
    values: NDArray[Any]  # (n_values,): the rows' values, row after row
    offsets: NDArray[np.int64]  # (n_rows + 1,): start of each row, and the end of the last


def of_lengths(values: NDArray[Any], lengths: Any) -> Ragged:
    """Return rows of the given lengths."""
    return Ragged(values, np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))))


def encoded(words: Sequence[str]) -> Ragged:
    """Return the bytes of words in UTF-8, for hash functions."""
    parts = [word.encode("utf-8", "surrogatepass") for word in words]
    return of_lengths(np.frombuffer(b"".join(parts), dtype=np.uint8), [*map(len, parts)])
