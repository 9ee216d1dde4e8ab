"""The most frequent fingerprints, counted exactly in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Lock
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._threads import map_in_order
from sklearn_hashnlp.kernels.ngrams._fingerprints import (
    N_RANGES,
    count_runs,
    range_sizes,
    scatter_ranges,
)

Part = TypeVar("Part")

_RANGES_AT_ONCE = 16  # ranges that a thread sorts and counts at a time
_MIN_DROP = 2**16  # number of counts collected before any is dropped
_MAX_PASSES = 64  # slightly exceeded if single ranges are larger than their share
_BYTES_PER_FINGERPRINT = np.dtype(np.uint64).itemsize
# A result takes two fingerprints and counts, and the memory for dropping half of them.
_BYTES_PER_RESULT = 100


def most_frequent(
    parts: Callable[[], Iterable[Part]],
    fingerprint: Callable[[Part], Iterator[NDArray[np.uint64]]],
    *,
    max_results: int,
    max_memory: int,
    n_threads: int,
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the most frequent fingerprints and counts, descending, ties by fingerprint."""
    # The fingerprints are computed once for the sizes of ranges, then once per pass, which sorts
    # and counts as many ranges as fit into the memory. Counts below the current top are dropped.
    sizes = np.zeros(N_RANGES, dtype=np.int64)
    for part_sizes in map_in_order(
        lambda part: sum(map(range_sizes, fingerprint(part))), parts(), n_threads
    ):
        sizes += part_sizes
    total = int(sizes.sum())
    result_bytes = _BYTES_PER_RESULT * min(max_results, total)
    passes = _passes(
        sizes, max((max_memory - result_bytes) // _BYTES_PER_FINGERPRINT, total // _MAX_PASSES)
    )
    buffer = np.empty(max(int(sizes[ranges].sum()) for ranges in passes), dtype=np.uint64)
    top = _TopCounts(max_results)
    for ranges in passes:
        ends = _fill(buffer, sizes, ranges, parts(), fingerprint, n_threads)
        for values, counts in _count(buffer, ends, lambda: top.threshold, n_threads):
            top.add(values, counts)
    return top.ranking()


def _passes(sizes: NDArray[np.int64], max_size: int) -> list[slice]:
    """Split the ranges into slices of at most ``max_size`` fingerprints, or single ranges."""
    passes = []
    first = total = 0
    for range_, size in enumerate(sizes.tolist()):
        if total and total + size > max_size:
            passes.append(slice(first, range_))
            first, total = range_, 0
        total += size
    return [*passes, slice(first, len(sizes))]


def _fill(
    buffer: NDArray[np.uint64],
    sizes: NDArray[np.int64],
    ranges: slice,
    parts: Iterable[Part],
    fingerprint: Callable[[Part], Iterator[NDArray[np.uint64]]],
    n_threads: int,
) -> Sequence[int]:
    """Write the fingerprints of some ranges into the buffer; return the offsets of the ranges."""
    ends = np.zeros(ranges.stop - ranges.start + 1, dtype=np.int64)
    np.cumsum(sizes[ranges], out=ends[1:])
    reserved = np.zeros(N_RANGES, dtype=np.int64)
    reserved[ranges] = ends[:-1]
    reserving = Lock()

    def work(part: Part) -> None:
        for fingerprints in fingerprint(part):
            part_sizes = range_sizes(fingerprints)
            with reserving:
                cursors = reserved.copy()
                reserved[ranges] += part_sizes[ranges]
                fits = bool((reserved[ranges] <= ends[1:]).all())
            if not fits:
                raise _change_error()
            # The order of threads does not matter, since each range will be sorted.
            scatter_ranges(fingerprints, ranges.start, ranges.stop, cursors, buffer)

    for _ in map_in_order(work, parts, n_threads):
        pass
    if not np.array_equal(reserved[ranges], ends[1:]):
        raise _change_error()
    # numpy's types do not include the depth of the list
    return ends.tolist()  # type: ignore[no-any-return]


def _count(
    buffer: NDArray[np.uint64], ends: Sequence[int], threshold: Callable[[], int], n_threads: int
) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int64]]]:
    """Yield sorted fingerprints of a few ranges at a time, and counts, if above the threshold."""

    def work(first: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        last = min(first + _RANGES_AT_ONCE, len(ends) - 1)
        for range_ in range(first, last):
            buffer[ends[range_] : ends[range_ + 1]].sort()
        return count_runs(buffer[ends[first] : ends[last]], threshold())

    yield from map_in_order(work, range(0, len(ends) - 1, _RANGES_AT_ONCE), n_threads)


class _TopCounts:
    """The largest counts of fingerprints that are added in ascending order."""

    def __init__(self, max_results: int) -> None:
        self.max_results = max_results
        # a count must exceed it: among equal counts, the smaller fingerprints were added first
        self.threshold = 0
        self._values = [np.empty(0, dtype=np.uint64)]
        self._counts = [np.empty(0, dtype=np.int64)]
        self._size = 0

    def add(self, values: NDArray[np.uint64], counts: NDArray[np.int64]) -> None:
        """Add fingerprints and their counts."""
        self._values.append(values)
        self._counts.append(counts)
        self._size += len(values)
        if self._size > max(2 * self.max_results, _MIN_DROP):
            self._keep_top()

    def ranking(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return fingerprints and counts, by descending count and ascending fingerprint."""
        self._keep_top()
        (values,), (counts,) = self._values, self._counts
        order = np.argsort(-counts, kind="stable")  # ties are in the order of their fingerprints
        return values[order], counts[order]

    def _keep_top(self) -> None:
        values, counts = np.concatenate(self._values), np.concatenate(self._counts)
        if len(counts) > self.max_results:
            index = len(counts) - self.max_results
            self.threshold = int(np.partition(counts, index)[index])
            keep = counts > self.threshold
            ties = np.flatnonzero(counts == self.threshold)
            keep[ties[: self.max_results - np.count_nonzero(keep)]] = True
            values, counts = values[keep], counts[keep]
        self._values = [values]
        self._counts = [counts]
        self._size = len(values)


def _change_error() -> RuntimeError:
    return RuntimeError(
        "The texts changed while their n-grams were counted. Do not modify them during fit."
    )
