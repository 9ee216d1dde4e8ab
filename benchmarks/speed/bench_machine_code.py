"""Machine code for this processor, portable machine code, and none: processor seconds of one thread.

Two caches are filled by `hashnlp warmup` and `hashnlp warmup --portable`; then new processes, several of each in turn,
run the same tasks on AG News with either. "start" is the processor time up to the first answer of a small classifier;
"without a cache" it is measured once where nothing can be kept.

    python -m benchmarks run bench_machine_code --data DIR

Ratios are steadier than seconds where other programs run.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common.benchmark import BenchmarkParser, environment, write_result
from benchmarks.common.pages import table

RESULT = "machine_code.json"
PAGE = "container.md"
TASKS = {
    "start": "start of a process, up to the first answer of a small classifier",
    "vectorize": "`HashingNgramVectorizer`",
    "fit": "`TextClassifier().fit`",
    "fit by gradients": '`TextClassifier(loss="softmax").fit`',
    "predict": "`TextClassifier().predict`",
    "project": "`SGNNProjector`",
    "count": "`KneserNeyLanguageModel(order=3).fit`",
}
SET, ROWS = "ag_news", 20_000
PACKAGES = ("sklearn-hashnlp", "numpy", "numba", "scikit-learn", "scipy", "torch")
WORKER = Path(__file__).parents[1] / "common" / "machine_code_worker.py"
WARMUP = {"own": [], "portable": ["--portable"]}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    parser.add_argument("--repeats", type=int, default=3, help="processes of each kind (default: %(default)s)")
    options, data, path = parser.read(arguments)
    train = data.train(SET)
    with tempfile.TemporaryDirectory() as work:
        rows = Path(work, "rows.json")
        rows.write_text(json.dumps({"texts": train.texts[:ROWS], "labels": train.labels[:ROWS]}), encoding="utf-8")
        command = [sys.executable, "-m", "sklearn_hashnlp", "warmup", "--json"]
        warmups: dict[str, dict[str, float]] = {}
        for kind, flag in WARMUP.items():
            before = processor_seconds()
            made = run([*command, *flag], Path(work, kind))
            warmups[kind] = {"functions": made["n_compiled"], "bytes": made["bytes"]}
            warmups[kind]["seconds"] = processor_seconds() - before
        measured: dict[str, list[dict[str, float]]] = {kind: [] for kind in WARMUP}
        for _ in range(options.repeats):
            for kind, runs in measured.items():
                runs.append(run([sys.executable, str(WORKER), str(rows)], Path(work, kind)))
        nothing_kept = run([sys.executable, str(WORKER), str(rows)], Path(os.devnull))
    if any(one["compiled at start"] for runs in measured.values() for one in runs):
        raise RuntimeError("A process compiled, although its cache was filled.")
    result = environment(*PACKAGES) | {
        "rows": min(ROWS, len(train.texts)),
        "warmup": warmups,
        "seconds": {
            kind: {task: statistics.median(one[task] for one in runs) for task in TASKS}
            for kind, runs in measured.items()
        },
        "without a cache": {name: nothing_kept[name] for name in ("start", "compiled at start")},
    }
    print(markdown(result))
    print(json.dumps(result, indent=2))
    write_result(path, result)


def run(command: list[str], cache: Path) -> dict[str, Any]:
    """Run a command that prints JSON, with a folder for machine code, in one thread."""
    own = {"NUMBA_CACHE_DIR": str(cache), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=os.environ | own, stdout=subprocess.PIPE, text=True, check=True)
    printed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return printed


def processor_seconds() -> float:
    """Return the results of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per task, and the ratio of portable machine code to code for this processor."""
    own, portable = (result.get("seconds", {}).get(kind, {}) for kind in ("own", "portable"))
    return table(
        ("", "native, s", "portable, s", "ratio"),
        (
            (title, f"{own[task]:.2f}", f"{portable[task]:.2f}", f"{portable[task] / own[task]:.2f}")
            for task, title in TASKS.items()
            if task in own
        ),
    )


TABLES = {"machine code": markdown}
