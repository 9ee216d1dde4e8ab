"""Memory of this process, read from /proc, and workers in new processes."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

_MEBI = 2**20
_CHECKOUT = str(Path(__file__).parents[2])


def resident_mb() -> float:
    """Return the resident memory in MiB."""
    return _status("VmRSS")


def peak_mb() -> float:
    """Return the peak resident memory in MiB since :func:`reset_peak`."""
    return _status("VmHWM")


def reset_peak() -> None:
    """Reset the peak; where the system forbids it, the peak remains that of the whole process."""
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


def run_worker(*arguments: str) -> dict[str, Any]:
    """Run Python with these arguments in a new process and return the JSON on its last line of output."""
    paths = [_CHECKOUT, *filter(None, [os.environ.get("PYTHONPATH")])]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run([sys.executable, *arguments], stdout=subprocess.PIPE, text=True, check=True, env=env)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def run_script(name: str, *arguments: str) -> dict[str, Any]:
    """Run a benchmark as a worker in a new process, and return its JSON."""
    return run_worker("-m", "benchmarks", "run", name, *arguments)
