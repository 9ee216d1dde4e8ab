"""The README's table of this package and other programs, from the JSON of the benchmarks."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.common.benchmark import FOLDER, read_result
from benchmarks.common.pages import table

HEADS = ("", "this package", "other program", "")
FILES = ("classifiers", "vectorizers", "serving", "small_sets")


def tables() -> dict[str, str]:
    """Return the table of the stored results by its name: what this package does better first."""
    results = {name: read_result(FOLDER / f"{name}.json") for name in FILES}
    return {
        "other programs": table(
            HEADS, [*_classifiers(results["classifiers"]), *_other_tasks(results)]
        )
    }


def _classifiers(result: dict[str, Any]) -> list[tuple[str, ...]]:
    ours, theirs = (result["speed"]["models"][name] for name in ("TextClassifier", "fastText"))
    speeds = {name: value["median"] for name, value in result["prediction"]["texts/s"].items()}
    return [
        (
            "train a text classifier",
            f"{ours['seconds']:.2f} s, {ours['accuracy']:.1f} % accuracy",
            f"fastText {theirs['seconds']:.2f} s, {theirs['accuracy']:.1f} % accuracy",
            f"{theirs['times ours']:.1f} times as fast",
        ),
        (
            "predict labels",
            f"{speeds['TextClassifier']:,.0f} texts/s",
            f"fastText {speeds['fastText']:,.0f} texts/s",
            f"{result['prediction']['times fastText']:.1f} times as fast",
        ),
    ]


def _other_tasks(results: dict[str, dict[str, Any]]) -> list[tuple[str, ...]]:
    case = results["vectorizers"]["cases"]["words 1-2"]
    sets = [cells["0"] for cells in results["small_sets"]["sets"].values() if "0" in cells]
    means = [statistics.mean(cells[name] for cells in sets) for name in ("ours", "linear")]
    single = {
        name: results["serving"]["models"][name]["single ms"] for name in ("process", "fasttext")
    }
    return [
        (
            "count words and pairs of words, hashed",
            f"{case['ours s']:.3f} s",
            f"scikit-learn's `HashingVectorizer` {case['scikit-learn s']:.2f} s",
            f"{case['ratio']:.0f} times as fast, one thread",
        ),
        (
            f"accuracy, mean of {len(sets)} data sets",
            f"{means[0]:.1f} %",
            f"TF-IDF and `LinearSVC`, tuned: {means[1]:.1f} %",
            f"{means[0] - means[1]:+.1f}",
        ),
        (
            "predict one text",
            f"{single['process']:.2f} ms",
            f"fastText {single['fasttext']:.2f} ms",
            f"{single['fasttext'] / single['process']:.1f} times as fast",
        ),
    ]
