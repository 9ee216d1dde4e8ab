"""``hashnlp train``: train a text classifier on a labeled file."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sklearn_hashnlp._clock import clock
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
    Loss,
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
from sklearn_hashnlp.cli._screen import Screen, command_name, counted

if TYPE_CHECKING:
    from sklearn_hashnlp.cli._validation import ValidationScores

HELP = """\
Train a text classifier on labeled texts, and save the model.

\b
  hashnlp train mails.csv --model spam
  hashnlp train train.tsv.gz --model m --text-column body --label-column kind
  hashnlp train train.jsonl --model m --valid valid.jsonl --early-stopping
  hashnlp train all.csv --model m --holdout 0.1 --epochs 5 --learning-rate 0.1
  hashnlp train cooking.train --model cooking --valid cooking.valid
  hashnlp train names.csv --model m --features characters --no-lowercase
  hashnlp train rare.csv --model m --class-weight balanced
  hashnlp train mails.csv -m small --dim 4 --buckets 10000 --precision int8
  hashnlp train intents.csv --model intents --sgnn
  hashnlp train chats.csv -m m --features words+characters --distortion 0.05
  hashnlp train few.csv -m m --pretrained encoder
  hashnlp train huge.csv.gz -m m --stream

DATA has one label per text or several, as the files of fastText have. --sgnn trains a small model that hashnlp export \
writes as one file.

With --valid or --holdout the accuracy of the saved model on validation texts is printed and, unless texts are few and \
trained as a linear support vector machine, that after each epoch; with several labels per text it is the precision \
of the most probable label. --early-stopping saves the epoch that was best on them, by accuracy or with several \
labels by loss; without them, on a twentieth of DATA. An existing model in DIR is replaced when training has \
finished; it is kept if training is interrupted.

A file that is too large for the available memory is read in batches of 10,000 texts, once for the labels and once for \
each epoch (1 by default); --stream does so with any file. The order of the texts is then that of the file, shuffled \
only within a batch: shuffle a file that is sorted by label first. What looks at all texts before training is not \
possible: --features auto counts words, importance weights are those of the first batch, there is no --holdout, \
--early-stopping or --sgnn, and the weights of a training are not averaged.
"""

_OF_HASH_EMBEDDINGS = {"features": Features.auto, "ngrams": None, "pretrained": None, "dim": None, "buckets": None}
_EPOCHS_WITH_EARLY_STOPPING = 20  # as in the classifiers


@reporting_errors
def train(
    data: LabelledFile,
    model: ModelFolder,
    valid: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Labeled file of validation texts.", show_default=False),
    ] = None,
    holdout: Annotated[float, typer.Option(min=0.0, max=0.9, help="Fraction of DATA used as validation texts.")] = 0.0,
    early_stopping: Annotated[
        bool,
        typer.Option(
            "--early-stopping", help="Stop when the validation accuracy no longer improves, and keep the best epoch."
        ),
    ] = False,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Number of epochs. Default: by the number of texts.", show_default=False)
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(metavar="RATE", help="Learning rate. Default: 0.2, with --sgnn 0.002.", show_default=False),
    ] = None,
    loss: Annotated[
        Loss | None,
        typer.Option(
            help="softmax: one label per text. ova: one-vs-rest, for several labels per text. hinge: as a linear "
            "support vector machine. hsigmoid: hierarchical softmax, for thousands of labels. Default: hinge for few "
            "texts, else softmax; ova where texts have several labels.",
            show_default=False,
        ),
    ] = None,
    class_weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="balanced | LABEL=WEIGHT",
            help="Weights of labels in the loss: balanced gives each label the same total weight; or LABEL=WEIGHT, "
            "once for each label that has not the weight 1.",
            show_default=False,
        ),
    ] = None,
    features: TextFeatures = Features.auto,
    ngrams: Annotated[
        int | None,
        typer.Option(min=1, help="Maximal number of words of an n-gram. Default: 2.", show_default=False),
    ] = None,
    pretrained: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Sentence encoder of hashnlp sentences train, whose vectors help where texts of DATA are few.",
            show_default=False,
        ),
    ] = None,
    lowercase: Annotated[bool, typer.Option("--lowercase/--no-lowercase", help="Whether case is ignored.")] = True,
    dim: Annotated[
        int | None,
        typer.Option(min=1, help="Dimension of the embeddings. Default: by the number of labels.", show_default=False),
    ] = None,
    buckets: Annotated[
        int | None,
        typer.Option(min=1, help="Number of vectors in the shared pool. Default: 1,048,576.", show_default=False),
    ] = None,
    sgnn: Annotated[
        bool,
        typer.Option(
            "--sgnn", help="Train a self-governing neural network, a small one that hashnlp export writes as one file."
        ),
    ] = False,
    distortion: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Train also on a copy of each text with typos, for robustness to misspellings: edits per character "
            "(0.05: one in twenty).",
        ),
    ] = 0.0,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream",
            help="Whether DATA is read in batches, in constant memory. Default: if it does not fit into memory.",
            show_default=False,
        ),
    ] = None,
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
    if learning_rate is not None and not 0 < learning_rate < math.inf:
        raise typer.BadParameter(f"--learning-rate: expected a number above 0, got {learning_rate}.")
    chosen = {"features": features, "ngrams": ngrams, "pretrained": pretrained, "dim": dim, "buckets": buckets}
    _check_options(chosen, loss, sgnn=sgnn)
    weights = _parse_class_weight(class_weight)
    from sklearn_hashnlp.cli._pipelines import (
        final_estimator,
        has_gradient_steps,
        make_model,
        predict_proba,
        train_model,
        with_typos,
    )
    from sklearn_hashnlp.cli._streaming import is_streamed, refuse_with_stream, train_streamed
    from sklearn_hashnlp.cli._training_report import card_of, write_report
    from sklearn_hashnlp.cli.reading._labelled_texts import (
        check_label_options,
        check_labels,
        count_labels,
        label_lists,
        note_unknown_labels,
        read_labelled,
    )
    from sklearn_hashnlp.cli.sentences._loading import load_pretrained
    from sklearn_hashnlp.persistence import save_model
    from sklearn_hashnlp.persistence._model_folder import check_replaceable

    check_device(device)
    check_replaceable(model)
    encoder = None if pretrained is None else load_pretrained(pretrained)
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
    parameters: dict[str, Any] = {
        "features": features.value,
        "lowercase": lowercase,
        "ngrams": ngrams,
        "pretrained": encoder,
        "embedding_dim": dim,
        "n_buckets": buckets,
        "learning_rate": learning_rate,
        "sgnn": sgnn,
        "seed": seed,
        "device": device.value,
        "n_jobs": n_jobs,
    }
    if is_streamed(data, stream):
        refused = {"holdout": holdout, "early-stopping": early_stopping, "sgnn": sgnn}
        refuse_with_stream(data, stream, refused)
        parameters |= {"loss": None if loss is None else loss.value, "class_weight": weights, "max_epochs": epochs}
        classifier, report = train_streamed(screen, data, valid, options, parameters, distortion)
        save_model(classifier, model, precision=precision.value, card=card_of(report))
        write_report(model, report)
        _show_report(screen, model, report)
        return
    texts, labels, _ = read_labelled(screen, data, **options)
    check_labels(labels, str(data))
    validation = read_labelled(screen, valid, **options)[:2] if valid is not None else None
    if holdout:
        (texts, labels), validation = _split(texts, labels, holdout, seed)
        check_labels(labels, f"{data} without the validation texts")
        screen.note(f"Split into {len(texts):,} training and {counted(len(validation[0]), 'validation text')}")
    n_labels = count_labels(labels)
    several = isinstance(labels, list)
    check_label_options(data, n_labels, several=several, loss=None if loss is None else loss.value, weights=weights)

    from sklearn_hashnlp.cli._validation import ValidationScores, held_out_figures  # loads torch, so after reading

    # The best epoch on validation texts of the user's own is kept by a callback.
    stops_itself = early_stopping and validation is None
    stops_by_valid = early_stopping and validation is not None
    classifier = make_model(
        **parameters,
        loss=loss.value if loss is not None else "ova" if several else "auto",
        class_weight=weights,
        max_epochs=_EPOCHS_WITH_EARLY_STOPPING if epochs is None and stops_by_valid else epochs,
        early_stopping="valid_acc" if stops_itself else None,
    )
    scores = None
    if validation is not None:
        true = label_lists(validation[1])
        note_unknown_labels(screen, str(valid or data), true, set(n_labels), separable=False)
        scores = ValidationScores(validation[0], true, sorted(n_labels), several=several, stops_early=early_stopping)
    started = clock()
    used = with_typos(texts, labels, distortion, seed)
    # Scores after each epoch are a callback, and a callback asks for gradients: they must not change the model.
    by_gradients = stops_by_valid or has_gradient_steps(classifier, len(used[0]), len(n_labels))
    after_epochs = scores if by_gradients else None
    train_model(screen, classifier, *used, validation=after_epochs)
    seconds = clock() - started

    history = final_estimator(classifier).history_
    report = {
        "data": str(data),
        "n_texts": len(texts),
        "labels": n_labels,
        "label_separator": label_separator,
        "seconds": round(seconds, 3),
        "history": history if after_epochs is None else after_epochs.history_of(history),
    }
    if early_stopping and (best_epoch := _best_epoch(history, scores)) is not None:
        report |= {"early_stopping": True, "best_epoch": best_epoch}
    if validation is not None and scores is not None:
        probabilities = predict_proba(screen, classifier, validation[0])
        source = str(valid) if valid is not None else f"{holdout:g} of {data}"
        figures = held_out_figures(true, probabilities, classifier.classes_, several=scores.several)
        report["validation"] = {"data": source, "n_texts": len(validation[0])} | figures
    save_model(classifier, model, precision=precision.value, card=card_of(report))
    write_report(model, report)
    _show_report(screen, model, report)


def _show_report(screen: Screen, model: Path, report: dict[str, Any]) -> None:
    """Print the result of training: as JSON, as one figure, or as sentences."""
    validation = report.get("validation")
    name = "accuracy" if validation is None or "accuracy" in validation else "precision_at_1"
    if screen.as_json:
        result = {
            "model": str(model),
            "n_texts": report["n_texts"],
            "labels": sorted(report["labels"]),
            "seconds": report["seconds"],
            "n_validation_texts": None if validation is None else validation["n_texts"],
            "validation_accuracy": None if validation is None else validation.get("accuracy"),
            "validation": validation,
            "best_epoch": report.get("best_epoch"),
            "history": report["history"],
        }
        screen.show_json(result)
    elif screen.quiet:
        if validation is not None:  # requested by --valid or --holdout
            print(f"{validation[name]:.4f}")
    else:
        screen.show(f"Trained on {counted(report['n_texts'], 'text')} in {report['seconds']:.1f} s")
        if validation is not None:
            figure = f"{name.replace('_', ' ')} {validation[name]:.4f}"
            screen.show(f"Validation {figure} on {counted(validation['n_texts'], 'text')}", style="bold")
        if "best_epoch" in report:
            n_epochs = counted(len(report["history"]), "epoch")
            screen.show(f"Stopped after {n_epochs}: best epoch {report['best_epoch']}")
        screen.show(f"Saved in {model}")
        screen.note("\nNext, predict the labels of new texts, one per line:")
        screen.note(f"  {command_name()} predict --model {shlex.quote(str(model))} --proba", style="bold")


def _best_epoch(history: list[dict[str, Any]], scores: ValidationScores | None) -> int | None:
    """Return the epoch whose weights early stopping has kept, from 1; None if there were too few validation texts."""
    if scores is not None and scores.early_stopping is not None:
        return scores.early_stopping.best_epoch_
    accuracies = [epoch["valid_acc"] for epoch in history if "valid_acc" in epoch]
    return accuracies.index(max(accuracies)) + 1 if accuracies else None


def _check_options(chosen: dict[str, Any], loss: Loss | None, *, sgnn: bool) -> None:
    """Raise an error for options that would have no effect."""
    if sgnn:
        others = [f"--{name}" for name, value in chosen.items() if value != _OF_HASH_EMBEDDINGS[name]]
        if loss in (Loss.hinge, Loss.hsigmoid):
            others.append(f"--loss {loss.value}")
        if others:
            raise typer.BadParameter(f"--sgnn has no {' and no '.join(others)}: its features are character n-grams.")
    elif chosen["ngrams"] is not None and chosen["features"] is Features.characters:
        raise typer.BadParameter("--ngrams counts words, and --features characters has none.")


def _parse_class_weight(given: list[str] | None) -> dict[str, float] | str | None:
    """Return the parameter class_weight."""
    if not given:
        return None
    if given == ["balanced"]:
        return "balanced"
    weights = {}
    for pair in given:
        label, _, weight = pair.rpartition("=")
        try:
            weights[label] = float(weight)
        except ValueError:
            label = ""
        if not label or not 0 <= weights[label] < math.inf:
            raise typer.BadParameter(
                f"--class-weight: expected balanced or LABEL=WEIGHT, such as spam=2; got {pair!r}."
            )
    return weights


def _split(
    texts: list[str], labels: Any, fraction: float, seed: int
) -> tuple[tuple[list[str], Any], tuple[list[str], Any]]:
    """Split into training and validation texts, stratified by label if every label has enough texts."""
    from sklearn.model_selection import train_test_split

    try:
        stratify = None if isinstance(labels, list) else labels
        parts = train_test_split(texts, labels, test_size=fraction, random_state=seed, stratify=stratify)
    except ValueError:  # a label with a single text, or fewer texts than labels in one part
        parts = train_test_split(texts, labels, test_size=fraction, random_state=seed)
    return (parts[0], parts[2]), (parts[1], parts[3])
