"""Every use of a thread pool: background work, results in order, blocks of rows, prefetching."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from numbers import Integral
from threading import Lock, current_thread
from typing import Any, TypeVar

import joblib

from sklearn_hashnlp._posix import call_after_fork

Item = TypeVar("Item")
Result = TypeVar("Result")


def effective_n_jobs(n_jobs: Any) -> int:
    """Return the number of threads for ``n_jobs``; 1 in a worker process, which shares the CPUs."""
    check_n_jobs(n_jobs)
    # joblib returns the same there, with a warning about processes that nobody wants to start.
    return 1 if multiprocessing.current_process().daemon else int(joblib.effective_n_jobs(n_jobs))


def check_n_jobs(n_jobs: Any) -> None:
    """Raise an error for a number of threads that was set after ``fit``, which checks it."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(
            f"The 'n_jobs' parameter must be an instance of 'int', not 0, or None. Got {n_jobs!r} "
            "instead."
        )


def submit(
    pool: ThreadPoolExecutor, work: Callable[..., Result], *arguments: Any
) -> Future[Result]:
    """Submit a call to a pool, or make it at once if the pool accepts none, as at exit."""
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
    # a pool that cannot start a thread has queued the call all the same: the first of both runs
    except RuntimeError:
        run()
    return future


class _Background:
    """The background thread of this process; a forked process starts a new one."""

    pool: ThreadPoolExecutor | None = None


def _forget_background() -> None:
    _Background.pool = None


call_after_fork(_forget_background)


def run_in_background(work: Callable[..., Result], *arguments: Any) -> Future[Result]:
    """Start a call on the background thread, which makes one call after the other."""
    if _Background.pool is None:
        _Background.pool = ThreadPoolExecutor(1, thread_name_prefix="hashnlp-background")
    return submit(_Background.pool, work, *arguments)


def run_beside(work: Callable[..., Result], *arguments: Any) -> Future[Result]:
    """Start a call on a thread of its own."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="hashnlp-beside")
    try:
        return submit(pool, work, *arguments)
    finally:
        pool.shutdown(wait=False)


def prefetch(items: Iterable[Item]) -> Generator[Item, None, None]:
    """Compute each item on the background thread while the one before is in use."""
    iterator = iter(items)
    waiting = run_in_background(_next, iterator)
    while result := waiting.result():
        waiting = run_in_background(_next, iterator)
        yield result[0]


def _next(iterator: Iterator[Item]) -> list[Item]:
    return list(islice(iterator, 1))


_WORKER = "hashnlp-map"


def is_worker() -> bool:
    """Return whether this thread is one of several that compute a map: it should not start more."""
    return current_thread().name.startswith(_WORKER)


def map_in_order(
    work: Callable[[Item], Result], items: Iterable[Item], n_threads: int
) -> Iterator[Result]:
    """Yield results in the order of the items; one thread or one item uses the caller's thread."""
    items = iter(items)
    begin = list(islice(items, 2))
    items = chain(begin, items)
    return (
        map(work, items)
        if n_threads == 1 or len(begin) < 2
        else map_in_background(work, items, n_threads)
    )


def map_in_background(
    work: Callable[[Item], Result], items: Iterable[Item], n_threads: int
) -> Generator[Result, None, None]:
    """Yield results in the order of the items, with up to ``2 * n_threads`` computed ahead."""
    items = iter(items)
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(n_threads, thread_name_prefix=_WORKER) as pool:
        try:
            waiting.extend(submit(pool, work, item) for item in islice(items, 2 * n_threads))
            while waiting:
                result = waiting.popleft().result()
                waiting.extend(submit(pool, work, item) for item in islice(items, 1))
                yield result
                del result  # it may be freed while the next one is waited for
        finally:
            for future in waiting:
                future.cancel()


def map_blocks(
    work: Callable[[slice], None],
    n_rows: int,
    n_threads: int,
    *,
    min_rows: int = 1,
    max_rows: int | None = None,
) -> None:
    """Call a function for blocks of neighboring rows; the calling thread works too."""
    n_threads = max(min(n_threads, n_rows // min_rows), 1)
    size = -(-n_rows // n_threads)
    size = max(size if max_rows is None else min(size, max_rows), 1)
    blocks = deque(slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))

    def work_through() -> None:
        while True:
            try:
                block = blocks.popleft()
            except IndexError:
                return
            work(block)

    if n_threads == 1 or len(blocks) < 2:
        work_through()
        return
    with ThreadPoolExecutor(n_threads - 1, thread_name_prefix="hashnlp-blocks") as pool:
        futures = [submit(pool, work_through) for _ in range(n_threads - 1)]
        work_through()
        for future in futures:
            future.result()
