"""Buckets, hashes and solvers of the text classifier: accuracy, training loss and seconds.

Each model minimizes the squared hinge loss on the same n-gram counts, those of
make_text_classifier; for each seed of another random sample of the training rows, and with other
hash functions. The test rows, at most 5,000 of a set, are read once. A paired bootstrap over the
test rows gives the 90 % interval of the difference to the model with half as many hashes. The
objective is the squared hinge loss on the training rows, in percent of the smallest loss of scores
that are the same for all rows.

    python -m benchmarks run bench_hashes --data DIR
    python -m benchmarks run bench_hashes --data DIR --sets trec sst2 --sizes 500 --seeds 2

All rows take hours. Each result is written when it is measured and skipped the next time (unless
--again is given).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import SETS, TITLES, DataFolder
from benchmarks.common.pages import table
from benchmarks.common.samples import add_sample_options, bootstrap
from sklearn_hashnlp.classifiers import HashEmbeddingClassifier, make_text_classifier

RESULT = "hashes.json"
PAGE = "hash_embeddings.md"
SOLVERS = ("dual", "sgd")
BUCKETS = {"1000": "1,000", "100000": "100,000", "1048576": "1,048,576"}
HASHES = (1, 2, 4)
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "torch")
_TEST_ROWS = 5000
_TOLERANCE = 1.0  # points that more hashes may cost


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    add_sample_options(parser, SETS)
    parser.set_defaults(sizes=[500, 4000, 0])
    options, data, path = parser.read(arguments)
    result = read_result(path) | environment(*PACKAGES)
    for size, name in product(options.sizes, options.sets):
        cells = result.setdefault("sizes", {}).setdefault(str(size), {})
        if name in cells and not options.again:
            continue
        cells[name] = measure(name, size, data, options.seeds) | {"date": result["date"]}
        print(f"{name}, {size or 'all'} rows", *cells_of(cells[name]), sep="\n    ", flush=True)
        write_result(path, result)
    print(f"Cells more than {_TOLERANCE:g} point below: {drops(result) or 'none'}")


def measure(name: str, size: int, data: DataFolder, seeds: int) -> dict[str, Any]:
    """Train and test all models on the same rows, for each seed."""
    train, test = data.train(name), data.test(name).sample(_TEST_ROWS)
    settings = list(product(SOLVERS, map(int, BUCKETS), HASHES))
    correct: dict[Any, list[NDArray[np.bool_]]] = {setting: [] for setting in settings}
    runs: dict[Any, list[dict[str, float]]] = {setting: [] for setting in settings}
    for seed in range(seeds):
        vectorizer, default = (step for _, step in make_text_classifier(random_state=seed).steps)
        rows = train.sample(size or None, seed)
        counts, labels = vectorizer.fit_transform(rows.texts, rows.labels), np.array(rows.labels)
        test_counts = vectorizer.transform(test.texts)
        for setting in settings:
            solver, n_buckets, n_hashes = setting
            model = default.set_params(
                loss="hinge", solver=solver, n_buckets=n_buckets, n_hashes=n_hashes
            )
            start = time.process_time()
            model.fit(counts, labels)
            seconds = time.process_time() - start
            correct[setting].append(np.asarray(model.predict(test_counts) == np.array(test.labels)))
            runs[setting].append(
                {"seconds": seconds, "objective": objective(model, counts, labels)}
            )
    return {"test rows": len(test.texts), "seeds": seeds} | {
        key_of(*setting): summary(setting, correct, runs[setting]) for setting in settings
    }


def objective(model: HashEmbeddingClassifier, counts: Any, labels: NDArray[Any]) -> float:
    """Return the squared hinge loss on rows, in percent of the loss of the best constant scores."""
    signs = np.where(labels[:, np.newaxis] == model.classes_, 1.0, -1.0)
    scores = model._score(model._rows(counts), model._model.linear).scores
    shares = (signs > 0).mean(axis=0)
    smallest = float((4 * shares * (1 - shares)).sum())
    return 100 * float((np.maximum(1 - signs * scores, 0) ** 2).sum(axis=1).mean()) / smallest


def summary(
    setting: Any, correct: dict[Any, list[NDArray[np.bool_]]], runs: list[dict[str, float]]
) -> dict[str, Any]:
    """Return a setting's accuracy, objective, seconds, and difference from half as many hashes."""
    solver, n_buckets, n_hashes = setting
    result: dict[str, Any] = {
        "accuracy": 100 * float(np.mean(correct[setting])),
        "objective": statistics.mean(run["objective"] for run in runs),
        "cpu seconds": statistics.median(run["seconds"] for run in runs),
    }
    if n_hashes > 1:
        fewer = correct[solver, n_buckets, n_hashes // 2]
        difference = 100 * (np.mean(correct[setting], axis=0) - np.mean(fewer, axis=0))
        result |= {"difference": float(difference.mean()), "interval": bootstrap(difference)}
    return result


def key_of(solver: str, n_buckets: int, n_hashes: int) -> str:
    return f"{solver}, {n_buckets} buckets, {n_hashes} hashes"


def cells_of(cells: dict[str, Any]) -> list[str]:
    """Return the lines of a data set: accuracy, objective and seconds by number of hashes."""
    lines = []
    for solver, n_buckets in product(SOLVERS, map(int, BUCKETS)):
        parts = [cells[key_of(solver, n_buckets, n_hashes)] for n_hashes in HASHES]
        columns = [
            " / ".join(f"{one[name]:.1f}" for one in parts)
            for name in ("accuracy", "objective", "cpu seconds")
        ]
        lines.append(f"{solver:5} {n_buckets:8}  " + "   ".join(columns))
    return lines


def drops(result: dict[str, Any]) -> list[str]:
    """Return cells worse than with half as many hashes by more than the tolerance and noise."""
    return [
        f"{name}, {size} rows, {key}: {cell['difference']:+.1f}"
        for size, sets in result["sizes"].items()
        for name, cells in sets.items()
        for key, cell in cells.items()
        if isinstance(cell, dict)
        and cell.get("difference", 0.0) < -_TOLERANCE
        and cell["interval"][1] < 0
    ]


def markdown(result: dict[str, Any], size: str) -> str:
    """Return the table of a number of rows: accuracies with 1, 2 and 4 hashes."""
    sets = result.get("sizes", {}).get(size, {})
    header = (
        "",
        *(f"{solver}, {buckets} buckets" for solver in SOLVERS for buckets in BUCKETS.values()),
    )
    rows = [[TITLES[name], *_columns(sets[name], "accuracy", 1)] for name in SETS if name in sets]
    if not rows:
        return ""
    for name, title, digits in (
        ("objective", "objective, mean", 2),
        ("cpu seconds", "seconds, median", 2),
    ):
        combine = statistics.median if name == "cpu seconds" else statistics.mean
        mean = {
            key: {name: combine(cells[key][name] for cells in sets.values())}
            for key in next(iter(sets.values()))
            if "hashes" in key
        }
        rows.append([title, *_columns(mean, name, digits)])
    return table(header, rows)


def _columns(cells: dict[str, Any], name: str, digits: int) -> list[str]:
    keys = [
        [key_of(solver, int(buckets), k) for k in HASHES]
        for solver in SOLVERS
        for buckets in BUCKETS
    ]
    return [" / ".join(f"{cells[key][name]:.{digits}f}" for key in column) for column in keys]


TABLES = {
    "hashes few rows": lambda result: markdown(result, "500"),
    "hashes more rows": lambda result: markdown(result, "4000"),
    "hashes all rows": lambda result: markdown(result, "0"),
}
