"""The language of short texts: the text classifier with its defaults against a linear model.

Both train on the same rows of 79 languages, whole sentences, and predict the beginnings of the test
sentences. The linear model is TF-IDF of words 1-2 and of characters 2-5 within words, and LinearSVC
with C = 3; cross-validation chooses 1 to 10 on 1,000 and on 4,000 rows. The mean of the seeds is
reported; each draws other rows, unless all are used.

    python -m benchmarks run bench_short_texts --data DIR
    # All rows take the linear model an hour
    python -m benchmarks run bench_short_texts --data DIR --sizes 1000 4000

Each result is written when it is measured and skipped the next time (unless --again is given).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import DataFolder, Rows
from benchmarks.common.pages import table
from benchmarks.common.samples import ALL, add_sample_options
from benchmarks.common.tuned_linear_model import Counts, TfidfSvm
from sklearn_hashnlp import TextClassifier

RESULT = "short_texts.json"
PAGE = "model_selection.md"
SETS = ("languages79",)
LENGTHS = (5, 10, 20, 40, 80)
C = 3.0
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "torch")

Predict = Callable[[list[str]], Any]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    add_sample_options(parser, SETS)
    options, data, path = parser.read(arguments)
    result = read_result(path) | environment(*PACKAGES)
    cells = result.setdefault("sizes", {})
    for size in options.sizes:
        for name, fit in MODELS.items():
            measured = cells.setdefault(str(size), {})
            if name in measured and not options.again:
                continue
            seeds = 1 if size == ALL else options.seeds
            curves = [curve(fit, data, options.sets[0], size, seed) for seed in range(seeds)]
            measured[name] = {"accuracy": np.mean(curves, axis=0).tolist(), "seeds": seeds}
            write_result(path, result)
    print(markdown(result))


def curve(
    fit: Callable[[Rows, int], Predict], data: DataFolder, name: str, size: int, seed: int
) -> list[float]:
    """Train a model and return its accuracy in percent on test texts cut to each length."""
    predict, test = fit(data.train(name).sample(size or None, seed), seed), data.test(name)
    labels = np.array(test.labels)
    return [
        100 * float(np.mean(predict([text[:length] for text in test.texts]) == labels))
        for length in LENGTHS
    ]


def fit_ours(rows: Rows, seed: int) -> Predict:
    return TextClassifier(random_state=seed).fit(rows.texts, rows.labels).predict


def fit_linear(rows: Rows, _: int) -> Predict:
    model = TfidfSvm(C, sublinear=True).fit(
        Counts.of(rows.texts, lowercase=True), np.array(rows.labels)
    )
    return lambda texts: model.predict(Counts.of(texts, lowercase=True))


MODELS = {"TextClassifier": fit_ours, "LinearSVC": fit_linear}


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per number of training rows, ours / linear by text length."""
    rows = []
    for size, cells in sorted(
        result.get("sizes", {}).items(), key=lambda item: int(item[0]) or 10**9
    ):
        curves = [cells[name]["accuracy"] for name in MODELS if name in cells]
        title = "all rows" if int(size) == ALL else f"{int(size):,} rows"
        rows.append(
            (
                title,
                *(
                    " / ".join(f"{value:.1f}" for value in column)
                    for column in zip(*curves, strict=True)
                ),
            )
        )
    return table(("", *(f"{length} characters" for length in LENGTHS)), rows)


TABLES = {"short texts": markdown}
