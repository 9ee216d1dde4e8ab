"""One text classifier, and classifiers of parts of the rows: merged into one, or voting.

The training rows of AG News are dealt into parts at random, a model is trained on each, and the
models are merged by sklearn_hashnlp.classifiers.merge_classifiers. Compared with it: one model of
all rows, the mean of the models' probabilities (a soft vote, which needs all models to predict),
and the models alone. The number of epochs was chosen for each of them on validation rows;
accuracies are of the test rows, one per seed, which also deals the rows.

    python -m benchmarks run bench_merge --data DIR

Seconds are processor time of one thread.
"""

from __future__ import annotations

import pickle
import statistics
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common.benchmark import (
    FOLDER,
    BenchmarkParser,
    environment,
    read_result,
    write_result,
)
from benchmarks.common.data import Rows
from benchmarks.common.pages import table
from sklearn_hashnlp.classifiers import TextClassifier, merge_classifiers

RESULT = "merge.json"
PAGE = "larger_than_one_machine.md"
DOCUMENTS = tuple(10**power for power in range(6, 10))
N_PROCESSES = 16
METHODS = ("merged", "vote", "alone")
HEADS = ("parts", "merged", "soft vote", "a model alone", "longest fit", "merging", "a model is")
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "torch")
EPOCHS = (1, 2, 3, 5)


class Outcome(NamedTuple):
    """Accuracies of one deal of the rows in percent, and what training and merging took."""

    accuracy: dict[str, float]
    fit_seconds: float  # the longest of all parts
    merge_seconds: float
    megabytes: float  # of a model with its training state, as it is sent


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    parser.add_argument(
        "--parts", nargs="+", type=int, default=[2, 4, 8], help="numbers of parts (default: 2 4 8)"
    )
    parser.add_argument(
        "--seeds",
        type=int,
        default=5,
        help="deals of the rows, and trainings (default: %(default)s)",
    )
    parser.add_again()
    options, data, path = parser.read(arguments)
    result = read_result(path)
    train, valid = data.train_valid("ag_news")
    everything, test = data.train("ag_news"), data.test("ag_news")
    for n_parts in (1, *options.parts):
        if str(n_parts) in result.get("parts", {}) and not options.again:
            continue
        tried = {
            n_epochs: measure(train, valid, n_parts, n_epochs, 0).accuracy for n_epochs in EPOCHS
        }
        chosen = {
            method: max(EPOCHS, key=lambda n_epochs: tried[n_epochs][method]) for method in METHODS
        }
        cell: dict[str, Any] = {
            "epochs": chosen,
            "tried": {str(n_epochs): accuracies for n_epochs, accuracies in tried.items()},
            "accuracy": {method: [] for method in METHODS},
        }
        outcomes: list[Outcome] = []
        for seed in range(options.seeds):
            by_epochs = {
                n: measure(everything, test, n_parts, n, seed) for n in sorted(set(chosen.values()))
            }
            for method, n_epochs in chosen.items():
                cell["accuracy"][method].append(by_epochs[n_epochs].accuracy[method])
            outcomes.append(by_epochs[chosen["merged"]])
        cell["seconds of the longest fit"] = statistics.median(one.fit_seconds for one in outcomes)
        cell["seconds of merging"] = statistics.median(one.merge_seconds for one in outcomes)
        cell["megabytes of a model"] = statistics.median(one.megabytes for one in outcomes)
        result |= environment(*PACKAGES) | {"rows": len(everything.texts), "seeds": options.seeds}
        result.setdefault("parts", {})[str(n_parts)] = cell
        print(f"{n_parts} parts: {cell}", flush=True)
        write_result(path, result)
    print(markdown(result))


def measure(train: Rows, test: Rows, n_parts: int, n_epochs: int, seed: int) -> Outcome:
    """Train a model on each part, merge the models, and compute the accuracies."""
    order, labels = np.random.default_rng(seed).permutation(len(train.texts)), np.array(test.labels)
    models, fit_seconds = [], []
    for part in np.array_split(order, n_parts):
        options = {"features": "words", "loss": "softmax", "max_epochs": n_epochs, "n_jobs": 1}
        model = TextClassifier(**options, random_state=seed)
        start = time.process_time()
        models.append(model.fit([train.texts[i] for i in part], [train.labels[i] for i in part]))
        fit_seconds.append(time.process_time() - start)
    start = time.process_time()
    merged = merge_classifiers(models)
    merge_seconds = time.process_time() - start
    probabilities = [model.predict_proba(test.texts) for model in models]
    vote = merged.classes_[np.mean(probabilities, axis=0).argmax(axis=1)]
    alone = [float((merged.classes_[one.argmax(axis=1)] == labels).mean()) for one in probabilities]
    accuracy = {
        "merged": 100 * float((merged.predict(test.texts) == labels).mean()),
        "vote": 100 * float((vote == labels).mean()),
        "alone": 100 * statistics.mean(alone),
    }
    return Outcome(accuracy, max(fit_seconds), merge_seconds, len(pickle.dumps(models[0])) / 1e6)


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per number of parts; one part is the model of all rows."""
    rows = []
    for n_parts, cell in sorted(result.get("parts", {}).items(), key=lambda pair: int(pair[0])):
        accuracies = [_mean(cell["accuracy"][method]) for method in METHODS]
        costs = (
            f"{cell['seconds of the longest fit']:.2f} s",
            "" if n_parts == "1" else f"{cell['seconds of merging']:.2f} s",
            f"{cell['megabytes of a model']:.0f} MB",
        )
        rows.append((n_parts, *(accuracies if n_parts != "1" else (accuracies[0], "", "")), *costs))
    return table(HEADS, rows)


def cost(_result: dict[str, Any]) -> str:
    """Return the table of the cost of many documents, in proportion to two other benchmarks."""
    return cost_markdown(
        *(read_result(FOLDER / f"{name}.json") for name in ("scale", "vectorizers"))
    )


def cost_markdown(scale: dict[str, Any], vectorizers: dict[str, Any]) -> str:
    """Return the table of the cost of many documents; its first row was measured."""
    run = scale["methods"]["partial_fit"]["runs"][-1]
    vectorizing = vectorizers["cases"]["words 1-2"]["ours s"] / vectorizers["data"]["texts"]
    training = run["seconds"] / run["documents"]
    rows = [
        (
            f"{n:,}",
            _duration(n * vectorizing),
            _duration(n * training),
            _duration(n * training / N_PROCESSES),
            f"{run['peak MiB']:.0f} MiB",
        )
        for n in DOCUMENTS
    ]
    heads = (
        "documents",
        "n-grams, a thread",
        "training, a process",
        f"{N_PROCESSES} processes",
        "memory of a process",
    )
    return table(heads, rows)


def _duration(seconds: float) -> str:
    """Return seconds in the unit that suits them."""
    units = (("h", 3600), ("min", 60), ("s", 1))
    unit, size = next((pair for pair in units if seconds >= 2 * pair[1]), units[-1])
    value = seconds / size
    return f"{value:.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}"


def _mean(values: Sequence[float]) -> str:
    mean = f"{statistics.mean(values):.2f}"
    return mean if len(values) < 2 else f"{mean} ± {statistics.stdev(values):.2f}"


TABLES = {"merge": markdown, "cost": cost}
