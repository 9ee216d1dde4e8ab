"""A clock for measured times, which stands still while functions are compiled."""

from __future__ import annotations

import time


class _Compiling:
    """Compilations of this process; numba's lock lets one thread at a time compile."""

    depth = 0  # a function that calls another compiles it
    since = 0.0
    seconds = 0.0  # of those that have ended


def clock() -> float:
    """Return seconds, of which only differences mean something: ``time.perf_counter()`` without compilations."""
    now = _Compiling.since if _Compiling.depth else time.perf_counter()
    return now - _Compiling.seconds


def compiling_begins() -> None:
    """Stop the clock."""
    if not _Compiling.depth:
        _Compiling.since = time.perf_counter()
    _Compiling.depth += 1


def compiling_ends() -> None:
    """Let the clock go on."""
    _Compiling.depth -= 1
    if not _Compiling.depth:
        _Compiling.seconds += time.perf_counter() - _Compiling.since


def compile_seconds() -> float:
    """Return the seconds that this process has spent on compilations."""
    return _Compiling.seconds
