"""Products of sparse and dense matrices in float32, by rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import compiled
from sklearn_hashnlp.kernels._hashes import GAMMA, mix_word


@compiled
def add_product(
    indptr: NDArray[Any],  # (n_rows + 1,): of a CSR matrix
    indices: NDArray[np.int32],
    values: NDArray[np.float32],
    dense: NDArray[np.float32],  # (n_columns, width)
    out: NDArray[np.float32],  # (n_rows, width): the product is added to it
) -> None:
    """Add the product of a CSR matrix and a dense one to ``out``; each row is a sum in the order of its entries."""
    width = out.shape[1]
    for row in range(len(indptr) - 1):
        total = out[row]
        for at in range(indptr[row], indptr[row + 1]):
            value, source = values[at], dense[indices[at]]
            for column in range(width):
                total[column] += value * source[column]


@compiled
def pair_fingerprints(
    words: NDArray[np.uint64],  # (n_words,): a fingerprint of each word
    ids: NDArray[Any],  # rows of word ids
    offsets: NDArray[np.int64],  # (n_rows + 1,)
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the fingerprints of the pairs of neighboring words of each row, and the offsets of the rows."""
    ends = np.zeros(len(offsets), dtype=np.int64)
    for row in range(len(offsets) - 1):
        ends[row + 1] = ends[row] + max(offsets[row + 1] - offsets[row] - 1, 0)
    pairs = np.empty(ends[-1], dtype=np.uint64)
    at = 0
    for row in range(len(offsets) - 1):
        for i in range(offsets[row], offsets[row + 1] - 1):
            # Mixed once more, the first word counts differently from the second.
            pairs[at] = mix_word(mix_word(words[ids[i]] + GAMMA) ^ words[ids[i + 1]])
            at += 1
    return pairs, ends
