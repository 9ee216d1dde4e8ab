"""What sides that are timed in turn have to say about each other."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

from sklearn.pipeline import Pipeline

from .data import Rows


def seconds_of_turns(found: Sequence[float]) -> dict[str, Any]:
    """Give the median of the turns and all of them."""
    return {"median": statistics.median(found), "all": list(found)}


def times_as_long(theirs: Sequence[float], ours: Sequence[float]) -> float:
    """Tell how many times as long the other side takes: the median of the ratios, each of one turn."""
    return statistics.median(their / our for their, our in zip(theirs, ours, strict=True))


def sides_of_turn(sides: Sequence[str], turn: int) -> list[str]:
    """Give the order in which the sides have a turn: forwards and backwards by turns, so that none is always first."""
    return list(sides) if turn % 2 else list(reversed(sides))


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
