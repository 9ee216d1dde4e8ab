"""The quick examples of the gallery, and torch's threads, while other processes use the cores.

Threads of torch and of scikit-learn wait for each other by spinning. While another process has the core of one of them,
the others do nothing for a time slice of the system, at each of the many small sums of a small network.

examples   each with HASHNLP_QUICK=1, in a separate process with the libraries' default numbers of threads, alone and
           beside --busy processes that compute without end, in turns; the median of the seconds beside them must be at
           most 4 times the median of those alone, else the exit status is 1
networks   milliseconds of a training step of AttentionSeq2Seq by its size, on one torch thread and on one per core,
           alone and beside them

    python -m benchmarks run bench_load   (5 to 10 minutes; nothing else may run)
    python -m benchmarks run bench_load --part examples --only 0030 --rounds 1   (a test run; writes no JSON)

It needs no data.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common.benchmark import FOLDER, environment, read_result, write_result
from benchmarks.common.memory import in_new_process

RESULT = "load.json"
LIMIT = 4.0
EXAMPLES = Path(__file__).parents[1] / "examples"
CLUSTER = "07_larger_than_one_machine"  # needs engines that are not installed with the package
N_WORDS, BATCH_SIZE, LENGTH = 300, 32, 3  # as the example of the gallery that reverses words
PACKAGES = ("sklearn-hashnlp", "numpy", "scipy", "scikit-learn", "torch")
THREADS = [f"{library}_NUM_THREADS" for library in ("OMP", "MKL", "OPENBLAS", "NUMBA")] + ["OMP_WAIT_POLICY"]
SIZES = (16, 64, 256, 1024)
SECONDS = 3.0  # of a measurement of a network
ALONE, BESIDE = "alone", "beside busy processes"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="+", choices=["examples", "networks"], default=["examples", "networks"])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="examples with this in their path (default: all)")
    parser.add_argument("--rounds", type=int, default=1, help="measurements of each (default: %(default)s)")
    parser.add_argument("--busy", type=int, default=2, help="busy processes (default: %(default)s)")
    parser.add_argument(
        "--output", type=Path, help=f"the JSON (default: {RESULT} in benchmarks/results; not written with --only)"
    )
    options = parser.parse_args(arguments)
    for name in THREADS:
        os.environ.pop(name, None)
    path = FOLDER / RESULT if options.output is None and options.only is None else options.output
    result, slow = read_result(path), []
    if "networks" in options.part:
        networks = measure_networks(options.rounds, options.busy)
        result["networks"] = environment(*PACKAGES) | {"busy": options.busy, "sizes": networks}
    if "examples" in options.part:
        examples = {name: measure_example(name, options.rounds, options.busy) for name in names(options.only or [""])}
        result["examples"] = environment(*PACKAGES) | {"busy": options.busy, "limit": LIMIT, "examples": examples}
        slow = [name for name, measured in examples.items() if measured["ratio"] > LIMIT]
    write_result(path, result)
    if slow:
        raise SystemExit(f"More than {LIMIT:g} times as long beside {options.busy} busy processes: {', '.join(slow)}")


def names(wanted: Sequence[str]) -> list[str]:
    """Return the examples that are measured, by their paths in the gallery."""
    paths = [path.relative_to(EXAMPLES) for path in sorted(EXAMPLES.rglob("*.py"))]
    return [str(path) for path in paths if path.parts[0] != CLUSTER and any(part in str(path) for part in wanted)]


@contextlib.contextmanager
def busy_processes(number: int) -> Iterator[None]:
    """Let processes compute without end."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    time.sleep(0.5)  # until they have started
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def measure_example(name: str, rounds: int, n_busy: int) -> dict[str, Any]:
    """Measure the seconds of clock and processor of an example, alone and beside busy processes."""
    runs: dict[str, list[tuple[float, float]]] = {ALONE: [], BESIDE: []}
    run_example(name)  # compile the functions first
    for _ in range(rounds):
        runs[ALONE].append(run_example(name))
        with busy_processes(n_busy):
            runs[BESIDE].append(run_example(name))
    measured: dict[str, Any] = {
        where: {"s": statistics.median(s for s, _ in pairs), "processor s": statistics.median(s for _, s in pairs)}
        for where, pairs in runs.items()
    }
    measured["ratio"] = measured[BESIDE]["s"] / measured[ALONE]["s"]
    measured["runs"] = runs
    seconds = [f"{measured[where]['s']:6.1f} s ({measured[where]['processor s']:5.1f} of processor)" for where in runs]
    print(f"{name:72} {seconds[0]}, beside {n_busy} {seconds[1]}, ratio {measured['ratio']:.2f}", flush=True)
    return measured


def run_example(name: str) -> tuple[float, float]:
    """Run an example in a separate folder; return its seconds of clock and of processor."""
    env = os.environ | {"HASHNLP_QUICK": "1", "MPLBACKEND": "Agg"}
    env.pop("HASHNLP_DATA", None)
    with tempfile.TemporaryDirectory() as folder:
        began, before = time.perf_counter(), os.times()
        command = [sys.executable, str(EXAMPLES / name)]
        subprocess.run(command, cwd=folder, env=env, stdout=subprocess.DEVNULL, check=True)
        after = os.times()
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - began, processor


def measure_networks(rounds: int, n_busy: int) -> dict[str, Any]:
    """Measure the milliseconds of a training step by the size of the network and the number of threads."""
    numbers = sorted({1, os.cpu_count() or 1})
    measured: dict[str, Any] = {}
    for size in SIZES:
        for number in numbers:
            alone, beside = [], []
            for _ in range(rounds):
                alone.append(in_new_process(train_network, size, number, SECONDS))
                with busy_processes(n_busy):
                    beside.append(in_new_process(train_network, size, number, SECONDS))
            cell = {
                where: {key: statistics.median(run[key] for run in runs) for key in ("ms", "processor ms")}
                for where, runs in ((ALONE, alone), (BESIDE, beside))
            }
            measured.setdefault(str(size), {})[str(number)] = cell
            print(
                f"size {size:5}, {number} torch thread{'s' * (number > 1)}: {cell[ALONE]['ms']:8.2f} ms a step, beside "
                f"{n_busy} busy processes {cell[BESIDE]['ms']:8.2f} ms",
                flush=True,
            )
    return measured


def train_network(size: int, n_threads: int, seconds: float) -> dict[str, float]:
    """Return the steps of a small torch network, and the milliseconds of clock and of processor that a step took."""
    import torch

    from sklearn_hashnlp.nn import AttentionSeq2Seq, FullSoftmax

    torch.set_num_threads(n_threads)
    torch.manual_seed(0)
    network = AttentionSeq2Seq(N_WORDS + 1, size, size, size, output=FullSoftmax(size, N_WORDS + 1))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.005)
    symbols = torch.randint(0, N_WORDS, (BATCH_SIZE, LENGTH))

    def step() -> None:
        optimizer.zero_grad()
        network(symbols, symbols)[1].backward()
        optimizer.step()

    for _ in range(3):
        step()
    n_steps, began, processor = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - began < seconds:
        step()
        n_steps += 1
    milliseconds = [1000 * (time.perf_counter() - began), 1000 * (time.process_time() - processor)]
    return {"steps": n_steps, "ms": milliseconds[0] / n_steps, "processor ms": milliseconds[1] / n_steps}
