"""By how much the most memory that a projection needs at a time exceeds the idle process with everything imported.

Each side runs in a fresh process of its own, which holds the rows before it is called idle. The least of several runs
counts, so that noise adds none. Run as a script this module is that process: its arguments are JSON with the side and
the file that holds the rows.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from scipy.sparse import issparse

from .memory import forget_peak, peak_mb, resident_mb, worker_environment
from .projection_pipelines import run_side


def projection_memory(
    sides: Sequence[str], rows: Sequence[str], vocabulary: Sequence[str], repeats: int
) -> dict[str, dict[str, float]]:
    """Give for each side the growth of memory in MiB, and what of it are the results."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.json"
        path.write_text(json.dumps({"rows": list(rows), "vocabulary": list(vocabulary)}), encoding="utf-8")
        found = {side: [_in_a_process(side, path) for _ in range(repeats)] for side in sides}
    return {side: min(runs, key=lambda run: run["growth MiB"]) for side, runs in found.items()}


def _in_a_process(side: str, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "common.projection_memory", json.dumps({"side": side, "path": str(path)})]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=worker_environment())
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def _measure(side: str, path: Path) -> dict[str, float]:
    held = json.loads(path.read_text(encoding="utf-8"))
    run_side(side, held["rows"][:5], held["vocabulary"])  # whatever is loaded or compiled at the first use
    forget_peak()
    idle = resident_mb()
    result = run_side(side, held["rows"], held["vocabulary"])
    grown = peak_mb() - idle
    arrays = [result.data, result.indices, result.indptr] if issparse(result) else [result]
    return {"idle MiB": idle, "growth MiB": grown, "result MiB": sum(array.nbytes for array in arrays) / 2**20}


if __name__ == "__main__":
    task = json.loads(sys.argv[1])
    print(json.dumps(_measure(task["side"], Path(task["path"]))))
