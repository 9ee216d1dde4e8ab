"""Work for a pool of threads, also while Python ends."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, TypeVar

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
