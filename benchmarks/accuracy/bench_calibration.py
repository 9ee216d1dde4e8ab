"""Calibration of the default classifier, and of TF-IDF + LogisticRegression, on three data sets.

Of TextClassifier, calibrated and not, with each seed, and of a linear model of words 1-2: accuracy, expected
calibration error (of the probability of the predicted label, 15 bins of equal width) and log loss on the test rows. C
of the linear model has the lowest log loss on a part of the training rows. Each result is written when it is measured
and skipped the next time (unless --again is given).

    python -m benchmarks run bench_calibration --data DIR
    python -m benchmarks run bench_calibration --data DIR --plot docs/images/reliability.png   (draws sst2)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import Pipeline, make_pipeline

from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import SETS as DATA_SETS
from benchmarks.common.data import TITLES, DataFolder, Rows, split
from benchmarks.common.pages import number, table
from sklearn_hashnlp import TextClassifier, make_text_classifier
from sklearn_hashnlp.plotting import ReliabilityDisplay

RESULT = "calibration.json"
PAGE = "probabilities.md"
SETS = ("ag_news", "sst2", "trec")
MODELS = {
    "calibrated": 'calibrate="auto"',
    "not calibrated": "calibrate=False",
    "linear": "TF-IDF + LogisticRegression",
}
COLUMNS = {"accuracy": 2, "ECE": 4, "log loss": 3, "temperature": 2}  # decimal places
PACKAGES = ("sklearn-hashnlp", "numpy", "numba", "scikit-learn", "scipy", "skorch", "torch")
DRAWN = "sst2"
CS = (1, 4, 16, 64)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    parser.add_choices("--sets", SETS)
    parser.add_argument("--seeds", type=int, default=5, help="trainings of the classifier (default: %(default)s)")
    parser.add_again()
    parser.add_argument("--plot", type=Path, metavar="PNG", help="also draw the reliability diagram of sst2")
    options, data, path = parser.read(arguments)
    result = read_result(path)
    if options.sets:
        result = {"sets": result.get("sets", {})} | environment(*PACKAGES)
    for name in options.sets:
        models = result["sets"].setdefault(name, {})
        for model in MODELS:
            if model not in models or options.again:
                models[model] = measure(name, model, data, options.seeds)
                print(f"{name}, {model}: done", flush=True)
                write_result(path, result)
    print(markdown(result))
    if options.plot is not None:
        draw(data, options.plot)
        print(f"Written: {options.plot}")


def measure(name: str, model: str, data: DataFolder, seeds: int) -> dict[str, Any]:
    """Train a model with each seed and test it."""
    train, test = data.train(name), data.test(name)
    if model == "linear":
        C = best_regularization(train, DATA_SETS[name].validation_share)
        return {"C": C, "runs": {"0": scores(linear_model(C).fit(*train), test)}}
    runs = {}
    for seed in range(seeds):
        classifier = our_model(model, seed).fit(*train)
        runs[str(seed)] = scores(classifier, test) | {"temperature": classifier.temperature_}
    return {"runs": runs}


def our_model(model: str, seed: int) -> TextClassifier:
    classifier = make_text_classifier()["classifier"].set_params(calibrate="auto" if model == "calibrated" else False)
    return TextClassifier(classifier=classifier, random_state=seed)


def linear_model(C: float) -> Pipeline:
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    return make_pipeline(words, LogisticRegression(C=C, max_iter=300))


def best_regularization(train: Rows, share: float) -> float:
    """Return the C with the lowest log loss on a share of the training rows."""
    rest, valid = split(train, share)
    return min(CS, key=lambda C: scores(linear_model(C).fit(*rest), valid)["log loss"])


def scores(model: Any, rows: Rows) -> dict[str, float]:
    """Return accuracy in percent, expected calibration error and log loss of a fitted classifier."""
    probabilities, labels = model.predict_proba(rows.texts), np.asarray(rows.labels)
    correct = model.classes_[probabilities.argmax(axis=1)] == labels
    return {
        "accuracy": 100 * float(correct.mean()),
        "ECE": ReliabilityDisplay(probabilities.max(axis=1), correct).ece,
        "log loss": float(log_loss(labels, probabilities, labels=model.classes_)),
    }


def draw(data: DataFolder, path: Path) -> None:
    """Draw the reliability diagram of the classifier, calibrated and not, on test rows."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    train, test = data.train(DRAWN), data.test(DRAWN)
    figure = Figure(figsize=(5, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    ax = figure.subplots()
    for model in ("calibrated", "not calibrated"):
        classifier = our_model(model, seed=0).fit(*train)
        ReliabilityDisplay.from_estimator(classifier, *test, name=MODELS[model], ax=ax)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per data set and model, mean and spread over the seeds."""
    return table(
        ("", "", "accuracy %", "ECE", "log loss", "temperature"),
        (
            (TITLES[name], MODELS[model], *(number(models[model]["runs"], *column) for column in COLUMNS.items()))
            for name, models in result.get("sets", {}).items()
            for model in MODELS
            if model in models
        ),
    )


TABLES = {"calibration": markdown}
