"""The language of short texts: the text classifier against a linear model and other packages.

Both train on the same rows of 79 languages, whole sentences, and predict the beginnings of the test
sentences, and the whole ones. The linear model is TF-IDF of words 1-2 and of characters 2-5 within
words, and LinearSVC with C = 3; cross-validation chooses 1 to 10 on 1,000 and on 4,000 rows. The
mean of the seeds is reported; each draws other rows, unless all are used.

Beside them, packages that identify languages: lingua, py3langid, pycld2 and eldc. Others trained
them on other text, and the test sentences are from those that the author of lingua measured with.
Each is restricted to the languages that it knows among the 79, and so is the text classifier beside
it, trained on all rows, whose answers are the most probable of these languages; the rows are the
sentences in them. pycld2 cannot be restricted, and there the text classifier is not. A text
without an answer is a wrong one. Texts per second are of whole sentences, each package by its
fastest calls: lingua and the text classifier on all processors.

    python -m benchmarks run bench_short_texts --data DIR
    # All rows take the linear model an hour
    python -m benchmarks run bench_short_texts --data DIR --sizes 1000 4000
    # Only the packages
    python -m benchmarks run bench_short_texts --data DIR --sizes

Each result is written when it is measured and skipped the next time (unless --again is given). Each
package is installed into a temporary folder for the run.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import DataFolder, Rows
from benchmarks.common.language_peers import PEERS, Detector, load_detector
from benchmarks.common.latencies import seconds_of
from benchmarks.common.pages import table
from benchmarks.common.peer_packages import peer_folder, peer_version
from benchmarks.common.samples import ALL, add_sample_options
from benchmarks.common.timing import order_of_round
from benchmarks.common.tuned_linear_model import Counts, TfidfSvm
from sklearn_hashnlp import TextClassifier

RESULT = "short_texts.json"
PAGE = "model_selection.md"
SETS = ("languages79",)
LENGTHS = (5, 10, 20, 40, 80, None)  # characters
C = 3.0
HEADS = [f"{length} characters" if length else "whole sentences" for length in LENGTHS]
ROUNDS = 3
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "torch")

Predict = Callable[[list[str]], Any]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    add_sample_options(parser, SETS)
    parser.add_choices("--peers", PEERS)
    options, data, path = parser.read(arguments)
    result, env = read_result(path), environment(*PACKAGES)
    cells = result.setdefault("sizes", {})
    for size in options.sizes:
        for name, fit in MODELS.items():
            measured = cells.setdefault(str(size), {})
            if name in measured and not options.again:
                continue
            seeds = 1 if size == ALL else options.seeds
            curves = [curve(fit, data, options.sets[0], size, seed) for seed in range(seeds)]
            measured[name] = {"accuracy": np.mean(curves, axis=0).tolist(), "seeds": seeds}
            write_result(path, result := result | env)
    peers = result.get("peers", {}).get("models", {})
    if missing := [name for name in options.peers if name not in peers or options.again]:
        measured = measure_peers(missing, data, options.sets[0], env)
        measured["models"] = peers | measured["models"]
        write_result(path, result := env | result | {"peers": measured})
    print(markdown(result), markdown_peers(result), sep="\n\n")


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


def measure_peers(
    names: list[str], data: DataFolder, set_name: str, env: dict[str, Any]
) -> dict[str, Any]:
    """Measure packages, and ours on the same rows, restricted to the same languages."""
    train, test = data.train(set_name), data.test(set_name)
    ours = TextClassifier(random_state=0).fit(train.texts, train.labels)
    measured = env | {"versions": dict(env["versions"]), "models": {}}
    for name in names:
        with peer_folder(PEERS[name], None) as folder:
            measured["versions"][name] = peer_version(PEERS[name], folder)
            detector = load_detector(name, folder, set(train.labels))
            measured["models"][name] = beside(detector, ours, test)
        print(f"{name}: {measured['models'][name]}", flush=True)
    return measured


def beside(detector: Detector, ours: TextClassifier, test: Rows) -> dict[str, Any]:
    """Return the accuracies of a package and of ours by length, whole sentences last."""
    known = set(detector.languages)
    pairs = [pair for pair in zip(*test, strict=True) if pair[1] in known]
    texts, labels = [text for text, _ in pairs], np.array([label for _, label in pairs])
    columns = [
        i for i, label in enumerate(ours.classes_) if label in known or not detector.is_restricted
    ]

    def restricted(texts: list[str]) -> Any:
        return ours.classes_[columns][ours.predict_proba(texts)[:, columns].argmax(axis=1)]

    def accuracies(predict: Predict) -> list[float]:
        crops = [[text[:length] for text in texts] for length in LENGTHS]
        return [100 * float(np.mean(np.asarray(predict(crop)) == labels)) for crop in crops]

    calls = {"texts/s": detector.predict, "ours texts/s": ours.predict}
    seconds: dict[str, list[float]] = {key: [] for key in calls}
    for round_ in range(ROUNDS):
        for key in order_of_round(list(calls), round_):
            seconds[key].append(seconds_of(lambda key=key: calls[key](texts)))
    return {
        "languages": detector.languages,
        "restricted": detector.is_restricted,
        "rows": len(texts),
        "accuracy": accuracies(detector.predict),
        "ours": accuracies(restricted),
    } | {key: len(texts) / statistics.median(times) for key, times in seconds.items()}


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
    return table(("", *HEADS), rows)


def markdown_peers(result: dict[str, Any]) -> str:
    """Return the table: a row per package, its accuracy / ours by text length."""
    part = result.get("peers", {})
    rows = []
    for name, one in part.get("models", {}).items():
        pairs = zip(one["accuracy"], one["ours"], strict=True)
        speeds = f"{one['texts/s']:,.0f} / {one['ours texts/s']:,.0f}"
        cells = [f"{theirs:.1f} / {ours:.1f}" for theirs, ours in pairs]
        rows.append((f"{name}, {len(one['languages'])} languages", *cells, speeds))
    return table(("", *HEADS, "texts/s"), rows)


TABLES = {"short texts": markdown, "language packages": markdown_peers}
