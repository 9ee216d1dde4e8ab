"""Sparse rows that lie on a device and are gathered into batches there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sklearn_hashnlp.estimators._ragged_batch import RaggedBatch

if TYPE_CHECKING:
    from sklearn_hashnlp.estimators._batches import RaggedRows

_BATCHES_AT_ONCE = 64  # gathered together: enough to keep a device busy, little enough for its memory


class DeviceRows:
    """Rows with their targets, copied to a device once."""

    def __init__(self, rows: RaggedRows, device: torch.device) -> None:
        self.indptr: NDArray[np.int64] = rows.indptr.astype(np.int64)
        self.device = device
        self._starts = torch.from_numpy(self.indptr).to(device)
        self._indices = torch.tensor(rows.indices, device=device)
        self._data = torch.tensor(rows.data, device=device, dtype=torch.float32)
        self._targets = torch.tensor(rows.targets, device=device)
        self._row_weights = None if rows.row_weights is None else torch.tensor(rows.row_weights, device=device)

    def batches(
        self,
        order: NDArray[np.int64],
        edges: list[int],
        *,
        dropout: tuple[int, int] | None = None,
        generator: np.random.Generator | None = None,
    ) -> Iterator[tuple[RaggedBatch, Tensor]]:
        """Go through rows once."""
        lengths = np.diff(self.indptr)[order]
        kept, draws = lengths, None
        if dropout is not None and generator is not None:
            kept = np.minimum(generator.integers(dropout[0], dropout[1] + 1, size=len(order)), lengths)
            draws = torch.Generator(self.device).manual_seed(int(generator.integers(2**63)))
        ends = np.concatenate(([0], np.cumsum(kept)))  # of the rows, in the order
        rows_there, kept_there = torch.from_numpy(order).to(self.device), torch.from_numpy(kept).to(self.device)
        for first in range(0, len(edges) - 1, _BATCHES_AT_ONCE):
            block = edges[first : first + _BATCHES_AT_ONCE + 1]
            within = slice(block[0], block[-1])
            rows = rows_there[within]
            places, offsets = self._places(rows, int(lengths[within].sum()))
            if draws is not None:
                n_kept = int(ends[block[-1]] - ends[block[0]])
                places, offsets = _draw(places, offsets, kept_there[within], n_kept, draws)
            ids, weights = self._indices[places].to(torch.int64), self._data[places]
            targets = self._targets[rows]
            row_weights = None if self._row_weights is None else self._row_weights[rows]
            for start, stop in pairwise(block):
                values = slice(int(ends[start] - ends[block[0]]), int(ends[stop] - ends[block[0]]))
                part = slice(start - block[0], stop - block[0])
                batch = RaggedBatch(
                    ids[values],
                    offsets[part.start : part.stop + 1] - values.start,
                    weights[values],
                    None if row_weights is None else row_weights[part],
                )
                yield batch, targets[part]

    def _places(self, rows: Tensor, n_values: int) -> tuple[Tensor, Tensor]:
        starts = self._starts[rows]
        return _spread(starts, self._starts[rows + 1] - starts, n_values)


def _spread(starts: Tensor, lengths: Tensor, n_values: int) -> tuple[Tensor, Tensor]:
    """Return the places ``starts[i] .. starts[i] + lengths[i]`` of all runs, end to end, and where each run begins."""
    offsets = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
    shifts = torch.repeat_interleave(starts - offsets[:-1], lengths, output_size=n_values)
    return shifts + torch.arange(n_values, device=starts.device), offsets


def _draw(
    places: Tensor, offsets: Tensor, kept: Tensor, n_kept: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    n_values, n_rows = len(places), len(kept)
    row_of = torch.repeat_interleave(torch.arange(n_rows, device=places.device), offsets.diff(), output_size=n_values)
    keys = row_of + torch.rand(n_values, generator=generator, device=places.device, dtype=torch.float64)
    # A random order within each row; its first `kept` values are a draw without replacement.
    chosen, kept_offsets = _spread(offsets[:-1], kept, n_kept)
    return places[keys.argsort()[chosen].sort().values], kept_offsets
