"""Batches of rows of any kind: where they begin and in which order they come."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_hashnlp.classifiers._dense_rows import DenseDataset
from sklearn_hashnlp.training._batches import Batches

ROWS = DenseDataset(np.arange(37)[:, None], np.arange(37))


@pytest.mark.parametrize(("n_rows", "size", "smallest"), [(37, 10, 1), (37, 12, 2), (37, 36, 2), (1, 5, 2), (0, 5, 1)])
def test_batches_cover_the_rows_in_order(n_rows, size, smallest):
    batches = Batches(ROWS.select(np.arange(n_rows)), size, smallest=smallest)
    sizes = [part.stop - part.start for part in batches.parts()]
    assert sum(sizes) == n_rows
    assert len(batches) == len(sizes)
    assert all(found == size for found in sizes[:-1]) or (n_rows > size and sizes[-1] > size)
    assert n_rows <= smallest or min(sizes) >= smallest
    assert [row for _, targets in batches for row in targets.tolist()] == list(range(n_rows))


def test_each_pass_has_an_order_of_its_own():
    batches = Batches(ROWS, 10, shuffle=True, generator=np.random.default_rng(0))
    first, second = ([row for _, targets in batches for row in targets.tolist()] for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(37))
    assert len({tuple(first), tuple(second), tuple(range(37))}) == 3
