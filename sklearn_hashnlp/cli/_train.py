"""``hashnlp train``: train a text classifier on a labeled file."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import (
    ComputeDevice,
    Delimiter,
    Device,
    Errors,
    Features,
    Format,
    Jobs,
    Json,
    LabelColumn,
    LabelledFile,
    LabelPrefix,
    LabelSeparator,
    ModelFolder,
    Precision,
    Quiet,
    Quoted,
    ReadErrors,
    SavedPrecision,
    Seed,
    TextColumn,
    TextFeatures,
    check_device,
)
from sklearn_hashnlp.cli._screen import Screen, command_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HELP = """\
Train a text classifier on labeled texts, and save the model.

\b
  hashnlp train mails.csv --model spam
  hashnlp train train.tsv.gz --model m --text-column body --label-column kind
  hashnlp train train.jsonl --model m --valid valid.jsonl
  hashnlp train all.csv --model m --holdout 0.1
  hashnlp train names.csv --model m --features characters
  hashnlp train mails.csv --model small --precision int8
  hashnlp train chats.csv -m m --features words+characters --distortion 0.05

With --valid or --holdout the accuracy on validation texts is printed, and with --quiet nothing else. An existing \
model in DIR is replaced when training has finished; it is kept if training is interrupted.
"""


@reporting_errors
def train(
    data: LabelledFile,
    model: ModelFolder,
    valid: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Labeled file of validation texts.", show_default=False),
    ] = None,
    holdout: Annotated[float, typer.Option(min=0.0, max=0.9, help="Fraction of DATA used as validation texts.")] = 0.0,
    epochs: Annotated[int | None, typer.Option(min=1, help="Number of epochs.", show_default=False)] = None,
    features: TextFeatures = Features.words,
    distortion: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Train also on a copy of each text with typos, for robustness to misspellings: edits per character "
            "(0.05: one in twenty).",
        ),
    ] = 0.0,
    seed: Seed = 0,
    device: ComputeDevice = Device.cpu,
    n_jobs: Jobs = None,
    precision: SavedPrecision = Precision.float32,
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
    """Train a text classifier; the parameters are the options of the command."""
    screen = Screen(as_json=as_json, quiet=quiet)
    if valid is not None and holdout:
        raise typer.BadParameter("--valid and --holdout exclude each other.")
    from sklearn_hashnlp.cli._pipelines import (
        check_labels,
        make_pipeline,
        predict_proba,
        read_labelled,
        train_pipeline,
    )
    from sklearn_hashnlp.persistence import save_model
    from sklearn_hashnlp.persistence._model_folder import check_replaceable

    check_device(device)
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
        "multilabel": False,
    }
    texts, labels = read_labelled(screen, data, **options)
    check_labels(labels, str(data))
    validation = read_labelled(screen, valid, **options) if valid is not None else None
    if holdout:
        (texts, labels), validation = _split(texts, labels, holdout, seed)
        check_labels(labels, f"{data} without the validation texts")
        screen.note(f"Split into {len(texts):,} training and {len(validation[0]):,} validation texts")

    pipeline = make_pipeline(seed=seed, device=device.value, n_jobs=n_jobs, epochs=epochs, features=features.value)
    started = time.perf_counter()
    train_pipeline(screen, pipeline, *_with_typos(texts, labels, distortion, seed))
    seconds = time.perf_counter() - started

    accuracy = None
    if validation is not None:
        predicted = pipeline.classes_[predict_proba(screen, pipeline, validation[0]).argmax(axis=1)]
        accuracy = float((predicted == validation[1]).mean())
    save_model(pipeline, model, precision=precision.value)

    if as_json:
        report: dict[str, Any] = {
            "model": str(model),
            "n_texts": len(texts),
            "labels": pipeline.classes_.tolist(),
            "seconds": round(seconds, 3),
            "n_validation_texts": None if validation is None else len(validation[0]),
            "validation_accuracy": accuracy,
        }
        screen.show_json(report)
        return
    if quiet:
        if accuracy is not None:  # requested by --valid or --holdout
            print(f"{accuracy:.4f}")
        return
    screen.show(f"Trained on {len(texts):,} texts in {seconds:.1f} s")
    if accuracy is not None and validation is not None:
        screen.show(f"Validation accuracy {accuracy:.4f} on {len(validation[0]):,} texts", style="bold")
    screen.show(f"Saved in {model}")
    screen.note("\nNext, predict the labels of new texts, one per line:")
    screen.note(f"  {command_name()} predict --model {shlex.quote(str(model))} --proba", style="bold")


def _split(
    texts: list[str], labels: NDArray[np.str_], fraction: float, seed: int
) -> tuple[tuple[list[str], NDArray[np.str_]], tuple[list[str], NDArray[np.str_]]]:
    """Split into training and validation texts, stratified by label if every label has enough texts."""
    from sklearn.model_selection import train_test_split

    try:
        parts = train_test_split(texts, labels, test_size=fraction, random_state=seed, stratify=labels)
    except ValueError:  # a label with a single text, or fewer texts than labels in one part
        parts = train_test_split(texts, labels, test_size=fraction, random_state=seed)
    return (parts[0], parts[2]), (parts[1], parts[3])


def _with_typos(
    texts: list[str], labels: NDArray[np.str_], distortion: float, seed: int
) -> tuple[list[str], NDArray[np.str_]]:
    """Add a copy of each text with typos, if ``distortion`` is not 0."""
    if not distortion:
        return texts, labels
    import numpy as np

    from sklearn_hashnlp.text import distort_texts

    return texts + distort_texts(texts, distortion, random_state=seed), np.tile(labels, 2)
