"""``hashnlp demo``: train, test and save a classifier of the docstrings on this machine."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.table import Table

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import ComputeDevice, Device, Features, Jobs, Json, Quiet, Seed
from sklearn_hashnlp.cli._screen import Screen, add_bar, command_name

HELP = """\
Train a classifier that predicts the module of a Python docstring, on text that is on your machine.

\b
  hashnlp demo
  hashnlp demo --output /tmp/demo --json

It reads the docstrings of Python's standard library, trains on three quarters of them to predict from words and \
characters in which module each one is, and tests on the rest. Linear support vector machines are trained and tested \
on the same texts, one with TF-IDF of words, one with TF-IDF of words and characters. The model and a plot are saved \
in the folder hashnlp-demo. No network, no GPU; less than a minute.
"""

_TEST_SIZE = 0.25
_SPLIT_SEED = 0  # not --seed: the test texts are the same for every seed of the model
_TRAIN_SIZES = (0.1, 0.2, 0.4, 0.7)  # points of the learning curves, besides all training texts
_HASH_EMBEDDING = "hash embedding, words + characters"
_LINEAR = "TF-IDF, words + LinearSVC"
_LINEAR_CHARACTERS = "TF-IDF, words + characters + LinearSVC"
_EXAMPLE = "Return the names of all members of the archive, and extract one of them."
_COLORS = ("#1f5fa8", "#dd8452", "#55a868")


class _Split(NamedTuple):
    train_texts: list[str]
    test_texts: list[str]
    train_labels: Any
    test_labels: Any


@reporting_errors
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Output folder.")] = Path(
        "hashnlp-demo"
    ),
    seed: Seed = 0,
    device: ComputeDevice = Device.cpu,
    n_jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run the demo; the parameters are the options of the command."""
    screen = Screen(as_json=as_json, quiet=quiet)
    folder, plot = output / "model", output / "demo.png"
    screen.note("Loading torch, and compiling on the first run ...", style="dim")
    from sklearn.base import clone
    from sklearn.model_selection import train_test_split

    from sklearn_hashnlp.cli._pipelines import make_pipeline, predict_proba, train_pipeline
    from sklearn_hashnlp.datasets import load_stdlib_docstrings
    from sklearn_hashnlp.persistence import load_model, save_model
    from sklearn_hashnlp.persistence._model_folder import check_replaceable

    check_replaceable(folder)
    texts, labels = load_stdlib_docstrings(return_X_y=True)
    split = _Split(*train_test_split(texts, labels, test_size=_TEST_SIZE, stratify=labels, random_state=_SPLIT_SEED))
    n_train, n_test = len(split.train_texts), len(split.test_texts)
    screen.note(
        f"{len(texts):,} docstrings of {len(set(labels))} modules of Python's standard library: "
        f"{n_train:,} training and {n_test:,} test texts\n"
    )

    pipeline = make_pipeline(
        seed=seed, device=device.value, n_jobs=n_jobs, epochs=None, features=Features.words_and_characters.value
    )
    clone(pipeline).fit(split.train_texts[:1] * 2, ["a", "b"])  # compiles, so that only training is timed below
    started = time.perf_counter()
    train_pipeline(screen, pipeline, split.train_texts, split.train_labels)
    seconds = time.perf_counter() - started
    predicted = pipeline.classes_[predict_proba(screen, pipeline, split.test_texts).argmax(axis=1)]
    accuracy = float((predicted == split.test_labels).mean())
    results = {_HASH_EMBEDDING: {"accuracy": accuracy, "seconds": round(seconds, 3)}}
    linear_models = {
        _LINEAR: _make_linear_model(characters=False),
        _LINEAR_CHARACTERS: _make_linear_model(characters=True),
    }
    for name, model in linear_models.items():
        screen.note(f"Training {name} ...", style="dim")
        results[name] = _train_and_test(model, split)

    save_model(pipeline, folder)
    loaded = load_model(folder).predict_proba(split.test_texts)
    if (loaded != pipeline.predict_proba(split.test_texts)).any():
        raise RuntimeError(f"The model in {folder} predicts other probabilities than before it was saved.")
    curves_of = {  # without the third model, which would take much time
        _HASH_EMBEDDING: (pipeline, accuracy),
        _LINEAR: (linear_models[_LINEAR], results[_LINEAR]["accuracy"]),
    }
    try:
        draw_plot(
            plot,
            true=split.test_labels,
            predicted=predicted,
            labels=sorted(set(labels.tolist())),
            curves=_learning_curves(screen, curves_of, split),
            title=f"Predicting the module of a docstring: accuracy {accuracy:.1%} on {n_test:,} test texts",
        )
        plotted = True
    except ImportError as error:  # matplotlib is optional
        screen.note(f"No plot: {error}")
        plotted = False

    if as_json:
        screen.show_json(
            {
                "n_train": n_train,
                "n_test": n_test,
                "hash_embedding": results[_HASH_EMBEDDING],
                "tfidf_linear_svc": results[_LINEAR],
                "tfidf_characters_linear_svc": results[_LINEAR_CHARACTERS],
                "model": str(folder),
                "picture": str(plot) if plotted else None,
            }
        )
    else:
        _show_results(screen, results, folder, plot if plotted else None)


def _make_linear_model(*, characters: bool) -> Any:
    """Return the usual scikit-learn pipeline for text: TF-IDF and a linear support vector machine."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline, make_union
    from sklearn.svm import LinearSVC

    vectorizers = [TfidfVectorizer(ngram_range=(1, 2))]
    if characters:
        vectorizers.append(TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5)))
    return make_pipeline(make_union(*vectorizers), LinearSVC(random_state=0))


def _train_and_test(model: Any, split: _Split) -> dict[str, float]:
    started = time.perf_counter()
    model.fit(split.train_texts, split.train_labels)
    seconds = time.perf_counter() - started
    return {"accuracy": float(model.score(split.test_texts, split.test_labels)), "seconds": round(seconds, 3)}


def _learning_curves(
    screen: Screen, models: Mapping[str, tuple[Any, float]], split: _Split
) -> dict[str, list[tuple[int, float]]]:
    """Compute the test accuracy of each model on fewer training texts; that on all of them is given."""
    from sklearn.base import clone
    from sklearn.model_selection import train_test_split

    curves: dict[str, list[tuple[int, float]]] = {name: [] for name in models}
    with screen.progress() as progress:
        update = add_bar(progress, "Learning curves")
        for step, train_size in enumerate(_TRAIN_SIZES, start=1):
            texts, _, labels, _ = train_test_split(
                split.train_texts,
                split.train_labels,
                train_size=train_size,
                stratify=split.train_labels,
                random_state=_SPLIT_SEED,
            )
            for name, (model, _) in models.items():
                accuracy = clone(model).fit(texts, labels).score(split.test_texts, split.test_labels)
                curves[name].append((len(texts), float(accuracy)))
            update(step, len(_TRAIN_SIZES))
    for name, (_, accuracy) in models.items():
        curves[name].append((len(split.train_texts), accuracy))
    return curves


def draw_plot(
    path: Path,
    *,
    true: Any,
    predicted: Any,
    labels: list[str],
    curves: Mapping[str, Sequence[tuple[int, float]]],
    title: str,
) -> None:
    """Draw the confusion matrix and learning curves, given as pairs (training texts, test accuracy), as a PNG file."""
    # First: where matplotlib is missing, the error of this import says how to install it.
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
    display.plot(ax=left, cmap="Blues", xticks_rotation=60, colorbar=False)
    for text, count in zip(display.text_.flat, counts.flat, strict=True):
        text.set_text(str(count) if count else "")
        text.set_fontsize(10)
    left.set_title("Confusion matrix of the test texts", fontsize=13, pad=10)
    left.set_xlabel("predicted label", fontsize=12)
    left.set_ylabel("true label", fontsize=12)
    for tick in left.get_xticklabels():
        tick.set_ha("right")
        tick.set_rotation_mode("anchor")

    for (name, points), color in zip(curves.items(), _COLORS, strict=False):
        sizes, accuracies = zip(*points, strict=True)
        right.plot(sizes, accuracies, marker="o", color=color, label=name, linewidth=2)
    right.set_xlabel("training texts", fontsize=12)
    right.set_ylabel("test accuracy", fontsize=12)
    right.set_xlim(left=0)
    right.yaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))
    right.grid(alpha=0.3)
    right.legend(loc="lower right", fontsize=12)
    right.set_title("Learning curves", fontsize=13, pad=10)
    right.set_box_aspect(1)
    figure.savefig(path, dpi=100)


def _show_results(screen: Screen, results: dict[str, dict[str, float]], folder: Path, plot: Path | None) -> None:
    screen.note("")
    table = Table("model", box=None, pad_edge=False, header_style="dim")
    table.add_column("test accuracy", justify="right")
    table.add_column("training time", justify="right")
    for name, row in results.items():
        style = "bold" if name == _HASH_EMBEDDING else None
        table.add_row(name, f"{row['accuracy']:.4f}", f"{row['seconds']:.1f} s", style=style)
    screen.show(table)
    best = max(results, key=lambda name: results[name]["accuracy"])
    if best != _HASH_EMBEDDING:
        screen.show(f"\nBest here: {best}.")
    screen.show(f"\nModel saved in  {folder}")
    if plot is not None:
        screen.show(f"Plot saved in   {plot}")
    command = f"{command_name()} predict --model {shlex.quote(str(folder))} --top 3 --proba"
    screen.show("\nNext, predict the module of a sentence of your own:")
    screen.show(f'  echo "{_EXAMPLE}" | {command}', style="bold")
