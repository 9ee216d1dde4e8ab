"""A second thread for kernels that do not depend on what the first is doing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

from sklearn_hashnlp._submit import submit

Result = TypeVar("Result")
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
