"""``hashnlp tune``: search for good parameters of a text classifier, and train the best model."""

from __future__ import annotations

import errno
import json
import math
import re
import shlex
import time
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress, ProgressColumn, Task
from rich.table import Table
from rich.text import Text

from sklearn_hashnlp._clock import clock
from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import (
    ComputeDevice,
    Delimiter,
    Device,
    Errors,
    Format,
    Jobs,
    Json,
    LabelColumn,
    LabelledFile,
    LabelPrefix,
    LabelSeparator,
    ModelFolder,
    Quiet,
    Quoted,
    ReadErrors,
    Seed,
    TextColumn,
    check_device,
)
from sklearn_hashnlp.cli._screen import Screen, command_name, counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sklearn_hashnlp.classifiers import Trial, TunedModel, TuningResult

HELP = """\
Search for good parameters of a text classifier within a time and a size, and save the best model.

\b
  hashnlp tune mails.csv --model spam
  hashnlp tune mails.csv --model spam --time 600 --valid valid.csv
  hashnlp tune mails.csv --model small --max-size 1MB
  hashnlp tune mails.csv --model spam --plot sizes.png
  hashnlp tune rare.csv --model m --metric macro-f1

The first trial has the default parameters of hashnlp train, the next are drawn at random: n-grams of words or \
characters and their lengths, lowercase, sizes of the tables, and with many texts learning rate and epochs. Up to \
10,000 texts are scored by cross-validation in five folds, of more a fifth is held out, and with --valid the texts of \
another file are scored. The best model is then trained on all texts of DATA. Each model is scored with tables of \
float32 and int8, and saved with the precision that scores higher.

--time includes reading and the last training. Each trial is appended to a file, DIR.trials.jsonl: after an \
interruption the same command continues there, and with a longer --time it goes on. With another --max-size it chooses \
among the same trials, and those that ended early because of the limit begin anew. A trial that fails is recorded, and \
the search goes on.
"""

_SUFFIX = ".trials.jsonl"
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_PLOT_SECONDS = 3.0  # importing matplotlib, and drawing
_REPORT_BYTES = 4000  # training.json and what it adds to the model card, without labels


class Metric(StrEnum):
    """Scores that a search maximizes."""

    accuracy = "accuracy"
    balanced_accuracy = "balanced-accuracy"
    macro_f1 = "macro-f1"


_SCORERS = {Metric.accuracy: None, Metric.balanced_accuracy: "balanced_accuracy", Metric.macro_f1: "f1_macro"}


def _read_size(value: str | None) -> int | None:
    """Return a size such as 500kB in bytes."""
    if value is None:
        return None
    match = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*([kmg]?)b?", value.strip().lower())
    if match is None or (size := round(float(match[1]) * _UNITS[match[2]])) < 1:
        raise typer.BadParameter(f"--max-size: expected a size such as 1MB or 500kB, got {value!r}.")
    return size


@reporting_errors
def tune(
    data: LabelledFile,
    model: ModelFolder,
    valid: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Labeled file of validation texts to score on.", show_default=False),
    ] = None,
    seconds: Annotated[float, typer.Option("--time", metavar="SECONDS", min=1.0, help="Time of the search.")] = 60.0,
    max_size: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Maximal size of the model's folder, such as 1MB or 500kB (of 1,000 bytes). Default: no limit.",
            show_default=False,
        ),
    ] = None,
    max_trials: Annotated[
        int | None,
        typer.Option(min=1, help="Maximal number of trials. Default: as many as fit into --time.", show_default=False),
    ] = None,
    metric: Annotated[Metric, typer.Option(help="Score to maximize.")] = Metric.accuracy,
    trials: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=f"File of trials, JSON lines. Default: DIR{_SUFFIX}.", show_default=False),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Save a plot of size and score of all models, such as a.png.", show_default=False
        ),
    ] = None,
    seed: Seed = 0,
    device: ComputeDevice = Device.cpu,
    n_jobs: Jobs = None,
    file_format: Format = None,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    delimiter: Delimiter = None,
    quoted: Quoted = True,
    label_prefix: LabelPrefix = "__label__",
    label_separator: LabelSeparator = None,
    errors: ReadErrors = Errors.strict,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Tune a text classifier; the parameters are the options of the command."""
    started = time.monotonic()
    screen = Screen(as_json=as_json, quiet=quiet)
    limit = _read_size(max_size)
    check_device(device)
    from sklearn_hashnlp.cli._pipelines import make_model
    from sklearn_hashnlp.cli._training_report import card_of, write_report
    from sklearn_hashnlp.cli.reading._labelled_texts import check_labels, count_labels, read_labelled
    from sklearn_hashnlp.persistence import save_model
    from sklearn_hashnlp.persistence._model_folder import check_replaceable

    if plot is not None:
        _check_plot(plot)  # before a search of a minute
        seconds = max(seconds - _PLOT_SECONDS, 1.0)
    check_replaceable(model)
    options: dict[str, Any] = {
        "file_format": file_format,
        "text_column": text_column,
        "label_column": label_column,
        "delimiter": delimiter,
        "quoted": quoted,
        "label_prefix": label_prefix,
        "label_separator": label_separator,
        "errors": errors.value,
    }
    texts, labels, _ = read_labelled(screen, data, **options)
    check_labels(labels, str(data))
    several = isinstance(labels, list)
    if several and metric is not Metric.accuracy:
        raise ValueError(f"--metric {metric.value} is for one label per text, and {data} has several.")
    validation = None if valid is None else read_labelled(screen, valid, multilabel=several, **options)[:2]
    # They load torch, which takes seconds, and wrong files are to be named at once.
    from sklearn_hashnlp.classifiers import tune_text_classifier
    from sklearn_hashnlp.classifiers.tuning._result import ModelTooLargeError
    from sklearn_hashnlp.classifiers.tuning._tune_text_classifier import MIN_TEXTS

    if validation is None and len(texts) < MIN_TEXTS:
        raise ValueError(
            f"hashnlp tune needs at least {MIN_TEXTS} texts to score some of them, and {data} has {len(texts)}. "
            "With fewer: hashnlp train, or --valid with a file of other texts."
        )
    n_labels = count_labels(labels)
    path = model.resolve().with_name(model.resolve().name + _SUFFIX) if trials is None else trials
    figure = "precision of the most probable label" if several else metric.value
    report_bytes = _REPORT_BYTES + 2 * len(json.dumps(n_labels, indent=2))
    if limit is not None:
        if limit <= report_bytes:
            raise ValueError(f"--max-size {max_size}: the report of the training takes up to {report_bytes:,} bytes.")
        limit -= report_bytes
    with screen.progress(_SearchTime(seconds)) as progress:
        shown = _Progress(screen, progress, figure)
        with _resumable(screen, path):
            result = tune_text_classifier(
                texts,
                labels,
                validation_data=validation,
                estimator=make_model(seed=seed, device=device.value, n_jobs=n_jobs, loss="ova" if several else "auto"),
                max_time=max(seconds - (time.monotonic() - started), 1e-3),
                max_trials=max_trials,
                max_size=limit,
                scoring=_SCORERS[metric],
                trials_file=path,
                random_state=seed,
                callback=shown,
            )
            shown.train(result)
            fit_started = clock()
            try:
                classifier, best = result.fit_best(texts, labels)
            except ModelTooLargeError as error:
                raise ValueError(
                    f"--max-size {max_size}, less {report_bytes:,} bytes for the report: {error}"
                ) from None
            fit_seconds = clock() - fit_started
    report = {
        "data": str(data),
        "n_texts": len(texts),
        "labels": n_labels,
        "label_separator": label_separator,
        "seconds": round(fit_seconds, 3),
        "history": classifier.history_,
        "tuning": {"n_trials": len(result.trials), "params": best.params, "precision": best.precision},
    }
    method, source, n_scored = _scored_on(data, len(texts), None if validation is None else (valid, len(validation[0])))
    name = "precision_at_1" if several else metric.name
    report["validation"] = {"data": source, "n_texts": n_scored, name: best.score}
    card = card_of(report)
    method = f"{method}, the best of {counted(len(result.trials), 'trial')}"
    card["Validation"] = {"method": method} | card["Validation"]
    save_model(classifier, model, precision=best.precision, card=card)
    write_report(model, report)
    _show_result(screen, result, best, model, path, figure)
    if plot is not None:
        _save_plot(result, plot, figure)


class _SearchTime(ProgressColumn):
    """Elapsed time of the time of a search."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    def render(self, task: Task) -> Text:
        """Return the seconds as text."""
        return Text(f"{task.elapsed or 0.0:.0f} of {self._seconds:.0f} s", style="progress.elapsed")


class _Progress:
    """The trials of a search as they finish: a note where one is better than those before, and the bar."""

    def __init__(self, screen: Screen, progress: Progress, figure: str) -> None:
        self._screen = screen
        self._progress = progress
        self._task = progress.add_task("Trial 1", total=None)
        self._figure = figure
        self._best = -math.inf

    def __call__(self, trial: Trial) -> None:
        """Show a finished trial."""
        if trial.status == "failed":
            self._screen.note(f"Trial {trial.number + 1} failed ({_describe(trial.params)}): {trial.error}")
        elif trial.status == "complete" and trial.score() > self._best:
            self._best = trial.score()
            self._screen.note(f"Trial {trial.number + 1}: {self._figure} {self._best:.4f}, {_describe(trial.params)}")
        self._progress.update(self._task, description=f"Trial {trial.number + 2}, best so far {self._best:.4f}")

    def train(self, result: TuningResult) -> None:
        """Show that the search has finished, and the best model is trained on all texts."""
        self._screen.note(f"Finished {counted(len(result.trials), 'trial')}; training the best model on all texts")
        self._progress.update(self._task, description="Training the best model")


@contextmanager
def _resumable(screen: Screen, path: Path) -> Iterator[None]:
    """Say how to continue after Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        screen.note(f"The finished trials are in {path}: the same command continues there.")
        raise


def _scored_on(data: Path, n_texts: int, valid: tuple[Path | None, int] | None) -> tuple[str, str, int]:
    """Return how the models are scored, on what, and the number of texts."""
    from sklearn_hashnlp.classifiers.tuning._tune_text_classifier import n_held_out

    if valid is not None:
        return "texts of another file", str(valid[0]), valid[1]
    if (n_scored := n_held_out(n_texts)) == n_texts:
        return "cross-validation", f"cross-validation of {data}", n_texts
    return "a fifth of the texts was held out", f"a fifth of {data}", n_scored


def _describe(params: dict[str, Any]) -> str:
    """Return parameters as text."""
    from sklearn_hashnlp.classifiers.tuning._result import describe

    return describe(params)


def _check_plot(path: Path) -> None:
    """Raise an error where no plot can be saved, or matplotlib is missing."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    import sklearn_hashnlp.plotting  # noqa: F401 - it says what to install

    endings = sorted(FigureCanvasAgg.get_supported_filetypes())
    if path.suffix.removeprefix(".").lower() not in endings:
        raise typer.BadParameter(f"--plot {path}: expected a name that ends with one of {', '.join(endings)}.")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder", str(path.absolute().parent))


def _save_plot(result: TuningResult, path: Path, figure: str) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from sklearn_hashnlp.plotting import SizeAccuracyDisplay

    picture = Figure(figsize=(7, 4.5), layout="constrained")  # without pyplot, so that no display is needed
    FigureCanvasAgg(picture)
    SizeAccuracyDisplay.from_tuning_result(result, score_name=figure, ax=picture.subplots())
    picture.savefig(path, dpi=150)


def _show_result(screen: Screen, result: TuningResult, best: TunedModel, model: Path, path: Path, figure: str) -> None:
    """Print the best model and the front: as JSON, as one figure, or as a table."""
    from sklearn_hashnlp.classifiers.tuning._result import folder_size

    default, size = result.trials[0].score(), folder_size(model)
    if screen.as_json:
        document = {
            "model": str(model),
            "params": best.params,
            "precision": best.precision,
            "score": best.score,
            "default_score": None if math.isnan(default) else default,
            "bytes": size,
            "n_trials": len(result.trials),
            "n_failed": sum(trial.status == "failed" for trial in result.trials),
            "trials": str(path),
            "front": [
                {"params": one.params, "precision": one.precision, "score": one.score, "bytes": one.size}
                for one in result.front()
            ],
        }
        screen.show_json(document)
        return
    if screen.quiet:
        print(f"{best.score:.4f}")
        return
    table = Table("score", box=None, pad_edge=False, header_style="dim")
    table.add_column("bytes", justify="right")
    table.add_column("precision")
    table.add_column("parameters")
    for one in result.front():
        table.add_row(f"{one.score:.4f}", f"{one.size:,}", one.precision, _describe(one.params))
    screen.show(f"The best of {counted(len(result.models()), 'model')} at each size:")
    screen.show(table)
    screen.show(f"\nBest {figure} {best.score:.4f}, default parameters {default:.4f}", style="bold")
    screen.show(f"Saved in {model}: {size:,} bytes, {best.precision}, {_describe(best.params)}")
    if len(result.trials) == 1:
        screen.note("Only the default parameters were tried: for a search set a longer --time or more --max-trials.")
    screen.note("\nNext, test it on texts that the search has not seen:")
    screen.note(f"  {command_name()} test test.csv --model {shlex.quote(str(model))}", style="bold")
