"""Training on a file that is larger than memory: it is read once for its labels and once in each epoch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import typer

from sklearn_hashnlp._posix import available_memory
from sklearn_hashnlp.cli._options import LabelledOptions
from sklearn_hashnlp.cli._pipelines import predict_proba, with_typos
from sklearn_hashnlp.cli._screen import Screen, counted
from sklearn_hashnlp.cli.reading._labelled_texts import (
    label_lists,
    note_unknown_labels,
    open_labelled,
    read_labelled,
    report_skipped,
)
from sklearn_hashnlp.cli.reading._text_formats import SkippedRows

BATCH_SIZE = 10_000  # texts in memory

# Training on words took 4.3 bytes of memory for each byte of a file on AG News and 4.0 on IMDB; characters take more.
_MEMORY_PER_BYTE = 8
_COMPRESSED = {".gz": 4, ".bz2": 5, ".xz": 6, ".zip": 4}  # times as large when decompressed, as usual for text


def is_streamed(data: Path, wanted: bool | None) -> bool:
    """Return whether a file is read in batches: on request, or if it does not fit into memory."""
    if wanted and not data.is_file() and data.exists():
        raise typer.BadParameter(f"--stream reads DATA more than once, and {data} is no file.")
    if wanted is not None or not data.is_file():
        return bool(wanted)
    memory = available_memory()
    size = data.stat().st_size * _COMPRESSED.get(data.suffix.lower(), 1)
    return memory is not None and size * _MEMORY_PER_BYTE > memory


class StreamedTexts:
    """The rows of a labeled file, in batches; ``labels`` has the number of texts of each, the most frequent first."""

    def __init__(self, screen: Screen, path: Path, options: LabelledOptions) -> None:
        self.path = path
        self._options = options
        from sklearn_hashnlp.datasets._labelled import check_rows

        counts: Counter[str] = Counter()
        self.n_texts = n_empty = n_unlabeled = 0
        self.multilabel = False
        skipped = SkippedRows(screen)
        with screen.bar(f"Reading {path.name}") as update:
            rows = open_labelled(path, options, update, skipped)
            for row in rows:
                counts.update(row.labels)
                self.n_texts += 1
                n_empty += not row.text.strip()
                n_unlabeled += not row.labels
                self.multilabel |= len(row.labels) != 1
        with screen.warnings_as_notes():
            check_rows(path, rows, self.n_texts, counts, counts.total())
        if len(counts) < 2 and not n_unlabeled:
            raise ValueError(f"{path}: expected at least two different labels, got only {next(iter(counts))!r}.")
        self.labels = {name: counts[name] for name in sorted(counts, key=lambda name: (-counts[name], name))}
        empty = f" ({n_empty:,} empty)" if n_empty else ""
        screen.note(
            f"Found {counted(self.n_texts, 'text')}{empty} with {counted(len(counts), 'label')} in {path}, which is "
            f"read in batches of {BATCH_SIZE:,} texts"
        )
        report_skipped(screen, path, skipped, rows)

    def batches(self, progress: Callable[[int, int], None]) -> Iterator[tuple[list[str], Any]]:
        """Yield texts and labels of the whole file, from the start in each call."""
        from sklearn_hashnlp.datasets._labelled import batches_of_rows

        rows = open_labelled(self.path, self._options, progress, lambda _: None)
        return batches_of_rows(rows, BATCH_SIZE, str(self.path), multilabel=self.multilabel)


def refuse_with_stream(data: Path, wanted: bool | None, options: dict[str, Any]) -> None:
    """Raise an error for options that need all texts at once."""
    given = [f"--{name}" for name, value in options.items() if value]
    if given:
        memory = available_memory()
        why = "" if wanted or memory is None else f"{data} does not fit into {memory / 2**30:.1f} GiB of memory, and "
        also = "" if wanted else ", or add --no-stream to read all of it"
        raise typer.BadParameter(f"{why}{given[0]} needs all texts at once: leave it out{also}.")


def train_streamed(
    screen: Screen, model: Any, path: Path, valid: Path | None, reading: LabelledOptions, distortion: float, seed: int
) -> dict[str, Any]:
    """Train a TextClassifier by ``partial_fit`` on the batches of a file; return the report of the training."""
    from sklearn_hashnlp.cli._progress import epoch_line  # loads torch

    data = StreamedTexts(screen, path, reading)
    if model.class_weight == "balanced":  # by the labels of all batches
        weights = {name: data.n_texts / (len(data.labels) * count) for name, count in data.labels.items()}
        model.set_params(class_weight=weights)
    texts, true = [], []
    if valid is not None:
        read = read_labelled(screen, valid, few_rows=True, **vars(reading))
        texts, true = read.texts, label_lists(read.labels)
        note_unknown_labels(screen, str(valid), true, set(data.labels), separable=False)
    multilabel = data.multilabel or any(len(labels) != 1 for labels in true)
    n_epochs = 1 if model.max_epochs == "auto" else model.max_epochs
    figures: dict[str, float] = {}
    started, history = perf_counter(), []
    with screen.warnings_as_notes(), screen.bar("Training") as update:
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
