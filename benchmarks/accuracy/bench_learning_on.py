"""Effect of further texts on a text classifier: partial_fit with 1 to 1,000 texts after a fit of n.

For each data set, size and seed: the accuracy and log loss on the test rows after the fit, after
``partial_fit`` of so many more texts (each from a copy that was saved and loaded), and after a
refit with all of them; then, on other rows, ten nights of 500 texts. The test rows are read once,
for these figures.

    python -m benchmarks run bench_learning_on --data DIR
    python -m benchmarks run bench_learning_on --data DIR --sets trec --sizes 500 --seeds 2
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import SETS, TITLES, Rows
from benchmarks.common.pages import table
from sklearn_hashnlp import TextClassifier, load_model, save_model

RESULT = "learning_on.json"
PAGE = "stream.md"
COLUMNS = ("1", "10", "100", "1000")
HEADS_OF_NIGHTS = ("after ten nights", "largest drop in a night")
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "torch")
MORE = (1, 10, 100, 1000)
NIGHTS, NIGHT = 10, 500
DEFAULT_SETS = ("trec", "atis", "sst2", "swda", "ag_news")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    parser.add_argument(
        "--sets", nargs="+", default=DEFAULT_SETS, choices=SETS, metavar="SET", help="data sets"
    )
    parser.add_argument(
        "--sizes",
        nargs="+",
        type=int,
        default=[500, 5000, 15000],
        metavar="N",
        help="texts of the fit",
    )
    parser.add_argument(
        "--seeds", type=int, default=5, metavar="N", help="number of seeds (default: 5)"
    )
    options, data, path = parser.read(arguments)
    result = read_result(path) | environment(*PACKAGES)
    cells = result.setdefault("sets", {})
    for name in options.sets:
        train, test = data.train(name), data.test(name)
        for size in options.sizes:
            if size + MORE[-1] > len(train.texts):
                continue
            cell = further_texts(train, test, size, options.seeds)
            if size == min(
                options.sizes, key=lambda one: abs(one - 5000)
            ) and size + NIGHTS * NIGHT <= len(train.texts):
                cell["nights"] = nights(train, test, size, options.seeds)
            cells.setdefault(name, {})[str(size)] = cell
            shown = ", ".join(
                f"{n}: {cell['change'][str(n)]:+.2f} ({cell['worst'][str(n)]:+.2f})" for n in MORE
            )
            print(
                f"{name}, {size}: {cell['accuracy']:.2f}; {shown}; refit "
                f"{cell['change']['refit']:+.2f}",
                flush=True,
            )
            write_result(path, result)


def further_texts(train: Rows, test: Rows, size: int, n_seeds: int) -> dict[str, Any]:
    """Return means over the seeds of accuracies and log losses, and the worst change of a seed."""
    measured: list[dict[str, tuple[float, float]]] = []
    for seed in range(n_seeds):
        fitted, more, known = split(train, test, size, MORE[-1], seed)
        model = TextClassifier(random_state=seed).fit(*fitted)
        figures = {"fit": measure(model, known)}
        with tempfile.TemporaryDirectory() as folder:
            save_model(model, folder)
            for n_texts in MORE:
                model = load_model(folder).partial_fit(more.texts[:n_texts], more.labels[:n_texts])
                figures[str(n_texts)] = measure(model, known)
        refit = TextClassifier(random_state=seed).fit(
            fitted.texts + more.texts, fitted.labels + more.labels
        )
        measured.append(figures | {"refit": measure(refit, known)})
    names = [name for name in measured[0] if name != "fit"]
    changes = {name: [one[name][0] - one["fit"][0] for one in measured] for name in names}
    return {
        "accuracy": statistics.fmean(one["fit"][0] for one in measured),
        "log_loss": statistics.fmean(one["fit"][1] for one in measured),
        "change": {name: statistics.fmean(values) for name, values in changes.items()},
        "worst": {name: min(values) for name, values in changes.items()},
        "log_losses": {name: statistics.fmean(one[name][1] for one in measured) for name in names},
        "test_rows": len(test.texts),
        "seeds": n_seeds,
    }


def nights(train: Rows, test: Rows, size: int, n_seeds: int) -> dict[str, Any]:
    """Return means over the seeds of ten nights of 500 texts, and the largest fall in a night."""
    accuracies: list[list[float]] = []
    losses: list[list[float]] = []
    confidences: list[list[float]] = []
    refits = []
    for seed in range(n_seeds):
        fitted, more, known = split(train, test, size, NIGHTS * NIGHT, seed)
        model = TextClassifier(random_state=seed).fit(*fitted)
        course = [(*measure(model, known), confidence(model, known))]
        for start in range(0, len(more.texts), NIGHT):
            model.partial_fit(more.texts[start : start + NIGHT], more.labels[start : start + NIGHT])
            course.append((*measure(model, known), confidence(model, known)))
        refit = TextClassifier(random_state=seed).fit(
            fitted.texts + more.texts, fitted.labels + more.labels
        )
        for values, column in zip(
            (accuracies, losses, confidences), np.array(course).T, strict=True
        ):
            values.append(column)
        refits.append(measure(refit, known))
    return {
        "accuracies": np.mean(accuracies, axis=0).tolist(),
        "largest_fall": float(-np.diff(accuracies, axis=1).min()),
        "log_losses": np.mean(losses, axis=0).tolist(),
        "top_probabilities": np.mean(confidences, axis=0).tolist(),
        "refit": np.mean(refits, axis=0).tolist(),
    }


def split(train: Rows, test: Rows, size: int, n_more: int, seed: int) -> tuple[Rows, Rows, Rows]:
    """Draw rows to fit and more rows; rows with other labels than in the first are dropped."""
    order = np.random.default_rng(seed).permutation(len(train.texts))[: size + n_more].tolist()
    fitted = Rows(
        [train.texts[row] for row in order[:size]], [train.labels[row] for row in order[:size]]
    )
    labels = set(fitted.labels)
    others = [
        Rows(
            [train.texts[row] for row in order[size:]], [train.labels[row] for row in order[size:]]
        ),
        test,
    ]
    kept = [
        [(text, label) for text, label in zip(*rows, strict=True) if label in labels]
        for rows in others
    ]
    more, known = (
        Rows([text for text, _ in pairs], [label for _, label in pairs]) for pairs in kept
    )
    return fitted, more, known


def measure(model: TextClassifier, rows: Rows) -> tuple[float, float]:
    """Return accuracy in percent and log loss."""
    probabilities = model.predict_proba(rows.texts)
    own = np.searchsorted(model.classes_, rows.labels)
    accuracy = 100 * float((probabilities.argmax(axis=1) == own).mean())
    return accuracy, float(
        -np.log(np.maximum(probabilities[np.arange(len(own)), own], 1e-12)).mean()
    )


def confidence(model: TextClassifier, rows: Rows) -> float:
    """Return the mean of the largest probability of each text."""
    return float(model.predict_proba(rows.texts).max(axis=1).mean())


def markdown(result: dict[str, Any]) -> str:
    """Return the table of further texts, and the one of ten nights."""
    cells = [
        (TITLES[name], size, cell)
        for name in ("trec", "atis", "sst2", "swda", "ag_news")
        for size, cell in sorted(
            result.get("sets", {}).get(name, {}).items(), key=lambda item: int(item[0])
        )
    ]
    further = table(
        (
            "",
            "texts of the fit",
            "accuracy",
            *(f"{int(n):,} more" for n in COLUMNS),
            "refit with 1,000 more",
        ),
        (
            (
                title,
                f"{int(size):,}",
                f"{cell['accuracy']:.2f}",
                *changes(cell),
                f"{cell['change']['refit']:+.2f}",
            )
            for title, size, cell in cells
        ),
    )
    of_nights = table(
        ("", "texts of the fit", "after the fit", *HEADS_OF_NIGHTS, "refit"), rows_of_nights(cells)
    )
    return f"{further}\n\n{of_nights}"


def changes(cell: dict[str, Any]) -> Iterator[str]:
    """Return the mean and the worst change of the accuracy in points for each number of texts."""
    for n in COLUMNS:
        yield f"{cell['change'][n]:+.2f} ({cell['worst'][n]:+.2f})"


def rows_of_nights(cells: list[tuple[str, str, dict[str, Any]]]) -> Iterator[tuple[str, ...]]:
    """Yield rows with accuracy, log loss and top probability before, after, and of a refit."""
    for title, size, cell in cells:
        if "nights" not in cell:
            continue
        own = cell["nights"]
        ends = zip(own["accuracies"], own["log_losses"], own["top_probabilities"], strict=True)
        courses = [f"{accuracy:.2f}, {loss:.3f}, {top:.3f}" for accuracy, loss, top in ends]
        refit = ", ".join((f"{own['refit'][0]:.2f}", f"{own['refit'][1]:.3f}"))
        yield title, f"{int(size):,}", courses[0], courses[-1], f"{own['largest_fall']:.2f}", refit


TABLES = {"learning on": markdown}
