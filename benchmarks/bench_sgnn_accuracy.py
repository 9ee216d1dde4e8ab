"""Accuracy of SGNNClassifier on projections only, beside a linear model on the same rows and published figures.

Two parts, each of which can be run alone (--part) and is added to the same JSON:

accuracy    SwDA, MRDA (5 labels), ATIS, TREC and languages79, from the utterance alone: the recipe of each set (see
            sgnn_recipes.py), mean and spread of the seeds, each of hyperplanes and training alike, and TF-IDF with a
            linear SVM. Recipes were chosen on training and validation rows; the test rows are read for these figures.
ablations   TREC and MRDA: the paper's classifier with one thing changed at a time. Judged on rows held out for
            choosing, not on test rows; of MRDA on 10,000 training and 4,000 validation rows.

Each result is written as soon as it is there and is skipped the next time (unless --again).

    python benchmarks/bench_sgnn_accuracy.py --data DIR
    python benchmarks/bench_sgnn_accuracy.py --data DIR --part accuracy --sets trec atis
    python benchmarks/bench_sgnn_accuracy.py --data DIR --rows 500 --seeds 1         (a trial; writes no JSON)
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
from common.classifier_accuracy import linear_model
from common.data import DataFolder, Rows, add_data_options, data_folder
from common.results_file import add_output_option, output_path, read_result, surroundings, write_result
from common.sgnn_recipes import ABLATIONS, RECIPES, paper_pipeline
from common.timing import summary, train_and_test

RESULT = "sgnn_accuracy.json"
PACKAGES = ("sklearn-hashnlp", "numpy", "numba", "scikit-learn", "scipy", "skorch", "torch")
PARTS = ("accuracy", "ablations")
# The linear model that is best on each set, of those that bench_classifiers.py compares.
LINEAR = {
    "trec": "svm-punctuation",
    "atis": "svm-characters",
    "mrda": "svm-punctuation",
    "swda": "svm-punctuation",
    "languages79": "svm-characters",
}
ABLATED: dict[str, tuple[int | None, int | None, int]] = {  # rows to train on, rows to judge by, epochs
    "trec": (None, None, 8),
    "mrda": (10_000, 4_000, 4),
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_options(parser)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS), help="default: all")
    parser.add_argument("--sets", nargs="+", choices=list(RECIPES), default=list(RECIPES), help="default: all")
    parser.add_argument("--seeds", type=int, default=5, help="of accuracy (default: %(default)s)")
    parser.add_argument("--ablation-seeds", type=int, default=3, help="of ablations (default: %(default)s)")
    parser.add_argument("--again", action="store_true", help="measure anew what the JSON has already")
    add_output_option(parser, RESULT)
    options = parser.parse_args(arguments)
    data, path = data_folder(parser, options), output_path(options, RESULT)
    result = read_result(path) | surroundings(*PACKAGES)
    for part in options.part:
        for name in options.sets:
            if part == "ablations" and name not in ABLATED:
                continue
            cells = result.setdefault(part, {}).setdefault(name, {})
            for model, measure in measures(part, name, data, options).items():
                if model in cells and not options.again:
                    continue
                start = time.perf_counter()
                cells[model] = measure()
                found = f"{cells[model]['accuracy']:.2f} +-{cells[model]['spread']:.2f}"
                print(f"{name}, {model}: {found} %, done in {time.perf_counter() - start:.0f} s", flush=True)
                write_result(path, result)
    show(result)


def measures(
    part: str, name: str, data: DataFolder, options: argparse.Namespace
) -> dict[str, Callable[[], dict[str, Any]]]:
    """Give what is to be measured on a set, by the name it has in the JSON."""
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
    run = train_and_test(linear_model(name, LINEAR[name]), data.train(name), data.test(name))
    return {"model": LINEAR[name]} | summary([run])


def measure_recipe(name: str, data: DataFolder, seeds: int) -> dict[str, Any]:
    recipe, train, test = RECIPES[name], data.train(name), data.test(name)
    runs = []
    for seed in range(seeds):
        runs.append(train_and_test(recipe.pipeline(seed), train, test))
        print(f"{name}, seed {seed}: {runs[-1]['accuracy']:.2f} % in {runs[-1]['seconds']:.0f} s", flush=True)
    return {"recipe": asdict(recipe)} | summary(runs)


def ablation_rows(name: str, data: DataFolder) -> tuple[Rows, Rows]:
    """Give rows to train on and rows to judge by; none of them is a test row."""
    train, held_out = data.choosing(name)
    most_train, most_held_out, _ = ABLATED[name]
    return few(train, most_train), few(held_out, most_held_out)


def few(rows: Rows, most: int | None) -> Rows:
    """Choose so many rows by chance; all where there are no more."""
    if most is None or most >= len(rows.texts):
        return rows
    kept = np.sort(np.random.default_rng(0).choice(len(rows.texts), most, replace=False))
    return Rows([rows.texts[i] for i in kept], [rows.labels[i] for i in kept])


def measure_variant(name: str, changed: dict[str, Any], rows: tuple[Rows, Rows], seeds: int) -> dict[str, Any]:
    _, _, max_epochs = ABLATED[name]
    runs = [train_and_test(paper_pipeline(seed, max_epochs=max_epochs, **changed), *rows) for seed in range(seeds)]
    return {"changed": changed} | summary(runs)


def show(result: dict[str, Any]) -> None:
    print("\nTest accuracy, %")
    for name, cells in result.get("accuracy", {}).items():
        line = "".join(f"{model:>10} {cells[model]['accuracy']:6.2f} +-{cells[model]['spread']:.2f}" for model in cells)
        print(f"{name:14}{line}")
    for name, cells in result.get("ablations", {}).items():
        print(f"\n{name}: accuracy on rows held out, %")
        for variant, found in cells.items():
            print(f"  {variant:52}{found['accuracy']:6.2f} +-{found['spread']:.2f}")


if __name__ == "__main__":
    main()
