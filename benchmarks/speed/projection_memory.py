"""Peak memory of a projection minus the memory of the idle process with everything imported.

Each method runs in a new process, which holds the rows before its idle memory is read. The minimum
of several runs is reported, the least noisy.
"""

from __future__ import annotations

from collections.abc import Sequence

from scipy.sparse import issparse

from benchmarks.common.memory import in_new_process, peak_mb, reset_peak, resident_mb
from benchmarks.speed.projection_pipelines import run_pipeline


def projection_memory(
    methods: Sequence[str], rows: Sequence[str], vocabulary: Sequence[str], repeats: int
) -> dict[str, dict[str, float]]:
    """Return the growth of memory in MiB of each method, and the size of its result."""
    measured = {
        method: [in_new_process(_measure, method, rows, vocabulary) for _ in range(repeats)]
        for method in methods
    }
    return {
        method: min(runs, key=lambda run: run["growth MiB"]) for method, runs in measured.items()
    }


def _measure(method: str, rows: Sequence[str], vocabulary: Sequence[str]) -> dict[str, float]:
    run_pipeline(method, rows[:5], vocabulary)  # load everything used
    reset_peak()
    idle = resident_mb()
    result = run_pipeline(method, rows, vocabulary)
    grown = peak_mb() - idle
    arrays = [result.data, result.indices, result.indptr] if issparse(result) else [result]
    return {
        "idle MiB": idle,
        "growth MiB": grown,
        "result MiB": sum(array.nbytes for array in arrays) / 2**20,
    }
