"""Memory of this process, read from /proc, new processes to measure it in, and sizes of files."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

_MEBI = 2**20
T = TypeVar("T")


def resident_mb() -> float:
    """Return the resident memory in MiB."""
    return _status("VmRSS")


def peak_mb() -> float:
    """Return the peak resident memory in MiB since :func:`reset_peak`."""
    return _status("VmHWM")


def reset_peak() -> None:
    """Reset the peak; if the system forbids it, the peak is of the whole process."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _status(key: str) -> float:
    path = Path("/proc/self/status")
    if not path.exists():
        raise SystemExit("Memory is read from /proc/self/status, which only Linux has.")
    for line in path.read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024 / _MEBI
    raise SystemExit(f"/proc/self/status has no {key}.")


def in_new_process(function: Callable[..., T], *arguments: Any) -> T:
    """Call a module's top-level function in a new process, with nothing else in memory."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def megabytes(path: Path) -> float:
    """Return the size of a file, or of the files in a folder, in MB."""
    files = [path] if path.is_file() else [file for file in path.iterdir() if file.is_file()]
    return sum(file.stat().st_size for file in files) / 1e6
