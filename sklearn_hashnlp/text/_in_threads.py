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
    """Do some work on each item, and give the results in the order of the items."""
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
