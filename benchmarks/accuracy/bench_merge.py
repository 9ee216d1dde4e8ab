"""One text classifier, and classifiers of parts of the rows: merged into one, or voting.

The training rows of AG News are dealt into parts at random, a model is trained on each, and the models are merged by
sklearn_hashnlp.classifiers.merge. Beside it stand one model of all rows, the mean of the models' probabilities (a soft
vote, which needs all models to predict), and the models alone. The number of epochs was chosen for each of them on
validation rows; accuracies are of the test rows, one per seed, which also deals the rows.

    python -m benchmarks run bench_merge --data DIR
    python -m benchmarks run bench_merge --data DIR --rows 2000 --seeds 1   (a test run; writes no JSON)

Seconds are processor time of one thread.
"""

from __future__ import annotations

import argparse
import pickle
import statistics
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common.data import Rows, add_data_options, data_folder
from benchmarks.common.results_file import add_output_option, environment, output_path, read_result, write_result
from benchmarks.tables.merge_table import METHODS, markdown
from sklearn_hashnlp.classifiers import TextClassifier, merge

RESULT = "merge.json"
PACKAGES = ("sklearn-hashnlp", "numpy", "numba", "scikit-learn", "scipy", "torch")
EPOCHS = (1, 2, 3, 5)


class Outcome(NamedTuple):
    """Accuracies of one deal of the rows in percent, and what training and merging took."""

    accuracy: dict[str, float]
    fit_seconds: float  # the longest of all parts
    merge_seconds: float
    megabytes: float  # of a model with its training state, as it is sent


def main(arguments: Sequence[str] | None = None) -> None:
    parser = make_parser()
    options = parser.parse_args(arguments)
    data, path = data_folder(parser, options), output_path(options, RESULT)
    result = read_result(path)
    train, valid = data.train_valid("ag_news")
    everything, test = data.train("ag_news"), data.test("ag_news")
    for n_parts in (1, *options.parts):
        if str(n_parts) in result.get("parts", {}) and not options.again:
            continue
        tried = {n_epochs: measure(train, valid, n_parts, n_epochs, 0).accuracy for n_epochs in EPOCHS}
        chosen = {method: max(EPOCHS, key=lambda n_epochs: tried[n_epochs][method]) for method in METHODS}
        cell: dict[str, Any] = {
            "epochs": chosen,
            "tried": {str(n_epochs): accuracies for n_epochs, accuracies in tried.items()},
            "accuracy": {method: [] for method in METHODS},
        }
        outcomes: list[Outcome] = []
        for seed in range(options.seeds):
            by_epochs = {n: measure(everything, test, n_parts, n, seed) for n in sorted(set(chosen.values()))}
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


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_options(parser)
    parser.add_argument("--parts", nargs="+", type=int, default=[2, 4, 8], help="numbers of parts (default: 2 4 8)")
    parser.add_argument("--seeds", type=int, default=5, help="deals of the rows, and trainings (default: %(default)s)")
    parser.add_argument("--again", action="store_true", help="measure again what the JSON already holds")
    add_output_option(parser, RESULT)
    return parser


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
    merged = merge(models)
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
