"""SGDClassifier with HashingVectorizer or HashingNgramVectorizer, and the default TextClassifier.

The first two have word unigrams and bigrams; loss and alpha of SGDClassifier are chosen for each
data set on validation rows, which are split off the training rows. Accuracies are of the test rows,
one per seed; TextClassifier has no other parameter than its seed.

    python -m benchmarks run bench_sgd_pipeline --data DIR

Seconds are processor time of one thread, from raw strings.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline

from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import TITLES, Rows
from benchmarks.common.pages import table
from sklearn_hashnlp import HashingNgramVectorizer, TextClassifier

RESULT = "sgd_pipeline.json"
PAGE = "coming_from_scikit_learn.md"
MODELS = {
    "scikit-learn": "`HashingVectorizer`, `SGDClassifier`",
    "vectorizer": "`HashingNgramVectorizer`, `SGDClassifier`",
    "TextClassifier": "`TextClassifier`",
}
HEADS = ("", "", "accuracy, %", "`fit`", "`predict`", "times as fast in `fit`", "in `predict`")
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "torch")
LOSSES = ("hinge", "log_loss")
# the median is taken: SGDClassifier copies its weights each time, which takes 25 ms or 200
PREDICTIONS = 5
ALPHAS = (1e-7, 3e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4)


class Outcome(NamedTuple):
    """Test accuracy in percent, and processor seconds."""

    accuracy: float
    fit: float
    predict: float


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    sets = ["ag_news", "sst2", "trec"]
    parser.add_argument("--sets", nargs="+", default=sets, help="data sets (default: %(default)s)")
    parser.add_argument(
        "--seeds", type=int, default=5, help="trainings of each model (default: %(default)s)"
    )
    options, data, path = parser.read(arguments)
    result = read_result(path)
    for name in options.sets:
        train, valid = data.train_valid(name)
        pairs = list(product(LOSSES, ALPHAS))
        tried = {
            pair: measure(linear_model("ours", *pair, 0), train, valid).accuracy for pair in pairs
        }
        loss, alpha = max(tried, key=lambda pair: tried[pair])
        outcomes: dict[str, list[Outcome]] = {model: [] for model in MODELS}
        for seed in range(options.seeds):
            models = {
                "scikit-learn": linear_model("scikit-learn", loss, alpha, seed),
                "vectorizer": linear_model("ours", loss, alpha, seed),
                "TextClassifier": TextClassifier(n_jobs=1, random_state=seed),
            }
            for model in MODELS:
                outcomes[model].append(measure(models[model], data.train(name), data.test(name)))
        result |= environment(*PACKAGES) | {"seeds": options.seeds}
        result.setdefault("sets", {})[name] = {
            "rows": [len(data.train(name).texts), len(data.test(name).texts)],
            "chosen": {"loss": loss, "alpha": alpha},
            "models": {
                model: {field: [getattr(one, field) for one in runs] for field in Outcome._fields}
                for model, runs in outcomes.items()
            },
        }
        print(f"{name}: {result['sets'][name]}", flush=True)
        write_result(path, result)
    print(markdown(result))


def linear_model(vectorizer: str, loss: str, alpha: float, seed: int) -> Any:
    """Return a pipeline of the vectorizer of scikit-learn or of this package, and SGDClassifier."""
    options = {"ngram_range": (1, 2)}
    counts = (
        HashingVectorizer(**options)
        if vectorizer == "scikit-learn"
        else HashingNgramVectorizer(**options)
    )
    return make_pipeline(counts, SGDClassifier(loss=loss, alpha=alpha, random_state=seed))


def measure(model: Any, train: Rows, test: Rows) -> Outcome:
    """Train and test a model."""
    start = time.process_time()
    model.fit(train.texts, train.labels)
    trained = time.process_time()
    times = [trained]
    for _ in range(PREDICTIONS):
        predicted = model.predict(test.texts)
        times.append(time.process_time())
    predicting = statistics.median(np.diff(times))
    accuracy = 100 * statistics.mean(
        float(one == label) for one, label in zip(predicted, test.labels, strict=True)
    )
    return Outcome(accuracy, trained - start, float(predicting))


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per data set and model, with seconds relative to scikit-learn's."""
    rows = []
    for name, cell in result.get("sets", {}).items():
        seconds = {
            model: [statistics.median(runs[field]) for field in ("fit", "predict")]
            for model, runs in cell["models"].items()
        }
        for model, title in MODELS.items():
            ratios = [
                theirs / ours
                for theirs, ours in zip(seconds["scikit-learn"], seconds[model], strict=True)
            ]
            accuracies = cell["models"][model]["accuracy"]
            spread = f" ± {statistics.stdev(accuracies):.2f}" if len(accuracies) > 1 else ""
            rows.append(
                (
                    f"{TITLES[name]}, {cell['rows'][0]:,} rows" if model == "scikit-learn" else "",
                    title,
                    f"{statistics.mean(accuracies):.2f}{spread}",
                    *(f"{value:.2f} s" for value in seconds[model]),
                    *(
                        ("", "")
                        if model == "scikit-learn"
                        else (f"{ratio:.1f}" for ratio in ratios)
                    ),
                )
            )
    return table(HEADS, rows)


TABLES = {"sgd pipeline": markdown}
