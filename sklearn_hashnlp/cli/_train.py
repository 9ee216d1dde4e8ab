"""``hashnlp train``: train a text classifier on a labeled file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import (
    Jobs,
    LabelledFile,
    LabelledOptions,
    ModelFolder,
    OptionGroup,
    SavedPrecision,
)
from sklearn_hashnlp.cli._parameters import Bundles, Training, parameters_option
from sklearn_hashnlp.cli._screen import Screen, bold, counted


@dataclass(frozen=True)
class TrainOptions(OptionGroup):
    """The options of the command that no other has."""

    valid: Path | None = typer.Option(
        None, metavar="FILE", help="Labeled file of validation texts."
    )
    holdout: float = typer.Option(
        0.0, min=0.0, max=0.9, help="Fraction of DATA used as validation texts."
    )
    early_stopping: bool = typer.Option(
        False,
        "--early-stopping",
        help="Stop when the validation accuracy no longer improves, and keep the best epoch.",
    )
    features: Literal["auto", "words", "words+characters", "characters"] | None = typer.Option(
        None,
        help="words: words and pairs of words. characters: character n-grams within words, for "
        "misspelled or "
        "inflected words, or for language identification. auto, the default: both if texts are "
        "few or many words are new, else words.",
    )
    buckets: int | None = typer.Option(
        None, min=1, help="Number of vectors in the shared pool. Default: 1,048,576."
    )
    pretrained: Path | None = typer.Option(
        None,
        metavar="english|DIR",
        help="Sentence encoder with vectors that help if the texts of DATA are few: english, which "
        "comes with the package, or the folder of one of hashnlp sentences train.",
    )
    unlabeled: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="More texts like those of DATA, without labels: one per line, or a column of CSV, TSV "
        "or JSON lines. If its extension is that of DATA, it is read by the options for DATA. "
        "Vectors are learned from the texts, which help if those of DATA are few.",
    )
    sgnn: bool = typer.Option(
        False,
        "--sgnn",
        help="Train a self-governing neural network, a small one that hashnlp export writes as "
        "one file.",
    )
    fasttext: bool = typer.Option(
        False,
        "--fasttext",
        help="Train a model with fastText's dictionary and n-grams, for hashnlp convert DIR -m "
        "m.bin.",
    )
    stream: bool = typer.Option(False, "--stream", help="Read DATA in batches, in constant memory.")
    n_jobs: Jobs = None
    precision: SavedPrecision = "float32"


def _models() -> Iterator[tuple[str, Any, Bundles]]:
    from sklearn_hashnlp.cli._pipelines import make_model

    yield "hashnlp train", make_model(), _bundles()
    yield "\nhashnlp train --sgnn", make_model(sgnn=True), _bundles()
    yield "\nhashnlp train --fasttext", make_model(fasttext=True), _bundles()


def _bundles() -> Bundles:
    from sklearn_hashnlp.classifiers import EmbeddingTables, make_text_classifier
    from sklearn_hashnlp.training import EarlyStopping, Schedule

    inner = {
        "embedding": EmbeddingTables(),
        "early_stopping": EarlyStopping(),
        "schedule": Schedule(),
    }
    return {"classifier": make_text_classifier()["classifier"]} | inner


@reporting_errors
def train(
    data: LabelledFile,
    model: ModelFolder,
    options: TrainOptions,
    training: Training,
    reading: LabelledOptions,
    screen: Screen,
    # its callback prints and exits
    parameters: Annotated[bool, parameters_option(_models)] = False,  # noqa: ARG001
) -> None:
    """Train a text classifier on labeled texts, and save the model.

      hashnlp train mails.csv --model spam
      hashnlp train train.tsv.gz --model m --text-column body --label-column kind
      hashnlp train train.jsonl --model m --valid valid.jsonl --early-stopping
      hashnlp train all.csv --model m --holdout 0.1 --epochs 5 --learning-rate 0.1
      hashnlp train cooking.train --model cooking --valid cooking.valid
      hashnlp train names.csv -m m --features characters --set lowercase=False
      hashnlp train rare.csv --model m --set class_weight=balanced
      hashnlp train rare.csv --model m --set "class_weight={'spam': 2}"
      hashnlp train many.csv --model m --set loss=hsigmoid
      hashnlp train mails.csv -m small --buckets 10000 --precision int8
      hashnlp train mails.csv -m m --set classifier__variant=paper
      hashnlp train intents.csv --model intents --sgnn
      hashnlp train cooking.train -m m --fasttext --set vectorizer__word_ngrams=2
      hashnlp train few.csv -m m --unlabeled many.txt
      hashnlp train few.csv -m m --pretrained english
      hashnlp train few.csv -m m --pretrained encoder
      hashnlp train huge.csv.gz -m m --stream
      hashnlp train --parameters

    The model is a TextClassifier. --set NAME=VALUE sets any of its parameters, and --parameters
    lists them; values are checked before DATA is read. Parameters of the classifier inside that
    TextClassifier does not have itself are set as classifier__NAME. --sgnn trains a small model
    instead that hashnlp export writes as one file; its parameters are those of a pipeline: --set
    "classifier__hidden_layer_sizes=(128, 128)". --fasttext trains a pipeline in fastText's terms,
    which hashnlp convert writes as a .bin or .ftz file.

    DATA has one label per text or more, as the files of fastText have.

    With --valid or --holdout the accuracy of the saved model on validation texts is printed and,
    unless texts are few and trained as a linear support vector machine, the accuracy after each
    epoch; with multiple labels per text it is the precision of the most probable label.
    --early-stopping saves the epoch that was best on them, by accuracy or with multiple labels by
    loss; without them, on a twentieth of DATA. An existing model in DIR is replaced when training
    has finished; it is kept if training is interrupted.

    With --stream a file that does not fit into memory is read in batches of 10,000 texts, once for
    the labels and once for each epoch (1 by default). The order of the texts is then the order of
    the file, shuffled only within a batch: shuffle a file that is sorted by label first. --features
    auto then counts words only, importance weights depend on the first batch, weights are not
    averaged, and there is no --holdout, --early-stopping or --sgnn.
    """
    if options.valid is not None and options.holdout:
        raise typer.BadParameter("--valid and --holdout exclude each other.")
    if options.sgnn and options.fasttext:
        raise typer.BadParameter("--sgnn and --fasttext exclude each other.")
    if options.stream:
        _check_stream(data, options)
    from sklearn_hashnlp.cli._fit_classifier import fit_in_memory, fit_streamed
    from sklearn_hashnlp.cli._training_report import card_of, write_report
    from sklearn_hashnlp.persistence import save_model

    save_model(None, model, dry_run=True)
    classifier = _new_model(options, training)
    if options.stream:
        report = fit_streamed(screen, classifier, data, options.valid, reading)
    else:
        report = fit_in_memory(
            screen,
            classifier,
            data,
            reading,
            valid=options.valid,
            holdout=options.holdout,
            seed=training.seed,
            early_stopping=options.early_stopping,
            unlabeled=options.unlabeled,
        )
    save_model(classifier, model, precision=options.precision, card=card_of(report))
    write_report(model, report)
    _show_report(screen, model, report)


def _check_stream(data: Path, options: TrainOptions) -> None:
    """Raise an error for a pipe, and for options that need all texts at once."""
    if data.exists() and not data.is_file():
        raise typer.BadParameter(f"--stream reads DATA more than once, and {data} is no file.")
    for name in ("holdout", "early_stopping", "unlabeled", "sgnn", "fasttext"):
        if getattr(options, name):
            raise typer.BadParameter(
                f"--{name.replace('_', '-')} needs all texts at once: leave it out."
            )


def _new_model(options: TrainOptions, training: Training) -> Any:
    """Return the untrained model, with the parameters of all options."""
    from sklearn_hashnlp.cli._pipelines import make_model
    from sklearn_hashnlp.cli.sentences._load_encoder import load_pretrained

    given: dict[str, Any] = {"early_stopping": "valid_acc" if options.early_stopping else None}
    of_texts = {
        "features": options.features,
        "pretrained": options.pretrained,
        "unlabeled": options.unlabeled,
        "buckets": options.buckets,
    }
    refused = [f"--{name}" for name, value in of_texts.items() if value is not None]
    if refused and (options.sgnn or options.fasttext):
        kind, features = (
            ("--sgnn", "character n-grams") if options.sgnn else ("--fasttext", "those of fastText")
        )
        raise typer.BadParameter(
            f"{kind} has no {' and no '.join(refused)}: its features are {features}."
        )
    if options.fasttext:
        by_epochs = (
            training.epochs is not None
            or training.learning_rate is not None
            or options.early_stopping
        )
        model = make_model(
            fasttext=True, n_jobs=options.n_jobs, solver="sgd" if by_epochs else "dual"
        )
    else:
        model = make_model(sgnn=options.sgnn, n_jobs=options.n_jobs)
        pretrained = None if options.pretrained is None else load_pretrained(options.pretrained)
        given |= {
            "features": options.features,
            "pretrained": pretrained,
            "n_buckets": options.buckets,
        }
    training.configure(model, _bundles(), **given)
    return model


def _show_report(screen: Screen, model: Path, report: dict[str, Any]) -> None:
    """Print the result of training: as JSON, as one figure, or as sentences."""
    validation = report.get("validation", {})
    figure, best_epoch = None, report.get("best_epoch")
    result = {
        "model": str(model),
        "n_texts": report["n_texts"],
        "labels": sorted(report["labels"]),
        "seconds": report["seconds"],
        "n_validation_texts": validation.get("n_texts"),
        "validation_accuracy": validation.get("accuracy"),
        "validation": validation or None,
        "best_epoch": best_epoch,
        "history": report["history"],
    }
    lines: list[Any] = [
        f"Trained on {counted(report['n_texts'], 'text')} in {report['seconds']:.1f} s"
    ]
    if validation:
        name = "accuracy" if "accuracy" in validation else "precision_at_1"
        figure = f"{validation[name]:.4f}"
        n_texts = counted(validation["n_texts"], "text")
        lines.append(bold(f"Validation {name.replace('_', ' ')} {figure} on {n_texts}"))
    if best_epoch is not None:
        lines.append(
            f"Stopped after {counted(len(report['history']), 'epoch')}: best epoch {best_epoch}"
        )
    screen.result(result, [*lines, f"Saved in {model}"], figure)
    purpose = "predict the labels of new texts, one per line"
    screen.next_step(purpose, "{hashnlp} predict --model {path} --proba", path=model)
