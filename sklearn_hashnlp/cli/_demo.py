"""``hashnlp demo``: train, test and save a classifier of the docstrings on this machine."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import ComputeDevice, Device, Jobs, Seed
from sklearn_hashnlp.cli._screen import Screen, plain_table

HELP = """\
Train a classifier that predicts the module of a Python docstring, on text that is on your machine.

\b
  hashnlp demo
  hashnlp demo --output /tmp/demo --json

It reads the docstrings of Python's standard library, trains on three quarters of them to predict in which module each \
one is, and tests on the rest. Hash embeddings are compared with linear support vector machines on TF-IDF, both on \
words and on words and characters, over five seeds of the split. The model of words and characters and a plot are \
saved in the folder hashnlp-demo. No network, no GPU; about a minute.
"""

_TEST_SIZE = 0.25
_N_SPLITS = 5
_TRAIN_SIZES = (0.1, 0.2, 0.5, 1.0)  # shares of the training texts: points of the learning curves
_SAVED = "hash embedding, words + characters"
_MODELS = {  # the same features side by side; with the keys of the JSON report
    "hash embedding, words": "hash_embedding_words",
    "TF-IDF + LinearSVC, words": "tfidf_linear_svc",
    _SAVED: "hash_embedding",
    "TF-IDF + LinearSVC, words + characters": "tfidf_characters_linear_svc",
}
_EXAMPLE = "Return the names of all members of the archive, and extract one of them."
# Colors for the kinds of models, line styles for the features.
_STYLES = [(color, style) for style in ("--", "-") for color in ("#1f5fa8", "#dd8452")]


# Test accuracy and seconds of training of each model by the number of training texts, one pair per split.
_Runs = dict[str, dict[int, list[tuple[float, float]]]]


@reporting_errors
def demo(
    screen: Screen,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Output folder.")] = Path(
        "hashnlp-demo"
    ),
    seed: Seed = 0,
    device: ComputeDevice = "cpu",
    n_jobs: Jobs = None,
) -> None:
    """Run the demo; the parameters are the options of the command."""
    folder, plot = output / "model", output / "demo.png"
    options: dict[str, Any] = {"seed": seed, "device": device, "n_jobs": n_jobs}
    screen.note("Loading libraries ...", style="dim")
    from sklearn_hashnlp.cli._pipelines import predict_proba, train_model
    from sklearn_hashnlp.datasets import load_stdlib_docstrings
    from sklearn_hashnlp.persistence import load_model, save_model

    save_model(None, folder, dry_run=True)
    texts, labels = load_stdlib_docstrings(return_X_y=True)
    train_texts, test_texts, train_labels, test_labels = _split(texts, labels, 0)
    n_train, n_test = len(train_texts), len(test_texts)
    screen.note(
        f"{len(texts):,} docstrings of {len(set(labels))} modules of Python's standard library: "
        f"{n_train:,} training and {n_test:,} test texts\n"
    )
    pipeline = _make_model(_SAVED, **options)
    train_model(screen, pipeline, train_texts, train_labels)
    predicted = pipeline.classes_[predict_proba(screen, pipeline, test_texts).argmax(axis=1)]
    accuracy = float((predicted == test_labels).mean())
    save_model(pipeline, folder)
    loaded = load_model(folder).predict_proba(test_texts)
    if (loaded != pipeline.predict_proba(test_texts)).any():
        raise RuntimeError(f"The model in {folder} predicts other probabilities than before it was saved.")

    runs = _compare(screen, texts, labels, options)
    try:
        draw_plot(
            plot,
            true=test_labels,
            predicted=predicted,
            labels=sorted(set(labels.tolist())),
            curves={
                name: {n_texts: [accuracy for accuracy, _ in of_size] for n_texts, of_size in of_model.items()}
                for name, of_model in runs.items()
            },
            title=f"Predicting the module of a docstring: accuracy {accuracy:.1%} on {n_test:,} test texts",
        )
        plotted = True
    except ImportError as error:  # matplotlib is optional
        screen.note(f"No plot: {error}")
        plotted = False

    results = {name: _summary(of_model[n_train]) for name, of_model in runs.items()}
    report = {
        "n_train": n_train,
        "n_test": n_test,
        **{key: results[name] for name, key in _MODELS.items()},
        "model": str(folder),
        "picture": str(plot) if plotted else None,
    }
    screen.result(report, _describe(results, folder, plot if plotted else None))
    command = f'echo "{_EXAMPLE}" | {{hashnlp}} predict --model {{path}} --top 3 --proba'
    screen.next_step("predict the module of another sentence", command, path=folder)


def _split(texts: list[str], labels: Any, seed: int) -> list[Any]:
    from sklearn.model_selection import train_test_split

    parts: list[Any] = train_test_split(texts, labels, test_size=_TEST_SIZE, stratify=labels, random_state=seed)
    return parts


def _make_model(name: str, *, seed: int, device: Device, n_jobs: int | None) -> Any:
    """Return one of the models, untrained; the linear ones are scikit-learn's usual pipeline for text."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline, make_union
    from sklearn.svm import LinearSVC

    from sklearn_hashnlp.cli import _pipelines

    characters = name.endswith("characters")
    if name.startswith("hash embedding"):
        return _pipelines.make_model(
            seed=seed, device=device, n_jobs=n_jobs, features="words+characters" if characters else "words"
        )
    vectorizers = [TfidfVectorizer(ngram_range=(1, 2))]
    if characters:
        vectorizers.append(TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5)))
    return make_pipeline(make_union(*vectorizers), LinearSVC(random_state=seed))


def _compare(screen: Screen, texts: list[str], labels: Any, options: dict[str, Any]) -> _Runs:
    """Train and test all models on each split, with increasing numbers of training texts."""
    from sklearn.model_selection import train_test_split

    runs: _Runs = {name: {} for name in _MODELS}
    cells = list(itertools.product(range(_N_SPLITS), _TRAIN_SIZES, _MODELS))
    screen.note("Comparing models ...", style="dim")
    with screen.bar("Comparing models") as update:
        for done, (number, train_size, name) in enumerate(cells, start=1):
            few, test_texts, few_labels, test_labels = _split(texts, labels, number)
            if train_size < 1:
                few, _, few_labels, _ = train_test_split(
                    few, few_labels, train_size=train_size, stratify=few_labels, random_state=number
                )
            model = _make_model(name, **options | {"seed": options["seed"] + number})
            started = perf_counter()
            model.fit(few, few_labels)
            seconds = perf_counter() - started
            accuracy = float(model.score(test_texts, test_labels))
            runs[name].setdefault(len(few), []).append((accuracy, seconds))
            update(done, len(cells))
    return runs


def _summary(runs: Sequence[tuple[float, float]]) -> dict[str, float]:
    accuracies, seconds = zip(*runs, strict=True)
    return {
        "accuracy": statistics.mean(accuracies),
        "standard_deviation": statistics.pstdev(accuracies),
        "seconds": round(statistics.median(seconds), 3),
    }


def draw_plot(
    path: Path,
    *,
    true: Any,
    predicted: Any,
    labels: list[str],
    curves: Mapping[str, Mapping[int, Sequence[float]]],  # test accuracies of splits by number of training texts
    title: str,
) -> Any:
    """Draw the confusion matrix and learning curves as a PNG file, and return the figure."""
    # First, because without matplotlib the error of this import contains the install command.
    import sklearn_hashnlp.plotting  # noqa: F401

    # isort: split
    # A figure without pyplot, so that no display is needed and no other figure changes.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter
    from sklearn.metrics import ConfusionMatrixDisplay, confusion_matrix

    figure = Figure(figsize=(17, 9.5), layout="constrained")
    FigureCanvasAgg(figure)
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)  # type: ignore[call-arg, union-attr]  # of a constrained layout
    figure.suptitle(title, fontsize=17, fontweight="bold")
    left, right = figure.subplots(1, 2, width_ratios=[1.5, 1])

    counts = confusion_matrix(true, predicted, labels=labels)
    fractions = counts / counts.sum(axis=1, keepdims=True).clip(min=1)  # colors by row: small classes count as much
    display = ConfusionMatrixDisplay(fractions, display_labels=labels)
    display.plot(ax=left, cmap="Blues", xticks_rotation=60, colorbar=False, im_kw={"vmin": 0, "vmax": 1})
    for text, count in zip(display.text_.flat, counts.flat, strict=True):
        text.set_text(str(count) if count else "")
        text.set_fontsize(10)
    left.set_aspect("auto")  # both panels fill their row, and so have the same height
    colors = figure.colorbar(
        display.im_, ax=left, pad=0.02, fraction=0.04, aspect=30, format=PercentFormatter(xmax=1, decimals=0)
    )
    colors.set_label("share of the test texts with this true label", fontsize=12)
    left.set_title("Confusion matrix of the test texts", fontsize=13, pad=10)
    left.set_xlabel("predicted label", fontsize=12)
    left.set_ylabel("true label", fontsize=12)
    for tick in left.get_xticklabels():
        tick.set_ha("right")
        tick.set_rotation_mode("anchor")

    for (name, curve), (color, style) in zip(curves.items(), _STYLES, strict=False):
        means, errors = zip(*[(statistics.mean(runs), statistics.pstdev(runs)) for runs in curve.values()], strict=True)
        points: dict[str, Any] = {"marker": "o", "linestyle": style, "linewidth": 2, "capsize": 4, "color": color}
        right.errorbar(list(curve), means, yerr=errors, label=name, **points)
    right.set_xlabel("training texts", fontsize=12)
    right.set_ylabel("test accuracy", fontsize=12)
    right.set_xlim(left=0)
    right.yaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))
    right.grid(alpha=0.3)
    n_splits = max((len(runs) for curve in curves.values() for runs in curve.values()), default=0)
    right.set_title(f"Learning curves, mean and standard deviation of {n_splits} splits", fontsize=13, pad=10)
    right.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2, fontsize=11)
    figure.savefig(path, dpi=100)
    return figure


def _describe(results: dict[str, dict[str, float]], folder: Path, plot: Path | None) -> list[Any]:
    """Return the lines of the result."""
    table = plain_table("model", ">test accuracy", ">training time")
    for name, row in results.items():
        accuracy = f"{row['accuracy']:.4f} ± {row['standard_deviation']:.4f}"
        table.add_row(name, accuracy, f"{row['seconds']:.1f} s", style="bold" if name == _SAVED else None)
    best = max(results, key=lambda name: results[name]["accuracy"])
    return [
        table,
        f"Mean and standard deviation over {_N_SPLITS} splits into training and test texts.",
        *([] if best == _SAVED else [f"\nBest here: {best}."]),
        f"\nModel saved in  {folder}",
        *([] if plot is None else [f"Plot saved in   {plot}"]),
    ]
