"""Timing of methods in alternation, of training, and their statistics."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

from sklearn.pipeline import Pipeline

from benchmarks.common.data import Rows


def summarize_seconds(measured: Sequence[float]) -> dict[str, Any]:
    """Return the median of the rounds and all of them."""
    return {"median": statistics.median(measured), "all": list(measured)}


def median_ratio(theirs: Sequence[float], ours: Sequence[float]) -> float:
    """Return the median over rounds of the ratio of their seconds to ours."""
    return statistics.median(their / our for their, our in zip(theirs, ours, strict=True))


def order_of_round(methods: Sequence[str], round_: int) -> list[str]:
    """Return the order of the methods in a round, alternately forward and backward."""
    return list(methods) if round_ % 2 else list(reversed(methods))


Run = dict[str, float]


def train_and_test(model: Pipeline, train: Rows, test: Rows) -> Run:
    """Fit the model; return its test accuracy in percent and the seconds and CPU seconds of fit."""
    start, cpu_start = time.perf_counter(), time.process_time()
    model.fit(train.texts, train.labels)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    accuracy = 100 * float(model.score(test.texts, test.labels))
    return {"accuracy": accuracy, "seconds": seconds, "CPU seconds": cpu_seconds}


def summary(runs: list[Run], units: Sequence[str] = ("seconds",)) -> dict[str, Any]:
    """Return mean and standard deviation of accuracy, medians of other units, and the runs."""
    accuracies = [run["accuracy"] for run in runs]
    return {
        "accuracy": statistics.mean(accuracies),
        "spread": statistics.pstdev(accuracies),
        **{unit: statistics.median(run[unit] for run in runs) for unit in units},
        "runs": runs,
    }
