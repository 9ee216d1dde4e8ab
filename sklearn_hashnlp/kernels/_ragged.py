"""Rows of unequal length, the data structure that the parts of the package exchange."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Ragged(NamedTuple):
    """Rows of unequal length, end to end; row ``i`` is ``values[offsets[i]:offsets[i + 1]]``."""

    # It is scipy's `(indices, indptr)` and the `(input, offsets)` of torch.nn.EmbeddingBag with
    # include_last_offset=True: one result of a kernel feeds both.
    values: NDArray[Any]  # (n_values,): the rows' values, row after row
    offsets: NDArray[np.int64]  # (n_rows + 1,): start of each row, and the end of the last
