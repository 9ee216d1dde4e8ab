"""Training of text classifiers, on texts in memory or on a stream of batches, and its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from sklearn_hashnlp.cli._options import LabelledOptions
from sklearn_hashnlp.cli._pipelines import last_step
from sklearn_hashnlp.cli._progress import Progress, epoch_line, shown_training
from sklearn_hashnlp.cli._reading import (
    check_labels,
    count_labels,
    in_order,
    label_lists,
    note_unknown_labels,
    read_labelled,
    read_unlabeled,
)
from sklearn_hashnlp.cli._screen import Screen, counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH_SIZE = 10_000  # texts of a stream that are in memory


def fit_in_memory(
    screen: Screen,
    model: Any,
    data: Path,
    reading: LabelledOptions,
    *,
    valid: Path | None,
    holdout: float,
    seed: int,
    early_stopping: bool,
    unlabeled: Path | None,
) -> dict[str, Any]:
    """Train a model on the texts of a file; return the report of the training."""
    read, validation = read_labelled(screen, data, reading), None
    texts, labels = read.data, read.target
    more_texts = None if unlabeled is None else read_unlabeled(screen, unlabeled, data, reading)
    n_labels = count_labels(labels)
    check_labels(n_labels, len(texts), data)
    if valid is not None:
        other = read_labelled(screen, valid, reading, classes=n_labels)
        validation = other.data, other.target
    elif holdout:
        (texts, labels), validation = _split(texts, labels, holdout, seed)
        n_labels = count_labels(labels)
        check_labels(n_labels, len(texts), f"{data} without the validation texts")
        screen.note(
            f"Split into {len(texts):,} training and "
            f"{counted(len(validation[0]), 'validation text')}"
        )
    multilabel, true = (
        isinstance(labels, list),
        label_lists([] if validation is None else validation[1]),
    )
    if multilabel:
        _set_multilabel(model, early_stopping=early_stopping)
    if validation is not None:
        note_unknown_labels(screen, valid or data, true, n_labels)
    started = perf_counter()
    scorable = _scorable(validation, n_labels, multilabel=multilabel)
    fit_model(screen, model, texts, labels, scorable, more_texts)
    trained = last_step(model)
    report = _report(data, len(texts), n_labels, reading, started, trained.history_)
    if more_texts is not None:
        report["unlabeled"] = {"data": str(unlabeled), "n_texts": len(more_texts)}
    stopping = getattr(getattr(trained, "classifier", None) or trained, "early_stopping", False)
    if stopping:  # it has kept the weights of the best epoch
        monitor = getattr(stopping, "monitor", stopping)
        scores = [entry[monitor] for entry in trained.history_ if monitor in entry]
        best = min if monitor == "valid_loss" else max
        report["best_epoch"] = scores.index(best(scores)) + 1 if scores else None
    if validation is not None:
        source = f"{holdout:g} of {data}" if valid is None else str(valid)
        figures = _held_out(model, validation[0], true, multilabel=multilabel)
        report["validation"] = {"data": source, "n_texts": len(true)} | figures
    return report


def fit_model(
    screen: Screen,
    model: Any,
    texts: list[str],
    labels: Any,
    validation: Any = None,
    unlabeled: list[str] | None = None,
) -> None:
    """Fit a model with a progress bar, and print the figures of each epoch."""
    if not hasattr(model, "steps"):
        with screen.bar("Training") as update:
            callbacks = [Progress(screen.note, update)]
            more = {"validation_data": validation, "unlabeled": unlabeled}
            model.fit(texts, labels, callbacks=callbacks, **more)
        return
    features, classifier = model[:-1], model[-1]
    with shown_training(screen, classifier):
        rows = features.fit_transform(texts, labels)
        if validation is not None:
            validation = features.transform(validation[0]), validation[1]
        classifier.fit(rows, labels, validation_data=validation)


def fit_streamed(
    screen: Screen, model: Any, path: Path, valid: Path | None, reading: LabelledOptions
) -> dict[str, Any]:
    """Train a TextClassifier by ``partial_fit`` on the batches of a file; return a report."""
    from sklearn_hashnlp.datasets import stream_labelled

    counts: Counter[str] = Counter()
    n_texts = n_empty = 0
    multilabel = False
    history = []
    how: dict[str, Any] = vars(reading) | {"batch_size": BATCH_SIZE}
    with screen.bar(f"Reading {path.name}") as update:
        for batch, names in stream_labelled(path, multilabel=None, progress=update, **how):
            counts.update(name for row in names for name in row)
            n_texts += len(batch)
            n_empty += sum(not text.strip() for text in batch)
            multilabel |= any(len(row) != 1 for row in names)
    n_labels = in_order(counts)
    check_labels(n_labels, n_texts, path)
    empty = f" ({n_empty:,} empty)" if n_empty else ""
    found = f"{counted(n_texts, 'text')}{empty} with {counted(len(n_labels), 'label')} in {path}"
    screen.note(f"Found {found}, which is read in batches of {BATCH_SIZE:,} texts")
    texts: list[str] = []
    true: Sequence[Sequence[str]] = []
    if valid is not None:
        read = read_labelled(screen, valid, reading, classes=n_labels)
        texts, true = read.data, label_lists(read.target)
        note_unknown_labels(screen, valid, true, n_labels)
    if model.class_weight == "balanced":  # by the labels of all batches
        weights = {name: n_texts / (len(n_labels) * count) for name, count in n_labels.items()}
        model.set_params(class_weight=weights)
    how["multilabel"] = None if multilabel else False
    import torch  # noqa: F401  # before the clock starts

    n_epochs, started = 1 if model.max_epochs == "auto" else model.max_epochs, perf_counter()
    figures: dict[str, float] = {}
    with screen.bar("Training") as update:
        for epoch in range(1, n_epochs + 1):
            began = perf_counter()
            batches = stream_labelled(path, progress=_part(update, epoch, n_epochs), **how)
            n_read, loss = _train_epoch(model, batches, n_labels)
            if n_read != n_texts:
                raise ValueError(
                    f"{path} was changed while it was read: it had {counted(n_texts, 'text')} "
                    f"first, and {n_read:,} in epoch {epoch}. Train on a copy."
                )
            entry = {"epoch": epoch, "train_loss": loss / n_texts, "dur": perf_counter() - began}
            if valid is not None:
                figures = _held_out(model, texts, true, multilabel=multilabel)
            history.append(entry | {f"valid_{name}": value for name, value in figures.items()})
            screen.note(epoch_line(history[-1], n_epochs))
    report = _report(path, n_texts, n_labels, reading, started, history) | {"streamed": True}
    return (
        report
        if valid is None
        else report | {"validation": {"data": str(valid), "n_texts": len(texts)} | figures}
    )


def _train_epoch(model: Any, batches: Iterable[Any], known: Collection[str]) -> tuple[int, float]:
    """Train on the batches of a file; return the number of texts, and the sum of their losses."""
    weights = model.class_weight or {}
    ignored = {label for label in known if weights.get(label, 1) == 0}
    n_texts, loss = 0, 0.0
    for texts, labels in batches:
        n_texts += len(texts)
        present = {label for row in label_lists(labels) for label in row}
        if ignored and ignored.issuperset(present) and not ignored.issuperset(known):
            continue  # partial_fit refuses texts that all have the weight 0
        model.partial_fit(texts, labels, classes=sorted(known))
        loss += len(texts) * model.history_[-1]["train_loss"]
    return n_texts, loss


def _part(update: Callable[..., None], epoch: int, n_epochs: int) -> Callable[[int, int], None]:
    """Return a function that moves the bar of a training within an epoch."""
    return lambda done, total: update(
        (epoch - 1) * total + done, n_epochs * total, f"Epoch {epoch}/{n_epochs}"
    )


def _report(
    data: Path,
    n_texts: int,
    n_labels: dict[str, int],
    reading: LabelledOptions,
    started: float,
    history: Any,
) -> dict[str, Any]:
    return {
        "data": str(data),
        "n_texts": n_texts,
        "labels": n_labels,
        "label_separator": reading.label_separator,
        "seconds": round(perf_counter() - started, 3),
        "history": history,
    }


def _held_out(
    model: Any, texts: list[str], true: Sequence[Sequence[str]], *, multilabel: bool
) -> dict[str, float]:
    """Compute the accuracy or, with multiple labels per text, precision and recall at 1."""
    figures = scores_at(true, model.predict_proba(texts), model.classes_, 1)
    if multilabel or any(len(row) != 1 for row in true):
        return {f"{name}_at_1": value for name, value in figures.items()}
    return {"accuracy": figures["precision"]}


def scores_at(
    true: Sequence[Sequence[str]],
    probabilities: NDArray[np.float64],
    classes: NDArray[np.str_],
    k: int,
) -> dict[str, float]:
    """Compute precision and recall of the k most probable labels, as fastText does."""
    best = classes[(-probabilities).argsort(axis=1, kind="stable")[:, :k]].tolist()
    n_hits = sum(len(set(labels) & set(top)) for labels, top in zip(true, best, strict=True))
    n_texts, n_labels = sum(1 for labels in true if labels), sum(map(len, true))
    return {
        "precision": n_hits / (k * n_texts) if n_texts else 0.0,
        "recall": n_hits / n_labels if n_labels else 0.0,
    }


def _set_multilabel(model: Any, *, early_stopping: bool) -> None:
    """Set the loss of multiple labels, and what early stopping depends on."""
    from sklearn_hashnlp.classifiers import make_fasttext_classifier

    trained = model[-1] if hasattr(model, "steps") else model.classifier or model
    if hasattr(model, "steps"):
        if getattr(trained, "solver", None) == "dual":
            other = make_fasttext_classifier(loss="ova")[-1]
            trained.set_params(solver=other.solver, learning_rate=other.learning_rate)
        trained.set_params(loss="ova")
    if early_stopping:  # the precision of the first label is high long before the others
        trained.set_params(early_stopping="valid_loss")


def _scorable(validation: Any, known: Collection[str], *, multilabel: bool) -> Any:
    """Return the validation texts with known labels, to score after each epoch."""
    if validation is None:
        return None
    texts, labels = validation[0], label_lists(validation[1])
    if multilabel:
        return texts, [[label for label in row if label in known] for row in labels]
    rows = [index for index, row in enumerate(labels) if len(row) == 1 and row[0] in known]
    return ([texts[row] for row in rows], [labels[row][0] for row in rows]) if rows else None


def _split(
    texts: list[str], labels: Any, fraction: float, seed: int
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Split into training and validation texts, stratified by label if possible."""
    from sklearn.model_selection import train_test_split

    how: dict[str, Any] = {"test_size": fraction, "random_state": seed}
    try:
        parts = train_test_split(
            texts, labels, stratify=None if isinstance(labels, list) else labels, **how
        )
    except ValueError:  # a label with a single text, or fewer texts than labels in one part
        parts = train_test_split(texts, labels, **how)
    return (parts[0], parts[2]), (parts[1], parts[3])
