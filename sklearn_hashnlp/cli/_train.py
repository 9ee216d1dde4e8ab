"""``hashnlp train``: train a text classifier on a labeled file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
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
from sklearn_hashnlp.cli._parameters import Bundles, Training, check_parameters, parameters_option
from sklearn_hashnlp.cli._screen import Screen, bold, counted

HELP = """\
Train a text classifier on labeled texts, and save the model.

\b
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
  hashnlp train chats.csv -m m --features words+characters --distortion 0.05
  hashnlp train few.csv -m m --pretrained encoder
  hashnlp train huge.csv.gz -m m --stream
  hashnlp train --parameters

The model is a TextClassifier. --set NAME=VALUE sets any of its parameters, and --parameters lists them; values are \
checked before DATA is read. Parameters of the classifier inside that TextClassifier does not have itself are set as \
classifier__NAME. --sgnn trains a small model instead that hashnlp export writes as one file; its parameters are those \
of a pipeline: --set "classifier__hidden_layer_sizes=(128, 128)". --fasttext trains a pipeline in fastText's terms, \
which hashnlp convert writes as a .bin or .ftz file.

DATA has one label per text or more, as the files of fastText have.

With --valid or --holdout the accuracy of the saved model on validation texts is printed and, unless texts are few and \
trained as a linear support vector machine, the accuracy after each epoch; with multiple labels per text it is the \
precision of the most probable label. --early-stopping saves the epoch that was best on them, by accuracy or with \
multiple labels by loss; without them, on a twentieth of DATA. An existing model in DIR is replaced when training has \
finished; it is kept if training is interrupted.

With --stream a file that does not fit into memory is read in batches of 10,000 texts, once for the labels and once \
for each epoch (1 by default). The order of the texts is then the order of the file, \
shuffled only within a batch: shuffle a file that is sorted by label first. --features auto then counts words only, \
importance weights depend on the first batch, weights are not averaged, and there is no --holdout, --early-stopping or \
--sgnn.
"""


@dataclass(frozen=True)
class TrainOptions(OptionGroup):
    """The options of the command that no other has."""

    valid: Annotated[Path | None, typer.Option(metavar="FILE", help="Labeled file of validation texts.")] = None
    holdout: Annotated[float, typer.Option(min=0.0, max=0.9, help="Fraction of DATA used as validation texts.")] = 0.0
    early_stopping: Annotated[
        bool,
        typer.Option(
            "--early-stopping", help="Stop when the validation accuracy no longer improves, and keep the best epoch."
        ),
    ] = False
    features: Annotated[
        Literal["auto", "words", "words+characters", "characters"] | None,
        typer.Option(
            help="words: words and pairs of words. characters: character n-grams within words, for misspelled or "
            "inflected words, or for language identification. auto, the default: both if texts are few or many words "
            "are new, else words."
        ),
    ] = None
    buckets: Annotated[
        int | None, typer.Option(min=1, help="Number of vectors in the shared pool. Default: 1,048,576.")
    ] = None
    pretrained: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Sentence encoder of hashnlp sentences train; its vectors help if the texts of DATA are few.",
        ),
    ] = None
    sgnn: Annotated[
        bool,
        typer.Option(
            "--sgnn", help="Train a self-governing neural network, a small one that hashnlp export writes as one file."
        ),
    ] = False
    fasttext: Annotated[
        bool,
        typer.Option(
            "--fasttext", help="Train a model with fastText's dictionary and n-grams, for hashnlp convert DIR -m m.bin."
        ),
    ] = False
    distortion: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Train also on a copy of each text with typos, for robustness to misspellings: edits per character "
            "(0.05: one in twenty).",
        ),
    ] = 0.0
    stream: Annotated[bool, typer.Option("--stream", help="Read DATA in batches, in constant memory.")] = False
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

    inner = {"embedding": EmbeddingTables(), "early_stopping": EarlyStopping(), "schedule": Schedule()}
    return {"classifier": make_text_classifier()["classifier"]} | inner


@reporting_errors
def train(
    data: LabelledFile,
    model: ModelFolder,
    options: TrainOptions,
    training: Training,
    reading: LabelledOptions,
    screen: Screen,
    parameters: Annotated[bool, parameters_option(_models)] = False,  # noqa: ARG001 - its callback prints and exits
) -> None:
    """Train a text classifier; the parameters are the options of the command."""
    if options.valid is not None and options.holdout:
        raise typer.BadParameter("--valid and --holdout exclude each other.")
    if options.sgnn and options.fasttext:
        raise typer.BadParameter("--sgnn and --fasttext exclude each other.")
    from sklearn_hashnlp.cli._streaming import refuse_with_stream, train_streamed
    from sklearn_hashnlp.cli._training_report import card_of, write_report
    from sklearn_hashnlp.persistence import save_model

    save_model(None, model, dry_run=True)
    classifier = _new_model(options, training)
    if options.stream:
        refused = {"holdout": options.holdout, "early-stopping": options.early_stopping}
        refused |= {"sgnn": options.sgnn, "fasttext": options.fasttext}
        refuse_with_stream(data, refused)
        with screen.warnings_as_notes():
            report = train_streamed(
                screen, classifier, data, options.valid, reading, options.distortion, training.random_state
            )
    else:
        report = _train_in_memory(screen, classifier, data, options, reading, training.random_state)
    save_model(classifier, model, precision=options.precision, card=card_of(report))
    write_report(model, report)
    _show_report(screen, model, report)


def _new_model(options: TrainOptions, training: Training) -> Any:
    """Return the untrained model, with the parameters of all options."""
    from sklearn_hashnlp.cli._pipelines import make_model
    from sklearn_hashnlp.cli.sentences._load_encoder import load_pretrained

    by_epochs = training.epochs is not None or training.learning_rate is not None or options.early_stopping
    of_fasttext: dict[str, Any] = {"solver": "sgd" if by_epochs else "dual"} if options.fasttext else {}
    model = make_model(sgnn=options.sgnn, fasttext=options.fasttext, n_jobs=options.n_jobs, **of_fasttext)
    given: dict[str, Any] = {"early_stopping": "valid_acc" if options.early_stopping else None}
    of_texts = {"features": options.features, "pretrained": options.pretrained, "buckets": options.buckets}
    if options.sgnn or options.fasttext:
        kind, features = ("--sgnn", "character n-grams") if options.sgnn else ("--fasttext", "those of fastText")
        refused = [f"--{name}" for name, value in of_texts.items() if value is not None]
        if refused:
            raise typer.BadParameter(f"{kind} has no {' and no '.join(refused)}: its features are {features}.")
        training.configure(model, _bundles(), **given)
        check_parameters(*(step for _, step in model.steps))
        return model
    if any(setting.lstrip().startswith("classifier__") for setting in training.settings or []):
        of_classifier = {"max_epochs": training.epochs, "learning_rate": training.learning_rate} | given
        of_classifier["n_buckets"] = options.buckets
        settings = [f"classifier__{name}={value}" for name, value in of_classifier.items() if value is not None]
        training = replace(training, epochs=None, learning_rate=None, settings=settings + (training.settings or []))
        given = {}
    else:
        given["n_buckets"] = options.buckets
    given["features"] = options.features
    given["pretrained"] = None if options.pretrained is None else load_pretrained(options.pretrained)
    training.configure(model, _bundles(), **given)
    check_parameters(model)
    return model


def _train_in_memory(
    screen: Screen, model: Any, data: Path, options: TrainOptions, reading: LabelledOptions, seed: int
) -> dict[str, Any]:
    """Train a model on the texts of a file; return the report of the training."""
    from sklearn_hashnlp.cli._pipelines import last_step, predict_proba, train_model, with_typos
    from sklearn_hashnlp.cli.reading._labelled_texts import (
        check_labels,
        count_labels,
        label_lists,
        note_unknown_labels,
        read_labelled,
    )

    data_read = read_labelled(screen, data, reading)
    texts, labels, validation = data_read.data, data_read.target, None
    true, source = label_lists(labels), str(data)
    check_labels(count_labels(true), source, all_have_one=all(true))
    if options.valid is not None:
        read = read_labelled(screen, options.valid, reading, classes=count_labels(true))
        validation, source = (read.data, read.target), str(options.valid)
    elif options.holdout:
        (texts, labels), validation = _split(texts, labels, options.holdout, seed)
        true, source = label_lists(labels), f"{options.holdout:g} of {data}"
        check_labels(count_labels(true), f"{data} without the validation texts", all_have_one=all(true))
        screen.note(f"Split into {len(texts):,} training and {counted(len(validation[0]), 'validation text')}")
    n_labels, multilabel = count_labels(true), isinstance(labels, list)
    if options.sgnn and multilabel:
        model[-1].set_params(loss="ova")
    if options.fasttext and multilabel:
        from sklearn_hashnlp.classifiers import make_fasttext_classifier

        other = make_fasttext_classifier(loss="ova")[-1]
        if model[-1].solver == "dual":
            model[-1].set_params(solver=other.solver, learning_rate=other.learning_rate)
        model[-1].set_params(loss="ova")

    from sklearn_hashnlp.cli._validation import held_out_figures, known_texts

    trained = model[-1] if hasattr(model, "steps") else model.classifier or model
    if options.early_stopping and multilabel:  # the precision of the first label is high long before the others
        trained.set_params(early_stopping="valid_loss")
    scored = None
    if validation is not None:
        true = label_lists(validation[1])
        note_unknown_labels(screen, options.valid or data, true, n_labels, separable=False)
        scored = known_texts(validation[0], true, n_labels, multilabel=multilabel)
    started = perf_counter()
    train_model(screen, model, *with_typos(texts, labels, options.distortion, seed), scored)
    history = last_step(model).history_
    report = {
        "data": str(data),
        "n_texts": len(texts),
        "labels": n_labels,
        "label_separator": reading.label_separator,
        "seconds": round(perf_counter() - started, 3),
        "history": history,
    }
    stopping = trained.early_stopping
    if stopping:
        report["best_epoch"] = _best_epoch(history, getattr(stopping, "monitor", stopping))
    if validation is not None:
        probabilities = predict_proba(screen, model, validation[0])
        several = multilabel or any(len(row) != 1 for row in true)
        figures = held_out_figures(true, probabilities, model.classes_, multilabel=several)
        report["validation"] = {"data": source, "n_texts": len(true)} | figures
    return report


def _best_epoch(history: list[dict[str, Any]], monitor: str) -> int | None:
    """Return the epoch with the best metric, of which early stopping has kept the weights."""
    scores = [entry[monitor] for entry in history if monitor in entry]
    best = min if monitor == "valid_loss" else max
    return scores.index(best(scores)) + 1 if scores else None


def _show_report(screen: Screen, model: Path, report: dict[str, Any]) -> None:
    """Print the result of training: as JSON, as one figure, or as sentences."""
    validation = report.get("validation")
    figure = None
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
    lines: list[Any] = [f"Trained on {counted(report['n_texts'], 'text')} in {report['seconds']:.1f} s"]
    if validation is not None:
        name = "accuracy" if "accuracy" in validation else "precision_at_1"
        figure = f"{validation[name]:.4f}"
        n_texts = counted(validation["n_texts"], "text")
        lines.append(bold(f"Validation {name.replace('_', ' ')} {figure} on {n_texts}"))
    if report.get("best_epoch") is not None:
        lines.append(f"Stopped after {counted(len(report['history']), 'epoch')}: best epoch {report['best_epoch']}")
    screen.result(result, [*lines, f"Saved in {model}"], figure)
    purpose = "predict the labels of new texts, one per line"
    screen.next_step(purpose, "{hashnlp} predict --model {path} --proba", path=model)


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
