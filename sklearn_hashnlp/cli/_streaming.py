"""Training on a file that is larger than memory: it is read once for its labels and once in each epoch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import typer

from sklearn_hashnlp.cli._options import LabelledOptions
from sklearn_hashnlp.cli._pipelines import predict_proba, with_typos
from sklearn_hashnlp.cli._screen import Screen, counted
from sklearn_hashnlp.cli.reading._labelled_texts import (
    check_labels,
    counted_texts,
    in_order,
    label_lists,
    note_unknown_labels,
    read_labelled,
)

BATCH_SIZE = 10_000  # texts in memory


def refuse_with_stream(data: Path, options: dict[str, Any]) -> None:
    """Raise an error for a pipe, and for options that need all texts at once."""
    if data.exists() and not data.is_file():
        raise typer.BadParameter(f"--stream reads DATA more than once, and {data} is no file.")
    given = [f"--{name}" for name, value in options.items() if value]
    if given:
        raise typer.BadParameter(f"{given[0]} needs all texts at once: leave it out.")


class StreamedTexts:
    """The rows of a labeled file, in batches; ``labels`` has the number of texts of each, the most frequent first."""

    def __init__(self, screen: Screen, path: Path, options: LabelledOptions) -> None:
        self.path, self._options, self.multilabel = path, options, True
        counts: Counter[str] = Counter()
        self.n_texts = n_empty = 0
        all_have_one = True
        with screen.bar(f"Reading {path.name}") as update:
            for texts, labels in self.batches(update):
                counts.update(label for row in labels for label in row)
                self.n_texts += len(texts)
                n_empty += sum(not text.strip() for text in texts)
                all_have_one &= all(len(row) == 1 for row in labels)
        self.multilabel, self.labels = not all_have_one, in_order(counts)
        check_labels(self.labels, path, all_have_one=all_have_one)
        screen.note(
            f"Found {counted_texts(self.n_texts, n_empty)} with {counted(len(counts), 'label')} in {path}, which is "
            f"read in batches of {BATCH_SIZE:,} texts"
        )

    def batches(self, progress: Callable[[int, int], None]) -> Iterator[tuple[list[str], Any]]:
        """Yield texts and labels of the whole file, from the start in each call."""
        from sklearn_hashnlp.datasets import stream_labelled

        how: dict[str, Any] = {"batch_size": BATCH_SIZE, "multilabel": self.multilabel, "progress": progress}
        return stream_labelled(self.path, **vars(self._options), **how)


def train_streamed(
    screen: Screen, model: Any, path: Path, valid: Path | None, reading: LabelledOptions, distortion: float, seed: int
) -> dict[str, Any]:
    """Train a TextClassifier by ``partial_fit`` on the batches of a file; return the report of the training."""
    from sklearn_hashnlp.cli._progress import epoch_line

    data = StreamedTexts(screen, path, reading)
    if model.class_weight == "balanced":  # by the labels of all batches
        weights = {name: data.n_texts / (len(data.labels) * count) for name, count in data.labels.items()}
        model.set_params(class_weight=weights)
    texts, true = [], []
    if valid is not None:
        read = read_labelled(screen, valid, reading, classes=data.labels)
        texts, true = read.data, label_lists(read.target)
        note_unknown_labels(screen, valid, true, data.labels, separable=False)
    multilabel = data.multilabel or any(len(labels) != 1 for labels in true)
    n_epochs = 1 if model.max_epochs == "auto" else model.max_epochs
    figures: dict[str, float] = {}
    started, history = perf_counter(), []
    with screen.bar("Training") as update:
        for epoch in range(1, n_epochs + 1):
            entry = _train_epoch(model, data, (distortion, seed), epoch, n_epochs, update)
            if valid is not None:
                from sklearn_hashnlp.cli._validation import held_out_figures

                probabilities = predict_proba(screen, model, texts)
                figures = held_out_figures(true, probabilities, model.classes_, multilabel=multilabel)
                entry |= {f"valid_{name}": value for name, value in figures.items()}
            history.append(entry)
            screen.note(epoch_line(entry, n_epochs))
    report = {
        "data": str(path),
        "n_texts": data.n_texts,
        "labels": data.labels,
        "label_separator": reading.label_separator,
        "seconds": round(perf_counter() - started, 3),
        "streamed": True,
        "history": history,
    }
    if valid is not None:
        report["validation"] = {"data": str(valid), "n_texts": len(texts)} | figures
    return report


def _train_epoch(
    model: Any,
    data: StreamedTexts,
    typos: tuple[float, int],  # the distortion, and the seed of the first batch
    epoch: int,
    n_epochs: int,
    update: Callable[[int, int], None],
) -> dict[str, Any]:
    def move(done: int, total: int) -> None:
        update((epoch - 1) * total + done, n_epochs * total)

    weights = model.class_weight or {}
    ignored = {label for label in data.labels if weights.get(label, 1) == 0}
    started, loss, n_texts = perf_counter(), 0.0, 0
    for number, (texts, labels) in enumerate(data.batches(move)):
        n_texts += len(texts)
        if ignored and ignored.issuperset(labels) and not ignored.issuperset(data.labels):
            continue  # partial_fit refuses rows that all have the weight 0
        model.partial_fit(*with_typos(texts, labels, typos[0], typos[1] + number), classes=sorted(data.labels))
        loss += len(texts) * model.history_[-1]["train_loss"]
    if n_texts != data.n_texts:
        raise ValueError(
            f"{data.path} was changed while it was read: it had {counted(data.n_texts, 'text')} first, and {n_texts:,} "
            f"in epoch {epoch}. Train on a copy."
        )
    return {"epoch": epoch, "train_loss": loss / data.n_texts, "dur": perf_counter() - started}
