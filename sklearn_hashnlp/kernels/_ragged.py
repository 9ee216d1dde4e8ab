"""Rows of unequal length: the one data shape between the parts of the package."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Ragged(NamedTuple):
    """Rows of unequal length, end to end; row ``i`` is ``values[offsets[i]:offsets[i + 1]]``.

    It is scipy's ``(indices, indptr)`` and the ``(input, offsets)`` of ``torch.nn.EmbeddingBag`` with
    ``include_last_offset=True``, so one kernel result feeds both with no regrouping.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        The rows' values, row after row.
    offsets : ndarray of shape (n_rows + 1,)
        Where each row begins, and after the last where it ends.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Ragged(np.array([3, 1, 4, 1, 5]), np.array([0, 2, 2, 5]))
    >>> [row.tolist() for row in np.split(rows.values, rows.offsets[1:-1])]
    [[3, 1], [], [4, 1, 5]]
    """

    values: NDArray[Any]
    offsets: NDArray[np.int64]
