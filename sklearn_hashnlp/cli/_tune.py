"""``hashnlp tune``: search for good parameters of a text classifier, and train the best model."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import typer
from rich.console import RenderableType

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import (
    LabelledFile,
    LabelledOptions,
    ModelFolder,
    OptionGroup,
    Seed,
)
from sklearn_hashnlp.cli._screen import Screen, bold, counted

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial

    from sklearn_hashnlp.classifiers import TextClassifier

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_REPORT_BYTES = 4000  # of training.json and the model card, without labels


_SCORERS = {"accuracy": None, "balanced-accuracy": "balanced_accuracy", "macro-f1": "f1_macro"}


def _read_size(value: str | None) -> int | None:
    """Return a size such as 500kB in bytes."""
    if value is None:
        return None
    match = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*([kmg]?)b?", value.strip().lower())
    if match is None or (size := round(float(match[1]) * _UNITS[match[2]])) < 1:
        raise typer.BadParameter(
            f"--max-size: expected a size such as 1MB or 500kB, got {value!r}."
        )
    return size


@dataclass(frozen=True)
class TuneOptions(OptionGroup):
    """The options of the command that no other has."""

    valid: Path | None = typer.Option(
        None, metavar="FILE", help="Labeled file of validation texts."
    )
    seconds: float = typer.Option(
        60.0, "--time", metavar="SECONDS", min=1.0, help="Time of the search."
    )
    max_size: str | None = typer.Option(
        None,
        metavar="SIZE",
        help="Maximal size of the model's folder, such as 1MB or 500kB (of 1,000 bytes). Default: "
        "no limit.",
    )
    max_trials: int | None = typer.Option(
        None, min=1, help="Maximal number of trials. Default: as many as fit into --time."
    )
    metric: Literal["accuracy", "balanced-accuracy", "macro-f1"] = typer.Option(
        "accuracy", help="Score to maximize."
    )
    seed: Seed = 0


@reporting_errors
def tune(
    data: LabelledFile,
    model: ModelFolder,
    options: TuneOptions,
    reading: LabelledOptions,
    screen: Screen,
) -> None:
    """Search for good parameters of a text classifier within a time and a size, and save the best
    model. Needs optuna.

      hashnlp tune mails.csv --model spam
      hashnlp tune mails.csv --model spam --time 600 --valid valid.csv
      hashnlp tune mails.csv --model small --max-size 1MB
      hashnlp tune rare.csv --model m --metric macro-f1

    The first trial has the default parameters of hashnlp train, the next are drawn by optuna:
    n-grams of words or characters and their lengths, lowercase, and sizes of the tables. Up to
    10,000 texts are scored by cross-validation in five folds, of more a fifth is held out, and with
    --valid the texts of another file are scored. The best model is then trained on all texts of
    DATA. With --max-size, models are scored and saved with tables of int8.

    --time includes reading and the last training. Each trial is appended to a journal of optuna,
    DIR.trials.jsonl: after an interruption the same command continues there, and a longer --time
    adds trials. A trial that fails is recorded, and the search continues.
    """
    started = time.monotonic()
    limit = _read_size(options.max_size)
    try:
        import optuna  # noqa: F401
    except ImportError:
        raise typer.BadParameter(
            "hashnlp tune needs optuna. Install it with: pip install optuna"
        ) from None
    from sklearn_hashnlp.cli._reading import count_labels
    from sklearn_hashnlp.cli._training_report import card_of, write_report
    from sklearn_hashnlp.persistence import save_model

    save_model(None, model, dry_run=True)
    texts, labels, validation = _read_files(screen, data, options, reading)
    n_labels, multilabel = count_labels(labels), isinstance(labels, list)
    if limit is not None:
        limit = max(limit - _REPORT_BYTES - 2 * len(json.dumps(n_labels, indent=2)), 1)
    trials = model.resolve().with_name(f"{model.resolve().name}.trials.jsonl")
    search = [texts, labels, validation, options.metric, limit, options.seed]
    study = _open_study(trials, search, options.seed)
    classifier, best, fit_seconds = _search(
        screen,
        trials,
        texts,
        labels,
        validation_data=validation,
        max_time=max(started + options.seconds - time.monotonic(), 1e-3),
        max_trials=options.max_trials,
        max_size=limit,
        scoring=_precision_at_1 if multilabel else _SCORERS[options.metric],
        study=study,
        random_state=options.seed,
    )
    n_trials = len(_finished(study))
    method, n_scored = "texts of another file", len(texts if validation is None else validation[0])
    if validation is None:
        is_whole = len(best.intermediate_values) > 1
        method, n_scored = (
            ("cross-validation", n_scored) if is_whole else ("a fifth", -(-n_scored // 5))
        )
    precision: Literal["float32", "int8"] = "float32" if limit is None else "int8"
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
            "precision_at_1" if multilabel else options.metric.replace("-", "_"): best.value,
        },
        "tuning": {"n_trials": n_trials, "params": best.params, "precision": precision},
    }
    card = card_of(report)
    method = f"{method}, the best of {counted(n_trials, 'trial')}"
    card["Validation"] = {"method": method} | card["Validation"]
    save_model(classifier, model, precision=precision, card=card)
    write_report(model, report)
    _show_result(screen, study, best, model, trials, precision)


def _read_files(
    screen: Screen, data: Path, options: TuneOptions, reading: LabelledOptions
) -> tuple[list[str], Any, Any]:
    """Return the texts and labels of DATA, and of the validation file or None."""
    from sklearn_hashnlp.cli._reading import check_labels, count_labels, read_labelled

    read = read_labelled(screen, data, reading)
    texts, labels = read.data, read.target
    check_labels(count_labels(labels), len(texts), data)
    multilabel = isinstance(labels, list)
    if multilabel and options.metric != "accuracy":
        raise ValueError(
            f"--metric {options.metric} is for one label per text, and {data} has several."
        )
    if options.valid is None:
        return texts, labels, None
    valid = read_labelled(
        screen, options.valid, reading, classes=count_labels(labels), multilabel=multilabel
    )
    return texts, labels, (valid.data, valid.target)


def _open_study(path: Path, search: list[Any], seed: int) -> Study:
    """Open or start the study of a search in its journal, which may hold several."""
    import joblib
    import optuna
    from optuna.storages.journal import JournalFileBackend

    if path.exists() and path.read_bytes()[:10] not in (b'{"op_code"', b""):
        raise ValueError(f"{path} is not a journal of optuna. Move it, or choose another folder.")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        storage=optuna.storages.JournalStorage(JournalFileBackend(str(path))),
        study_name=joblib.hash(search),
        direction="maximize",
        load_if_exists=True,
    )
    study.sampler = optuna.samplers.TPESampler(seed=seed + len(study.trials))
    return study


def _search(
    screen: Screen, trials: Path, texts: list[str], labels: Any, **options: Any
) -> tuple[TextClassifier, FrozenTrial, float]:
    """Search, showing each better trial; return model, trial and training seconds of the best."""
    # These load torch, which takes seconds, after errors in the files.
    from sklearn_hashnlp.classifiers import TextClassifier, tune_text_classifier

    estimator = TextClassifier(loss="ova" if isinstance(labels, list) else "auto")
    ended = perf_counter()
    with screen.bar("Trial 1") as update:

        def show(study: Study, trial: FrozenTrial) -> None:
            nonlocal ended
            ended = perf_counter()
            if (best := study.best_trials) and best[0].number == trial.number:
                screen.note(
                    f"Trial {trial.number + 1}: score {trial.value:.4f}, {_describe(trial.params)}"
                )
            so_far = f", best so far {best[0].value:.4f}" if best else ""
            update(trial.number + 1, None, f"Trial {trial.number + 2}{so_far}")

        try:
            classifier, best, study = tune_text_classifier(
                texts, labels, estimator=estimator, callbacks=[show], **options
            )
        except KeyboardInterrupt:
            screen.note(f"The finished trials are in {trials}: the same command continues there.")
            raise
    screen.note(f"Finished {counted(len(_finished(study)), 'trial')}")
    return classifier, best, round(perf_counter() - ended, 3)


def _finished(study: Study) -> list[FrozenTrial]:
    return [trial for trial in study.trials if trial.state.is_finished()]


def _describe(params: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in params.items()) or "default parameters"


def _precision_at_1(model: TextClassifier, texts: list[str], labels: list[list[str]]) -> float:
    """Return the fraction of texts with a correct most probable label, among texts with labels."""
    best = model.predict_topk(texts, k=1)
    hits = [one[0][0] in known for one, known in zip(best, labels, strict=True) if known]
    return sum(hits) / max(len(hits), 1)


def _show_result(
    screen: Screen, study: Study, best: FrozenTrial, model: Path, trials: Path, precision: str
) -> None:
    """Print the best model: as JSON, as the score alone, or as lines."""
    finished, size = (
        _finished(study),
        sum(path.stat().st_size for path in model.iterdir() if path.is_file()),
    )
    states = [trial.state.name for trial in finished]
    first = finished[states.index("COMPLETE")]
    default = None if first.params else first.value
    report = {
        "model": str(model),
        "params": best.params,
        "precision": precision,
        "score": best.value,
        "default_score": default,
        "bytes": size,
        "n_trials": len(finished),
        "n_failed": states.count("FAIL"),
        "trials": str(trials),
    }
    of_default = "" if default is None else f", default parameters {default:.4f}"
    lines: list[RenderableType] = [
        bold(f"Best score {best.value:.4f}{of_default}"),
        f"Saved in {model}: {size:,} bytes, {precision}, {_describe(best.params)}",
    ]
    screen.result(report, lines, f"{best.value:.4f}")
    if len(finished) == 1:
        screen.note(
            "Only the default parameters were tried: for a search set a longer --time or more "
            "--max-trials."
        )
    purpose = "test it on texts that the search has not seen"
    screen.next_step(purpose, "{hashnlp} test test.csv --model {path}", path=model)
