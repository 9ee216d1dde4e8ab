"""``hashnlp demo``: the whole way, on text that is on every machine."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import ComputeDevice, Device, Jobs, Json, Quiet, Seed
from sklearn_hashnlp.cli._screen import Screen, bar, command_name

_COLOURS = ("#1f5fa8", "#dd8452", "#55a868")


def draw_picture(
    path: Path,
    *,
    true: Any,
    found: Any,
    labels: list[str],
    curves: Mapping[str, Sequence[tuple[int, float]]],
    title: str,
) -> None:
    """Draw the confusion matrix and, beside it, learning curves."""
    # First: where matplotlib is missing, the error of this import says how to install it.
    import sklearn_hashnlp.plotting  # noqa: F401

    # isort: split
    # A figure of its own, not pyplot's: nothing here depends on a screen or on other figures.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter
    from sklearn.metrics import ConfusionMatrixDisplay, confusion_matrix

    figure = Figure(figsize=(17, 9.5), layout="constrained")
    FigureCanvasAgg(figure)
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)  # type: ignore[call-arg, union-attr]  # a constrained layout's, which mypy does not know it is
    figure.suptitle(title, fontsize=17, fontweight="bold")
    left, right = figure.subplots(1, 2, width_ratios=[1.5, 1])

    counts = confusion_matrix(true, found, labels=labels)
    shares = counts / counts.sum(axis=1, keepdims=True).clip(min=1)  # colours by row: small labels count as much
    display = ConfusionMatrixDisplay(shares, display_labels=labels)
    display.plot(ax=left, cmap="Blues", xticks_rotation=60, colorbar=False)
    for text, count in zip(display.text_.flat, counts.flat, strict=True):
        text.set_text(str(count) if count else "")
        text.set_fontsize(10)
    left.set_title("Held-out texts by true label and label found", fontsize=13, pad=10)
    left.set_xlabel("label found", fontsize=12)
    left.set_ylabel("true label", fontsize=12)
    for tick in left.get_xticklabels():
        tick.set_ha("right")
        tick.set_rotation_mode("anchor")

    for (name, points), colour in zip(curves.items(), _COLOURS, strict=False):
        sizes, accuracies = zip(*points, strict=True)
        right.plot(sizes, accuracies, marker="o", color=colour, label=name, linewidth=2)
    right.set_xlabel("texts learned from", fontsize=12)
    right.set_ylabel("held-out accuracy", fontsize=12)
    right.set_xlim(left=0)
    right.yaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))
    right.grid(alpha=0.3)
    right.legend(loc="lower right", fontsize=12)
    right.set_title("Learning curves", fontsize=13, pad=10)
    right.set_box_aspect(1)
    figure.savefig(path, dpi=100)


HELP = """\
See it work: learn to tell Python's modules by their docstrings, on text that is on your machine.

\b
  hashnlp demo
  hashnlp demo --output /tmp/demo --json

It reads the docstrings of Python's standard library, learns from three quarters of them to tell the module that \
each stands in by words and characters, measures itself on the rest beside linear support vector machines, once on \
TF-IDF of words and once on that of words and characters, and saves the model and a picture in the folder \
hashnlp-demo. No network, no GPU; less than a minute.
"""

_TEST_SHARE = 0.25
_SPLIT_SEED = 0  # not --seed: whatever the model's seed, the measured texts are the same
_SHARES = (0.1, 0.2, 0.4, 0.7)
_OURS = "ours: hash embedding, words + characters"
_LINEAR = "TF-IDF, words + LinearSVC"
_LINEAR_CHARACTERS = "TF-IDF, words + characters + LinearSVC"
_SENTENCE = "Return the names of all members of the archive, and extract one of them."


@reporting_errors
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder of what is made.")] = Path(
        "hashnlp-demo"
    ),
    seed: Seed = 0,
    device: ComputeDevice = Device.cpu,
    n_jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run the demonstration; the parameters are the command's options."""
    screen = Screen(as_json=as_json, quiet=quiet)
    folder, picture = output / "model", output / "demo.png"
    screen.note("Loading torch, and compiling what was not compiled before ...", style="dim")
    from sklearn.base import clone
    from sklearn.model_selection import train_test_split

    from sklearn_hashnlp.cli._options import Features
    from sklearn_hashnlp.cli._pipelines import make_pipeline, predict_proba, train_pipeline
    from sklearn_hashnlp.datasets import load_stdlib_docstrings
    from sklearn_hashnlp.persistence import load_model, save_model
    from sklearn_hashnlp.persistence._model_folder import check_replaceable

    check_replaceable(folder)
    texts, labels = load_stdlib_docstrings(return_X_y=True)
    names = sorted(set(labels.tolist()))
    train_texts, test_texts, train_labels, test_labels = train_test_split(
        texts, labels, test_size=_TEST_SHARE, stratify=labels, random_state=_SPLIT_SEED
    )
    screen.note(
        f"{len(texts):,} docstrings of {len(names)} modules of Python's standard library: "
        f"{len(train_texts):,} to learn from, {len(test_texts):,} held out\n"
    )

    features = Features.words_and_characters.value
    pipeline = make_pipeline(seed=seed, device=device.value, n_jobs=n_jobs, epochs=None, features=features)
    clone(pipeline).fit(train_texts[:1] * 2, ["a", "b"])  # compiles, so that the time below is that of training
    started = time.perf_counter()
    train_pipeline(screen, pipeline, train_texts, train_labels)
    seconds = time.perf_counter() - started
    found = pipeline.classes_[predict_proba(screen, pipeline, test_texts).argmax(axis=1)]
    ours = {"accuracy": float((found == test_labels).mean()), "seconds": round(seconds, 3)}
    measured = {_OURS: ours}
    linear_models = {
        _LINEAR: make_linear_model(characters=False),
        _LINEAR_CHARACTERS: make_linear_model(characters=True),
    }
    for name, model in linear_models.items():
        screen.note(f"Training {name} ...", style="dim")
        started = time.perf_counter()
        model.fit(train_texts, train_labels)
        seconds = time.perf_counter() - started
        measured[name] = {"accuracy": float(model.score(test_texts, test_labels)), "seconds": round(seconds, 3)}

    save_model(pipeline, folder)
    reloaded = load_model(folder).predict_proba(test_texts)
    if (reloaded != pipeline.predict_proba(test_texts)).any():
        raise RuntimeError(f"The model in {folder} does not predict what it predicted before it was saved.")
    names_of_models = {  # the third would add more time than insight
        _OURS: (pipeline, ours["accuracy"]),
        _LINEAR: (linear_models[_LINEAR], measured[_LINEAR]["accuracy"]),
    }
    title = (
        f"Which module does a docstring stand in?  {ours['accuracy']:.1%} of {len(test_texts):,} held-out texts right"
    )
    try:
        draw_picture(
            picture,
            true=test_labels,
            found=found,
            labels=names,
            curves=_learning_curves(screen, names_of_models, train_texts, train_labels, test_texts, test_labels),
            title=title,
        )
        drawn = True
    except ImportError as error:  # a demonstration is worth having without its picture
        screen.note(f"No picture: {error}")
        drawn = False

    if as_json:
        screen.put_json(
            {
                "n_train": len(train_texts),
                "n_test": len(test_texts),
                "hash_embedding": ours,
                "tfidf_linear_svc": measured[_LINEAR],
                "tfidf_characters_linear_svc": measured[_LINEAR_CHARACTERS],
                "model": str(folder),
                "picture": str(picture) if drawn else None,
            }
        )
        return
    screen.note("")
    table = Table("model", box=None, pad_edge=False, header_style="dim")
    table.add_column("held-out accuracy", justify="right")
    table.add_column("training time", justify="right")
    for name, row in measured.items():
        style = "bold" if name == _OURS else None
        table.add_row(name, f"{row['accuracy']:.4f}", f"{row['seconds']:.1f} s", style=style)
    screen.show(table)
    best = max(measured, key=lambda name: measured[name]["accuracy"])
    if best != _OURS:
        screen.show(f"\n{best} is ahead here.")
    screen.show(f"\nModel saved in    {folder}")
    if drawn:
        screen.show(f"Picture saved in  {picture}")
    command = f"{command_name()} predict --model {shlex.quote(str(folder))} --top 3 --proba"
    screen.show("\nNext, ask it where a sentence of your own belongs:")
    screen.show(f'  echo "{_SENTENCE}" | {command}', style="bold")


def make_linear_model(*, characters: bool) -> Any:
    """Make what most people would have used."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline, make_union
    from sklearn.svm import LinearSVC

    vectorizers = [TfidfVectorizer(ngram_range=(1, 2))]
    if characters:
        vectorizers.append(TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5)))
    return make_pipeline(make_union(*vectorizers), LinearSVC(random_state=0))


def _learning_curves(
    screen: Screen, models: dict[str, tuple[Any, float]], texts: Any, labels: Any, test_texts: Any, test_labels: Any
) -> dict[str, list[tuple[int, float]]]:
    """Compute each model after learning from fewer texts, too; with all of them it was measured before."""
    from sklearn.base import clone
    from sklearn.model_selection import train_test_split

    curves: dict[str, list[tuple[int, float]]] = {name: [] for name in models}
    with screen.progress() as progress:
        move = bar(progress, "Learning curves")
        for step, share in enumerate(_SHARES, start=1):
            fewer, _, their_labels, _ = train_test_split(
                texts, labels, train_size=share, stratify=labels, random_state=_SPLIT_SEED
            )
            for name, (model, _) in models.items():
                accuracy = clone(model).fit(fewer, their_labels).score(test_texts, test_labels)
                curves[name].append((len(fewer), float(accuracy)))
            move(step, len(_SHARES))
    for name, (_, accuracy) in models.items():
        curves[name].append((len(texts), accuracy))
    return curves
