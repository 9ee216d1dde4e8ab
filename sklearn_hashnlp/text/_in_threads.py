"""The same work on one item after the other, on several threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

from sklearn_hashnlp._submit import submit

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_threads(work: Callable[[Item], Result], items: Iterable[Item], n_threads: int) -> Iterator[Result]:
    """Do some work on each item, and give the results in the order of the items.

    Few items wait at a time, however many there are.

    Parameters
    ----------
    work : callable
        What to do with an item; it should let go of Python's lock.
    items : iterable
        The items, read by the caller's thread.
    n_threads : int
        How many at once; 1 works in the caller's thread, and so does a single item.

    Yields
    ------
    object
        What ``work`` gave.

    Examples
    --------
    >>> list(in_threads(abs, [-3, 2, -1], 2))
    [3, 2, 1]
    """
    items = iter(items)
    begin = list(islice(items, 2))
    if n_threads == 1 or len(begin) < 2:
        yield from map(work, chain(begin, items))
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(n_threads) as pool:
        for item in chain(begin, items):
            waiting.append(submit(pool, work, item))
            if len(waiting) > 2 * n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
