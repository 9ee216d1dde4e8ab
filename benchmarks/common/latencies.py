"""The time that calls take, also in processes that import nothing of this package."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

SINGLE = 1000  # texts that are predicted one at a time


def latencies(predict: Callable[[str], Any], texts: Iterable[str]) -> list[float]:
    """Return the milliseconds of each answer."""
    measured = []
    for text in texts:
        start = time.perf_counter()
        predict(text)
        measured.append(1000 * (time.perf_counter() - start))
    return measured


def seconds_of(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
