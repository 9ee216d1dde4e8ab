"""Memory of this process, as Linux counts it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_MEBI = 2**20
_BENCHMARKS = str(Path(__file__).parents[1])


def resident_mb() -> float:
    """Give what is resident now, in MiB."""
    return _status("VmRSS")


def peak_mb() -> float:
    """Give the most that was resident at a time, in MiB, since :func:`forget_peak`."""
    return _status("VmHWM")


def forget_peak() -> None:
    """Start to look for the peak anew. Where the system forbids that, the peak is that of the whole process."""
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


def worker_environment() -> dict[str, str]:
    """Return the environment of a process in which ``python -m common.x`` finds this folder."""
    paths = [_BENCHMARKS, *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
