"""The README's table of this package and other programs, from the JSON of the benchmarks."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.accuracy.bench_few_labels import means
from benchmarks.common.benchmark import FOLDER, read_result
from benchmarks.common.fasttext_peers import PEERS
from benchmarks.common.pages import table

HEADS = ("", "this package", "other program", "")
FILES = ("few_labels", "classifiers", "vectorizers", "serving", "small_sets")
TRAINING, PREDICTION, ONE_TEXT = "train a text classifier", "predict labels", "predict one text"


def tables() -> dict[str, str]:
    """Return the table of the stored results by its name: accuracy with few labels first."""
    results = {name: read_result(FOLDER / f"{name}.json") for name in FILES}
    return {
        "other programs": table(HEADS, _rows(results)),
    }


def best_rivals(
    classifiers: dict[str, Any], serving: dict[str, Any]
) -> dict[str, tuple[str, float]]:
    """Return for each task the package beside fastText, or fastText, that is closest to ours.

    With it: how many times as fast this package is. Of one text ours is a fitted model.
    """
    trained, many = classifiers["speed"]["models"], classifiers["prediction"]["times"]
    single = {name: one.get("single ms") for name, one in serving["models"].items()}
    ratios = {
        TRAINING: {name: trained[name]["times ours"] for name in PEERS},
        PREDICTION: {name: many[name] for name in PEERS},
        ONE_TEXT: {name: single[name.lower()] / single["fitted"] for name in PEERS},
    }
    return {task: min(found.items(), key=lambda pair: pair[1]) for task, found in ratios.items()}


def _rows(results: dict[str, dict[str, Any]]) -> list[tuple[str, ...]]:
    classifiers, serving = results["classifiers"], results["serving"]
    rivals = best_rivals(classifiers, serving)
    trained = classifiers["speed"]["models"]
    speeds = {name: one["median"] for name, one in classifiers["prediction"]["texts/s"].items()}
    single = {name: one.get("single ms") for name, one in serving["models"].items()}
    few = means(results["few_labels"])["250"]
    case = results["vectorizers"]["cases"]["words 1-2"]
    sets = [cells["0"] for cells in results["small_sets"]["sets"].values() if "0" in cells]
    ours, linear = (statistics.mean(cells[name] for cells in sets) for name in ("ours", "linear"))
    (trainer, training), (predictor, prediction), (server, one_text) = rivals.values()

    def of(name: str) -> str:
        return f"{trained[name]['seconds']:.2f} s, {trained[name]['accuracy']:.1f} % accuracy"

    return [
        (
            "accuracy with 250 labels, with unlabeled texts and the English encoder, mean of "
            f"{few['both']['sets']} data sets",
            f"{few['both']['accuracy']:.1f} %",
            f"TF-IDF and `LinearSVC`, tuned: {few['linear']['accuracy']:.1f} %",
            f"{few['both']['accuracy'] - few['linear']['accuracy']:+.1f}",
        ),
        (
            f"accuracy with all labels, mean of {len(sets)} data sets",
            f"{ours:.1f} %",
            f"TF-IDF and `LinearSVC`, tuned: {linear:.1f} %",
            f"{ours - linear:+.1f}",
        ),
        (
            TRAINING,
            of("TextClassifier"),
            f"{trainer} {of(trainer)}",
            f"{training:.1f} times as fast",
        ),
        (
            PREDICTION,
            f"{speeds['TextClassifier']:,.0f} texts/s",
            f"{predictor} {speeds[predictor]:,.0f} texts/s",
            f"{prediction:.1f} times as fast",
        ),
        (
            ONE_TEXT,
            f"{single['fitted']:.3f} ms",
            f"{server} {single[server.lower()]:.3f} ms",
            f"{one_text:.1f} times as fast",
        ),
        (
            "count words and pairs of words, hashed",
            f"{case['ours s']:.3f} s",
            f"scikit-learn's `HashingVectorizer` {case['scikit-learn s']:.2f} s",
            f"{case['ratio']:.0f} times as fast, one thread",
        ),
    ]
