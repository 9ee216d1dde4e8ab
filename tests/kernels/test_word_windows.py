from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels._rows import gather_windows


@given(st.integers(0, 2**32 - 1), st.integers(0, 5), st.integers(1, 40), st.integers(0, 20))
def test_windows_are_slices_of_the_text(seed, width, n_words, n_rows):
    rng = np.random.default_rng(seed)
    inputs, targets = rng.integers(0, 99, (2, width + n_words)).astype(np.int32)
    positions = rng.integers(width, width + n_words, 7)
    rows = rng.integers(0, 7, n_rows)
    contexts, found = gather_windows(inputs, targets, positions, rows, width)
    assert contexts.shape == (n_rows, width)
    assert contexts.dtype == found.dtype == np.int64
    for context, word, row in zip(contexts, found, rows, strict=True):
        end = positions[row]
        assert context.tolist() == inputs[end - width : end].tolist()
        assert word == targets[end]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_positions_of_either_width(dtype):
    text = np.arange(10, dtype=np.int32)
    contexts, found = gather_windows(text, text, np.array([2, 9], dtype=dtype), np.array([1]), 2)
    assert (contexts.tolist(), found.tolist()) == ([[7, 8]], [9])
