"""Random unit vectors in random blocks, for losses over blocks."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray


def unit_rows(n: int, d: int, seed: int) -> NDArray[np.float64]:
    rows = np.random.default_rng(seed).normal(size=(n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@st.composite
def _blocks_of_vectors(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    blocks = draw(st.lists(st.sampled_from([0, 1, 2, -5, 2**40]), min_size=1, max_size=9))
    rows = unit_rows(len(blocks), draw(st.integers(2, 6)), draw(st.integers(0, 2**32)))
    return rows, np.array(blocks, dtype=np.int64)


BLOCKS_OF_VECTORS = _blocks_of_vectors()
"""Unit rows and a block of each, in any order: vectors that are alone, all of one block, a single one."""
