"""The most frequent of a great many fingerprints, counted exactly within bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Lock
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._threads import map_in_order
from sklearn_hashnlp.kernels import N_RANGES, count_runs, range_sizes, scatter_ranges

Part = TypeVar("Part")

_RANGES_AT_ONCE = 16  # what a thread sorts and counts between two looks at the result: little beside a pass
_FEW = 2**16  # so many counts are always collected before any is dropped
_MOST_PASSES = 64  # full ones: since ranges are not parted, there may be a few more
_BYTES = np.dtype(np.uint64).itemsize
_BYTES_A_KEPT_ONE = 100  # twice a fingerprint and its count, and what dropping half of them takes


def most_frequent(
    parts: Callable[[], Iterable[Part]],
    fingerprint: Callable[[Part], Iterator[NDArray[np.uint64]]],
    *,
    n_kept: int,
    max_memory: int,
    n_threads: int,
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Count fingerprints and give those that come most often."""
    sizes = np.zeros(N_RANGES, dtype=np.int64)
    for part_sizes in map_in_order(lambda part: sum(map(range_sizes, fingerprint(part))), parts(), n_threads):
        sizes += part_sizes
    total = int(sizes.sum())
    for_kept_ones = _BYTES_A_KEPT_ONE * min(n_kept, total)
    passes = _passes(sizes, max((max_memory - for_kept_ones) // _BYTES, total // _MOST_PASSES))
    room = np.empty(max(int(sizes[ranges].sum()) for ranges in passes), dtype=np.uint64)
    greatest = _Greatest(n_kept)
    for ranges in passes:
        ends = _fill(room, sizes, ranges, parts(), fingerprint, n_threads)
        for values, counts in _count(room, ends, lambda: greatest.least, n_threads):
            greatest.add(values, counts)
    return greatest.in_order()


def _passes(sizes: NDArray[np.int64], most: int) -> list[slice]:
    """Part the ranges into slices that have ``most`` fingerprints each, or a single range."""
    passes = []
    first = total = 0
    for number, size in enumerate(sizes.tolist()):
        if total and total + size > most:
            passes.append(slice(first, number))
            first, total = number, 0
        total += size
    return [*passes, slice(first, len(sizes))]


def _fill(
    room: NDArray[np.uint64],
    sizes: NDArray[np.int64],
    ranges: slice,
    parts: Iterable[Part],
    fingerprint: Callable[[Part], Iterator[NDArray[np.uint64]]],
    n_threads: int,
) -> Sequence[int]:
    """Bring the fingerprints of some ranges together, range by range; give where each range begins, and the end."""
    ends = np.zeros(ranges.stop - ranges.start + 1, dtype=np.int64)
    np.cumsum(sizes[ranges], out=ends[1:])
    reserved = np.zeros(N_RANGES, dtype=np.int64)
    reserved[ranges] = ends[:-1]
    reserving = Lock()

    def work(part: Part) -> None:
        for fingerprints in fingerprint(part):
            part_sizes = range_sizes(fingerprints)
            with reserving:
                places = reserved.copy()
                reserved[ranges] += part_sizes[ranges]
                fits = bool((reserved[ranges] <= ends[1:]).all())
            if not fits:
                raise _changed()
            # In which order threads come does not matter: each range will be sorted.
            scatter_ranges(fingerprints, ranges.start, ranges.stop, places, room)

    for _ in map_in_order(work, parts, n_threads):
        pass
    if not np.array_equal(reserved[ranges], ends[1:]):
        raise _changed()
    return ends.tolist()  # type: ignore[no-any-return]  # numpy does not tell of how many dimensions the list is


def _count(
    room: NDArray[np.uint64], ends: Sequence[int], least: Callable[[], int], n_threads: int
) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int64]]]:
    """Return the fingerprints of each few ranges in ascending order with their counts, if above what ``least`` says."""

    def work(first: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        last = min(first + _RANGES_AT_ONCE, len(ends) - 1)
        for number in range(first, last):
            room[ends[number] : ends[number + 1]].sort()
        return count_runs(room[ends[first] : ends[last]], least())

    yield from map_in_order(work, range(0, len(ends) - 1, _RANGES_AT_ONCE), n_threads)


class _Greatest:
    """The greatest counts of fingerprints that come in ascending order."""

    def __init__(self, n_kept: int) -> None:
        self.n_kept = n_kept
        self.least = 0
        """What a count must exceed: a later fingerprint of the least count that is kept would be a larger one."""
        self._values = [np.empty(0, dtype=np.uint64)]
        self._counts = [np.empty(0, dtype=np.int64)]
        self._size = 0

    def add(self, values: NDArray[np.uint64], counts: NDArray[np.int64]) -> None:
        """Take some more."""
        self._values.append(values)
        self._counts.append(counts)
        self._size += len(values)
        if self._size > max(2 * self.n_kept, _FEW):
            self._drop()

    def in_order(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return those that are left, the greatest count first, then the smaller fingerprint."""
        self._drop()
        (values,), (counts,) = self._values, self._counts
        order = np.argsort(-counts, kind="stable")  # equal counts stand in the order of their fingerprints
        return values[order], counts[order]

    def _drop(self) -> None:
        values, counts = np.concatenate(self._values), np.concatenate(self._counts)
        if len(counts) > self.n_kept:
            place = len(counts) - self.n_kept
            self.least = int(np.partition(counts, place)[place])
            is_kept = counts > self.least
            ties = np.flatnonzero(counts == self.least)
            is_kept[ties[: self.n_kept - np.count_nonzero(is_kept)]] = True
            values, counts = values[is_kept], counts[is_kept]
        self._values, self._counts, self._size = [values], [counts], len(values)


def _changed() -> RuntimeError:
    return RuntimeError("The texts changed while their n-grams were counted. Let nothing write to them during fit.")
