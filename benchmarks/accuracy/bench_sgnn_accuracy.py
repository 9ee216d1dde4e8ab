"""Accuracy of SGNNClassifier on projections, against a linear model on the same rows.

Two parts, each of which can be run alone (--part) and is added to the same JSON:

accuracy    SwDA, MRDA (5 labels), ATIS, TREC and languages79, from the utterance alone: the recipe
            of each data set (see common/sgnn_recipes.py), mean and spread over the seeds, each of
            hyperplanes and training, and TF-IDF with a linear SVM, in lowercase or not. Recipes,
            and the case, were chosen on training and validation rows; test rows are read only here.
ablations   TREC and MRDA: the paper's classifier with one setting changed at a time. Evaluated on
            validation rows, not on test rows; for MRDA 10,000 training and 4,000 validation rows.

Each result is written when it is measured and skipped the next time (unless --again is given).

    python -m benchmarks run bench_sgnn_accuracy --data DIR
    python -m benchmarks run bench_sgnn_accuracy --data DIR --part accuracy --sets trec atis
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from benchmarks.common import classifier_accuracy
from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import DataFolder, Rows
from benchmarks.common.sgnn_recipes import ABLATIONS, RECIPES, paper_pipeline
from benchmarks.common.timing import summary, train_and_test

RESULT = "sgnn_accuracy.json"
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "skorch", "torch")
PARTS = ("accuracy", "ablations")
# The best linear model of each data set, of those that bench_classifiers.py compares.
LINEAR = {
    "trec": "svm-punctuation",
    "atis": "svm-characters",
    "mrda": "svm-punctuation",
    "swda": "svm-punctuation",
    "languages79": "svm-characters",
}
# Training rows, validation rows and epochs of each set
ABLATION_ROWS: dict[str, tuple[int | None, int | None, int]] = {
    "trec": (None, None, 8),
    "mrda": (10_000, 4_000, 4),
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    parser.add_choices("--part", PARTS)
    parser.add_choices("--sets", RECIPES)
    parser.add_argument("--seeds", type=int, default=5, help="for accuracy (default: %(default)s)")
    parser.add_argument(
        "--ablation-seeds", type=int, default=3, help="for ablations (default: %(default)s)"
    )
    parser.add_again()
    options, data, path = parser.read(arguments)
    result = read_result(path) | environment(*PACKAGES)
    for part in options.part:
        for name in options.sets:
            if part == "ablations" and name not in ABLATION_ROWS:
                continue
            cells = result.setdefault(part, {}).setdefault(name, {})
            for model, measure in measures(part, name, data, options).items():
                if model in cells and not options.again:
                    continue
                start = time.perf_counter()
                cells[model] = measure()
                measured = f"{cells[model]['accuracy']:.2f} +-{cells[model]['spread']:.2f}"
                print(
                    f"{name}, {model}: {measured} %, done in {time.perf_counter() - start:.0f} s",
                    flush=True,
                )
                write_result(path, result)
    show(result)


def measures(
    part: str, name: str, data: DataFolder, options: argparse.Namespace
) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return the measurements of a data set, by their names in the JSON."""
    if part == "accuracy":
        return {
            "linear": partial(measure_linear, name, data),
            "sgnn": partial(measure_recipe, name, data, options.seeds),
        }
    rows = ablation_rows(name, data)
    return {
        variant: partial(measure_variant, name, changed, rows, options.ablation_seeds)
        for variant, changed in ABLATIONS.items()
    }


def measure_linear(name: str, data: DataFolder) -> dict[str, Any]:
    return {"model": LINEAR[name]} | classifier_accuracy.measure_linear(name, LINEAR[name], data)


def measure_recipe(name: str, data: DataFolder, seeds: int) -> dict[str, Any]:
    recipe = RECIPES[name]
    train = data.train(name)
    test = data.test(name)
    runs = []
    for seed in range(seeds):
        runs.append(train_and_test(recipe.pipeline(seed), train, test))
        print(
            f"{name}, seed {seed}: {runs[-1]['accuracy']:.2f} % in {runs[-1]['seconds']:.0f} s",
            flush=True,
        )
    return {"recipe": asdict(recipe)} | summary(runs)


def ablation_rows(name: str, data: DataFolder) -> tuple[Rows, Rows]:
    """Return training and validation rows; none of them is a test row."""
    train, valid = data.train_valid(name)
    max_train, max_valid, _ = ABLATION_ROWS[name]
    return train.sample(max_train), valid.sample(max_valid)


def measure_variant(
    name: str, changed: dict[str, Any], rows: tuple[Rows, Rows], seeds: int
) -> dict[str, Any]:
    _, _, max_epochs = ABLATION_ROWS[name]
    runs = [
        train_and_test(paper_pipeline(seed, max_epochs=max_epochs, **changed), *rows)
        for seed in range(seeds)
    ]
    return {"changed": changed} | summary(runs)


def show(result: dict[str, Any]) -> None:
    print("\nTest accuracy, %")
    for name, cells in result.get("accuracy", {}).items():
        line = "".join(
            f"{model:>10} {cells[model]['accuracy']:6.2f} +-{cells[model]['spread']:.2f}"
            for model in cells
        )
        print(f"{name:14}{line}")
    for name, cells in result.get("ablations", {}).items():
        print(f"\n{name}: validation accuracy, %")
        for variant, measured in cells.items():
            print(f"  {variant:52}{measured['accuracy']:6.2f} +-{measured['spread']:.2f}")
