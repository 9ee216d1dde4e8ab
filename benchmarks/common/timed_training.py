"""One training from raw strings, timed and tested, and the summary of several."""

from __future__ import annotations

import statistics
import time
from typing import Any

from sklearn.pipeline import Pipeline

from .labelled_sets import Rows

Run = dict[str, float]


def train_and_test(model: Pipeline, train: Rows, test: Rows) -> Run:
    """Fit the model; give its accuracy on the test rows in percent and the seconds of fitting."""
    start = time.perf_counter()
    model.fit(train.texts, train.labels)
    seconds = time.perf_counter() - start
    return {"accuracy": 100 * float(model.score(test.texts, test.labels)), "seconds": seconds}


def summary(runs: list[Run]) -> dict[str, Any]:
    """Give the mean and the standard deviation of the accuracy and the median of the seconds, and the runs."""
    accuracies = [run["accuracy"] for run in runs]
    return {
        "accuracy": statistics.mean(accuracies),
        "spread": statistics.pstdev(accuracies),
        "seconds": statistics.median(run["seconds"] for run in runs),
        "runs": runs,
    }
