"""``hashnlp tune``: search for good parameters of a text classifier, and train the best model."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import RenderableType

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import LabelledFile, LabelledOptions, ModelFolder, OptionGroup, Seed
from sklearn_hashnlp.cli._screen import Screen, bold, counted, plain_table

if TYPE_CHECKING:
    from sklearn_hashnlp.classifiers import TextClassifier
    from sklearn_hashnlp.classifiers.tuning._result import TunedModel, TuningResult

HELP = """\
Search for good parameters of a text classifier within a time and a size, and save the best model. Needs optuna.

\b
  hashnlp tune mails.csv --model spam
  hashnlp tune mails.csv --model spam --time 600 --valid valid.csv
  hashnlp tune mails.csv --model small --max-size 1MB
  hashnlp tune mails.csv --model spam --plot sizes.png
  hashnlp tune rare.csv --model m --metric macro-f1

The first trial has the default parameters of hashnlp train, the next are drawn by optuna: n-grams of words or \
characters and their lengths, lowercase, sizes of the tables, and with many texts learning rate and epochs. Up to \
10,000 texts are scored by cross-validation in five folds, of more a fifth is held out, and with --valid the texts of \
another file are scored. The best model is then trained on all texts of DATA. Each model is scored with tables of \
float32 and int8, and saved with the precision that scores higher.

--time includes reading and the last training. Each trial is appended to a journal of optuna, DIR.trials.jsonl: after \
an interruption the same command continues there, and a longer --time adds trials. With another --max-size it chooses \
among the same trials. A trial that fails is recorded, and the search continues.
"""

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_PLOT_SECONDS = 3.0  # importing matplotlib, and drawing
_REPORT_BYTES = 4000  # of training.json and the model card, without labels


_SCORERS = {"accuracy": None, "balanced-accuracy": "balanced_accuracy", "macro-f1": "f1_macro"}


def _read_size(value: str | None) -> int | None:
    """Return a size such as 500kB in bytes."""
    if value is None:
        return None
    match = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*([kmg]?)b?", value.strip().lower())
    if match is None or (size := round(float(match[1]) * _UNITS[match[2]])) < 1:
        raise typer.BadParameter(f"--max-size: expected a size such as 1MB or 500kB, got {value!r}.")
    return size


@dataclass(frozen=True)
class TuneOptions(OptionGroup):
    """The options of the command that no other has."""

    valid: Annotated[Path | None, typer.Option(metavar="FILE", help="Labeled file of validation texts.")] = None
    seconds: Annotated[float, typer.Option("--time", metavar="SECONDS", min=1.0, help="Time of the search.")] = 60.0
    max_size: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Maximal size of the model's folder, such as 1MB or 500kB (of 1,000 bytes). Default: no limit.",
        ),
    ] = None
    max_trials: Annotated[
        int | None, typer.Option(min=1, help="Maximal number of trials. Default: as many as fit into --time.")
    ] = None
    metric: Annotated[Literal["accuracy", "balanced-accuracy", "macro-f1"], typer.Option(help="Score to maximize.")] = (
        "accuracy"
    )
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Save a plot of size and score, such as a.png.")] = (
        None
    )
    seed: Seed = 0


@reporting_errors
def tune(
    data: LabelledFile, model: ModelFolder, options: TuneOptions, reading: LabelledOptions, screen: Screen
) -> None:
    """Tune a text classifier; the parameters are the options of the command."""
    started = time.monotonic()
    limit, seconds = _read_size(options.max_size), options.seconds
    from sklearn_hashnlp.classifiers.tuning import check_optuna

    try:
        check_optuna("hashnlp tune")
    except ImportError as error:
        raise typer.BadParameter(str(error)) from None
    if options.plot is not None:
        seconds -= _PLOT_SECONDS
        _check_plot(options.plot)
    from sklearn_hashnlp.cli._training_report import card_of, write_report
    from sklearn_hashnlp.cli.reading._labelled_texts import count_labels
    from sklearn_hashnlp.persistence._model_folder import check_replaceable, save_model

    check_replaceable(model)
    texts, labels, validation = _read_files(screen, data, options, reading)
    n_labels, multilabel = count_labels(labels), isinstance(labels, list)
    if limit is not None:
        limit = max(limit - _REPORT_BYTES - 2 * len(json.dumps(n_labels, indent=2)), 1)
    trials = model.resolve().with_name(f"{model.resolve().name}.trials.jsonl")
    result, classifier, best, fit_seconds = _search(
        screen,
        texts,
        labels,
        validation_data=validation,
        max_time=max(started + seconds - time.monotonic(), 1e-3),
        max_trials=options.max_trials,
        max_size=limit,
        scoring=_SCORERS[options.metric],
        trials_file=trials,
        random_state=options.seed,
    )
    method, n_scored = _validation_method(len(texts), validation)
    report = {
        "data": str(data),
        "n_texts": len(texts),
        "labels": n_labels,
        "label_separator": reading.label_separator,
        "seconds": fit_seconds,
        "history": classifier.history_,
        "validation": {
            "data": f"{method} of {data}" if options.valid is None else str(options.valid),
            "n_texts": n_scored,
            "precision_at_1" if multilabel else options.metric.replace("-", "_"): best.score,
        },
        "tuning": {"n_trials": len(result.study.trials), "params": best.params, "precision": best.precision},
    }
    card = card_of(report)
    method = f"{method}, the best of {counted(len(result.study.trials), 'trial')}"
    card["Validation"] = {"method": method} | card["Validation"]
    save_model(classifier, model, precision=best.precision, card=card)
    write_report(model, report)
    _show_result(screen, result, best, model, trials)
    if options.plot is not None:
        _save_plot(result, options.plot, "precision at 1" if multilabel else options.metric)


def _read_files(
    screen: Screen, data: Path, options: TuneOptions, reading: LabelledOptions
) -> tuple[list[str], Any, Any]:
    """Return the texts and labels of DATA, and of the validation file or None."""
    from sklearn_hashnlp.cli.reading._labelled_texts import check_labels, read_labelled

    texts, labels, _ = read_labelled(screen, data, **vars(reading))
    check_labels(labels, str(data))
    multilabel = isinstance(labels, list)
    if multilabel and options.metric != "accuracy":
        raise ValueError(f"--metric {options.metric} is for one label per text, and {data} has several.")
    if options.valid is None:
        return texts, labels, None
    return (
        texts,
        labels,
        read_labelled(screen, options.valid, few_rows=True, multilabel=multilabel, **vars(reading))[:2],
    )


def _search(
    screen: Screen, texts: list[str], labels: Any, **options: Any
) -> tuple[TuningResult, TextClassifier, TunedModel, float]:
    """Search, showing each better trial, and train the best model; return the seconds of its training, too."""
    # These load torch, which takes seconds, after errors in the files.
    from sklearn_hashnlp.classifiers import TextClassifier, tune_text_classifier
    from sklearn_hashnlp.classifiers.tuning._result import describe

    estimator = TextClassifier(loss="ova" if isinstance(labels, list) else "auto")
    with screen.bar("Trial 1") as update:

        def show(study: Any, trial: Any) -> None:
            name = f"Trial {trial.number + 1}"
            if "error" in trial.user_attrs:
                screen.note(f"{name} failed ({describe(trial.params)}): {trial.user_attrs['error']}")
            elif trial.number == study.best_trial.number:
                screen.note(f"{name}: score {trial.value:.4f}, {describe(trial.params)}")
            update(trial.number + 1, None, f"Trial {trial.number + 2}, best so far {study.best_value:.4f}")

        try:
            result = tune_text_classifier(texts, labels, estimator=estimator, callback=show, **options)
            screen.note(f"Finished {counted(len(result.study.trials), 'trial')}; training the best model on all texts")
            started = perf_counter()
            classifier, best = result.fit_best(texts, labels)
        except KeyboardInterrupt:
            screen.note(f"The finished trials are in {options['trials_file']}: the same command continues there.")
            raise
    return result, classifier, best, round(perf_counter() - started, 3)


def _validation_method(n_texts: int, validation: Any) -> tuple[str, int]:
    """Return how the models are scored, and on how many texts."""
    from sklearn_hashnlp.classifiers.tuning._tune_text_classifier import n_held_out

    if validation is not None:
        return "texts of another file", len(validation[0])
    n_scored = n_held_out(n_texts)
    return "cross-validation" if n_scored == n_texts else "a fifth", n_scored


def _check_plot(path: Path) -> None:
    """Raise an error before the search if matplotlib, its format or the folder is missing."""
    if not path.resolve().parent.is_dir():
        raise FileNotFoundError(f"--plot: there is no folder {str(path.parent)!r}.")
    import sklearn_hashnlp.plotting  # noqa: F401 - the error has the install command

    # isort: split
    from matplotlib.figure import Figure

    Figure().savefig(BytesIO(), format=path.suffix.removeprefix(".") or "png")


def _save_plot(result: TuningResult, path: Path, score_name: str) -> None:
    from matplotlib.figure import Figure

    from sklearn_hashnlp.plotting import SizeAccuracyDisplay

    figure = Figure(figsize=(7, 4.5), layout="constrained")  # without pyplot, so that no display is needed
    SizeAccuracyDisplay.from_tuning_result(result, score_name=score_name, ax=figure.subplots())
    figure.savefig(path, dpi=150)


def _show_result(screen: Screen, result: TuningResult, best: TunedModel, model: Path, trials: Path) -> None:
    """Print the best model and the Pareto front: as JSON, as the score alone, or as a table."""
    from sklearn_hashnlp.classifiers.tuning._result import describe, folder_size

    n_trials, size = len(result.study.trials), folder_size(model)
    default = next((one.score for one in result.models if one.number == 0), None)
    front = result.front()
    report = {
        "model": str(model),
        "params": best.params,
        "precision": best.precision,
        "score": best.score,
        "default_score": default,
        "bytes": size,
        "n_trials": n_trials,
        "n_failed": sum("error" in trial.user_attrs for trial in result.study.trials),
        "trials": str(trials),
        "front": [one._asdict() for one in front],
    }
    table = plain_table("score", "bytes", "precision", "parameters")
    for one in front:
        table.add_row(f"{one.score:.4f}", f"{one.size:,}", one.precision, describe(one.params))
    of_default = "" if default is None else f", default parameters {default:.4f}"
    lines: list[RenderableType] = [
        f"The best of {counted(len(result.models), 'model')} at each size:",
        table,
        bold(f"\nBest score {best.score:.4f}{of_default}"),
        f"Saved in {model}: {size:,} bytes, {best.precision}, {describe(best.params)}",
    ]
    screen.result(report, lines, f"{best.score:.4f}")
    if n_trials == 1:
        screen.note("Only the default parameters were tried: for a search set a longer --time or more --max-trials.")
    purpose = "test it on texts that the search has not seen"
    screen.next_step(purpose, "{hashnlp} test test.csv --model {path}", path=model)
