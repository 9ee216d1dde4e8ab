"""Calibration of TextClassifier and TF-IDF + LogisticRegression, and confidence on foreign texts.

With each seed, which also draws the training rows if not all are used: accuracy, expected
calibration error (of the probability of the predicted label, 15 bins of equal width) and log loss
on the test rows; rows of labels that no training row has count for the accuracy only. The linear
model has words 1-2, and the C with the lowest log loss on a part of the training rows.

Of TextClassifier also the area under the ROC curve that separates 1,000 test texts from as many
random bytes, lines of Python and sentences in other languages by its largest probability: 1 if all
test texts have larger ones.

    python -m benchmarks run bench_calibration --data DIR
    python -m benchmarks run bench_calibration --data DIR --sets trec sst2 --sizes 1000
    # Draws sst2
    python -m benchmarks run bench_calibration --data DIR --plot docs/images/reliability.png

Each result is written when it is measured and skipped the next time (unless --again is given).
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline, make_pipeline

from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import SETS, TITLES, DataFolder, Rows, sample, split
from benchmarks.common.pages import number, table
from benchmarks.common.samples import ALL, add_sample_options
from sklearn_hashnlp import TextClassifier, make_text_classifier
from sklearn_hashnlp.plotting import ReliabilityDisplay

RESULT = "calibration.json"
PAGE = "probabilities.md"
MODELS = {"calibrated": "TextClassifier", "linear": "TF-IDF + LogisticRegression"}
FOREIGN = ("random bytes", "code", "another language")
COLUMNS = {"accuracy": 2, "ECE": 3, "log loss": 3} | dict.fromkeys(FOREIGN, 2)  # decimal places
SIZES = {"1000": "1,000 rows", "0": "all rows"}
N_FOREIGN = 1000
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "skorch", "torch")
DRAWN, LANGUAGES = "sst2", "languages79"
CS = (1, 4, 16, 64)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    add_sample_options(parser, SETS)
    parser.add_argument(
        "--plot", type=Path, metavar="PNG", help="also draw the reliability diagram of sst2"
    )
    options, data, path = parser.read(arguments)
    result = read_result(path)
    if options.sets:
        result = {"sets": result.get("sets", {})} | environment(*PACKAGES)
    for size in map(str, options.sizes):
        for name in options.sets:
            models = result["sets"].setdefault(name, {}).setdefault(size, {})
            for model in MODELS:
                if model not in models or options.again:
                    models[model] = measure(name, int(size), model, data, options.seeds)
                    print(f"{name}, {SIZES.get(size, size)}, {model}: done", flush=True)
                    write_result(path, result)
    print(markdown(result))
    if options.plot is not None:
        draw(data, options.plot)
        print(f"Written: {options.plot}")


def measure(name: str, size: int, model: str, data: DataFolder, seeds: int) -> dict[str, Any]:
    """Train a model with each seed and test it."""
    train = data.train(name)
    test = data.test(name)
    runs = {}
    foreign = foreign_texts(name, data) if model == "calibrated" else {}
    for seed in range(1 if model == "linear" and size == ALL else seeds):
        rows = train.sample(size or None, seed)
        fitted = (
            TextClassifier(random_state=seed)
            if model == "calibrated"
            else linear_model(best_regularization(rows))
        )
        runs[str(seed)] = scores(fitted.fit(*rows), test) | confidence(fitted, test.texts, foreign)
    return {"runs": runs}


def linear_model(C: float) -> Pipeline:
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    return make_pipeline(words, LogisticRegression(C=C, max_iter=300))


def best_regularization(train: Rows) -> float:
    """Return the C with the lowest log loss on a fifth of the training rows."""
    rest, valid = split(train, 0.2)
    return min(CS, key=lambda C: scores(linear_model(C).fit(*rest), valid)["log loss"])


def scores(model: Any, rows: Rows) -> dict[str, float]:
    """Return accuracy in percent, expected calibration error and log loss of a fitted model."""
    probabilities, labels = model.predict_proba(rows.texts), np.asarray(rows.labels)
    correct = model.classes_[probabilities.argmax(axis=1)] == labels
    own = probabilities[model.classes_ == labels[:, np.newaxis]]  # of rows with a known label
    return {
        "accuracy": 100 * float(correct.mean()),
        "ECE": ReliabilityDisplay(probabilities.max(axis=1), correct).ece,
        "log loss": float(-np.log(np.maximum(own, np.finfo(np.float64).tiny)).mean()),
    }


def foreign_texts(name: str, data: DataFolder) -> dict[str, list[str]]:
    """Return foreign texts: random bytes, lines of Python and, unless known, other languages."""
    generator = np.random.default_rng(0)
    lines = [
        line.strip()
        for line in inspect.getsource(sklearn.base).splitlines()
        if len(line.strip()) > 10
    ]
    texts = {
        "random bytes": [generator.bytes(60).decode("latin-1") for _ in range(N_FOREIGN)],
        "code": sample(lines, N_FOREIGN),
    }
    if name != LANGUAGES:
        languages = data.test(LANGUAGES)
        others = [text for text, label in zip(*languages, strict=True) if label != "en"]
        texts["another language"] = sample(others, N_FOREIGN)
    return texts


def confidence(model: Any, known: list[str], foreign: dict[str, list[str]]) -> dict[str, float]:
    """Return the ROC AUC of the largest probability for test texts against each foreign kind."""
    own = model.predict_proba(sample(known, N_FOREIGN)).max(axis=1) if foreign else []
    areas = {}
    for kind, texts in foreign.items():
        others = model.predict_proba(texts).max(axis=1)
        areas[kind] = float(
            roc_auc_score(np.repeat([1, 0], [len(own), len(others)]), np.concatenate([own, others]))
        )
    return areas


def draw(data: DataFolder, path: Path) -> None:
    """Draw the reliability diagram of the classifier, calibrated and not, on test rows."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    train, test = data.train(DRAWN), data.test(DRAWN)
    figure = Figure(figsize=(5, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    ax = figure.subplots()
    for calibrate in ("auto", False):
        classifier = (
            make_text_classifier(random_state=0)
            .set_params(classifier__calibrate=calibrate)
            .fit(*train)
        )
        ReliabilityDisplay.from_estimator(classifier, *test, name=f"calibrate={calibrate!r}", ax=ax)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per data set, size and model, mean and spread over the seeds."""
    return table(
        ("", "", "", "accuracy %", *list(COLUMNS)[1:]),
        (
            (
                TITLES[name],
                SIZES[size],
                MODELS[model],
                *(number(models[model]["runs"], *one) for one in COLUMNS.items()),
            )
            for name, sizes in result.get("sets", {}).items()
            for size, models in sizes.items()
            for model in MODELS
            if model in models
        ),
    )


TABLES = {"calibration": markdown}
