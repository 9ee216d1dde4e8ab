"""Peak memory of a projection minus the memory of the idle process with everything imported.

Each method runs in a new process, which holds the rows before its idle memory is read. The minimum of several runs is
reported, the least noisy. Run as a script, this module is that process: its argument is JSON with the method and the
file that holds the rows.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from scipy.sparse import issparse

from benchmarks.common.memory import peak_mb, reset_peak, resident_mb, run_worker
from benchmarks.speed.projection_pipelines import run_pipeline


def projection_memory(
    methods: Sequence[str], rows: Sequence[str], vocabulary: Sequence[str], repeats: int
) -> dict[str, dict[str, float]]:
    """Return the growth of memory in MiB of each method, and the size of its result."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.json"
        path.write_text(json.dumps({"rows": list(rows), "vocabulary": list(vocabulary)}), encoding="utf-8")
        measured = {method: [_measure_in_worker(method, path) for _ in range(repeats)] for method in methods}
    return {method: min(runs, key=lambda run: run["growth MiB"]) for method, runs in measured.items()}


def _measure_in_worker(method: str, path: Path) -> dict[str, float]:
    return run_worker("-m", "benchmarks.speed.projection_memory", json.dumps({"method": method, "path": str(path)}))


def _measure(method: str, path: Path) -> dict[str, float]:
    inputs = json.loads(path.read_text(encoding="utf-8"))
    run_pipeline(method, inputs["rows"][:5], inputs["vocabulary"])  # load and compile everything used
    reset_peak()
    idle = resident_mb()
    result = run_pipeline(method, inputs["rows"], inputs["vocabulary"])
    grown = peak_mb() - idle
    arrays = [result.data, result.indices, result.indptr] if issparse(result) else [result]
    return {"idle MiB": idle, "growth MiB": grown, "result MiB": sum(array.nbytes for array in arrays) / 2**20}


if __name__ == "__main__":
    task = json.loads(sys.argv[1])
    print(json.dumps(_measure(task["method"], Path(task["path"]))))
