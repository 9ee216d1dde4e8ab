"""TREC accuracy of models that `hashnlp tune` finds in a minute: any size, and a megabyte at most.

For each seed a fifth of the training rows is held out, and the command searches on the others in a
separate process, once without a limit of size and once with it; its wall-clock time is measured.
Both models, and the default parameters trained on the same rows, are tested on the held-out rows,
which no search has seen. Sizes are of the model folders.

    python -m benchmarks run bench_tune --data DIR
"""

from __future__ import annotations

import csv
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sklearn.model_selection import train_test_split

from benchmarks.common.benchmark import BenchmarkParser, environment, write_result
from benchmarks.common.data import Rows
from benchmarks.common.pages import table
from sklearn_hashnlp.persistence import load_model

RESULT = "tune.json"
MODELS = {
    "default": "default parameters",
    "best": "best model",
    "small": "best model of at most 1 MB",
}
DATA_SET = "trec"
MAX_SIZE = "1MB"
HELD_OUT = 0.2


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    parser.add_argument(
        "--seeds", type=int, default=5, help="number of searches (default: %(default)s)"
    )
    parser.add_argument(
        "--time", type=float, default=60, help="seconds of a search (default: %(default)s)"
    )
    options, data, path = parser.read(arguments)
    rows = data.train(DATA_SET)

    searches = []
    for seed in range(options.seeds):
        searches.append(search(rows, seed, options.time))
        show(searches[-1])
    result = {
        "data": {"name": DATA_SET, "rows": len(rows.texts), "held out": HELD_OUT},
        "seconds of a search": options.time,
        "searches": searches,
        "mean": {
            name: statistics.mean(one["held out"][name] for one in searches)
            for name in ("default", "best", "small")
        },
    }
    print(" ".join(f"{name} {value:.2f}" for name, value in result["mean"].items()))
    packages = ("sklearn-hashnlp", "numpy", "scikit-learn", "torch")
    write_result(path, environment(*packages) | result)


def search(rows: Rows, seed: int, seconds: float) -> dict[str, Any]:
    """Search on four fifths of the rows, and test the models on the others."""
    texts, held_out, labels, true = train_test_split(
        rows.texts, rows.labels, test_size=HELD_OUT, random_state=seed, stratify=rows.labels
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder / "train.csv", texts, labels)
        train = [str(folder / "train.csv"), "--seed", str(seed)]
        _, _ = run("train", *train, "--model", str(folder / "default"))
        best, wall = run("tune", *train, "--model", str(folder / "best"), "--time", str(seconds))
        limits = ("--max-size", MAX_SIZE, "--time", str(seconds))
        small, small_wall = run("tune", *train, "--model", str(folder / "small"), *limits)
        models = {model: load_model(folder / model) for model in ("default", "best", "small")}
        return {
            "seed": seed,
            "wall seconds": {"best": wall, "small": small_wall},
            "trials": best["n_trials"],
            "params": {"best": best["params"], "small": small["params"]},
            "precision": {"best": best["precision"], "small": small["precision"]},
            "cross-validation": {
                "default": 100 * best["default_score"],
                "best": 100 * best["score"],
                "small": 100 * small["score"],
            },
            "held out": {
                model: 100 * float(one.score(held_out, true)) for model, one in models.items()
            },
            "bytes": {
                model: sum(file.stat().st_size for file in (folder / model).iterdir())
                for model in models
            },
        }


def run(command: str, *arguments: str) -> tuple[dict[str, Any], float]:
    """Run a command of hashnlp; return its JSON and its wall-clock time."""
    started = time.perf_counter()
    process = [sys.executable, "-m", "sklearn_hashnlp", command, *arguments, "--json"]
    output = subprocess.run(process, check=True, capture_output=True, text=True).stdout
    return json.loads(output), time.perf_counter() - started


def write_rows(path: Path, texts: Sequence[str], labels: Sequence[str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["label", "text"])
        writer.writerows(zip(labels, texts, strict=True))


def show(one: dict[str, Any]) -> None:
    print(f"seed {one['seed']}: {one['trials']} trials in {one['wall seconds']['best']:.1f} s")
    for model, accuracy in one["held out"].items():
        score, size = one["cross-validation"][model], one["bytes"][model]
        params = one["params"].get(model, {})
        print(
            f"  {model:8} held out {accuracy:6.2f}  cross-validation {score:6.2f}  {size:10,} "
            f"bytes  {params}",
            flush=True,
        )


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per model, with the accuracies of all seeds."""
    searches = result.get("searches", [])
    rows = []
    for name, label in MODELS.items():
        accuracies = [one["held out"][name] for one in searches]
        size = max(one["bytes"][name] for one in searches) / 1e6
        rows.append(
            (
                label,
                f"{statistics.mean(accuracies):.1f}",
                *(f"{value:.1f}" for value in accuracies),
                f"{size:.2f} MB",
            )
        )
    return table(("", "mean", *(f"seed {one['seed']}" for one in searches), "largest size"), rows)
