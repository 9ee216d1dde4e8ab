"""Every use of a thread pool: running in the background, in order, in blocks, and ahead."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice, pairwise
from threading import Lock
from typing import Any, TypeVar

import torch

Result = TypeVar("Result")


def submit(pool: ThreadPoolExecutor, work: Callable[..., Result], *arguments: Any) -> Future[Result]:
    """Let a pool do some work, or do it here and now where the pool takes none."""
    future: Future[Result] = Future()
    first = Lock()

    def run() -> None:
        if first.acquire(blocking=False) and future.set_running_or_notify_cancel():
            try:
                future.set_result(work(*arguments))
            except BaseException as error:
                future.set_exception(error)

    try:
        pool.submit(run)
    except RuntimeError:  # a pool without a new thread has put the work on its list all the same: the first one does it
        run()
    return future


_FEW = 16  # rows that are not worth another thread


def in_blocks(work: Callable[[slice], None], n_rows: int) -> None:
    """Do some work on neighbouring rows at a time, on as many threads as torch uses."""
    n_threads = max(min(torch.get_num_threads(), n_rows // _FEW), 1)
    ends = [n_rows * thread // n_threads for thread in range(n_threads + 1)]
    blocks = [slice(begin, end) for begin, end in pairwise(ends)]
    if len(blocks) == 1:
        work(blocks[0])
        return
    with ThreadPoolExecutor(n_threads - 1) as pool:
        waiting = [submit(pool, work, block) for block in blocks[1:]]
        work(blocks[0])
        for future in waiting:
            future.result()


Item = TypeVar("Item")


class _Side:
    """The one thread of this process; a forked process, which has none of its parent's threads, makes its own."""

    pool: ThreadPoolExecutor | None = None


def _forget() -> None:
    _Side.pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def beside(work: Callable[..., Result], *arguments: Any) -> Future[Result]:
    """Begin some work on the side, or do it at once where there is no side thread to be had any more."""
    if _Side.pool is None:
        _Side.pool = ThreadPoolExecutor(1, thread_name_prefix="hashnlp-side")
    return submit(_Side.pool, work, *arguments)


def ahead(items: Iterable[Item]) -> Iterator[Item]:
    """Make each item on the side while the one before is in use."""
    iterator = iter(items)
    waiting = beside(_next, iterator)
    while found := waiting.result():
        waiting = beside(_next, iterator)
        yield found[0]


def _next(iterator: Iterator[Item]) -> list[Item]:
    return list(islice(iterator, 1))


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
