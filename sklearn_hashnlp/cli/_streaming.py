"""Training on a file that is larger than memory: it is read once for its labels and once in each epoch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sklearn_hashnlp._clock import clock
from sklearn_hashnlp.cli._screen import Screen, add_bar, counted
from sklearn_hashnlp.cli.reading._text_formats import SkippedRows

if TYPE_CHECKING:
    from collections.abc import Callable

    from sklearn_hashnlp.datasets._row_formats import RowReader

BATCH_SIZE = 10_000  # texts in memory

# Training on words took 4.3 bytes of memory for each byte of a file on AG News and 4.0 on IMDB; characters take more.
_MEMORY_PER_BYTE = 8
_MEMINFO = Path("/proc/meminfo")
_CGROUPS = Path("/sys/fs/cgroup")
# Files of the limit and the use of a container's memory, by the two versions of control groups.
_CONTAINER_LIMITS = [
    ("memory.max", "memory.current"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
]
_COMPRESSED = {".gz": 4, ".bz2": 5, ".xz": 6, ".zip": 4}  # times as large when decompressed, as usual for text


def is_streamed(data: Path, wanted: bool | None) -> bool:
    """Return whether a file is read in batches: if the user wants it so, or if it does not fit into memory."""
    if wanted and not data.is_file() and data.exists():
        raise typer.BadParameter(f"--stream reads DATA more than once, and {data} is no file.")
    if wanted is not None or not data.is_file():
        return bool(wanted)
    memory = available_memory()
    size = data.stat().st_size * _COMPRESSED.get(data.suffix.lower(), 1)
    return memory is not None and size * _MEMORY_PER_BYTE > memory


def available_memory() -> int | None:
    """Return the bytes of memory that programs can take without swapping; None where the system does not say."""
    free = []
    with suppress(OSError, ValueError, StopIteration):
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
        free.append(int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) * 1024)
    for limit, used in _CONTAINER_LIMITS:
        with suppress(OSError, ValueError):  # ValueError: the limit is "max"
            free.append(max(0, int((_CGROUPS / limit).read_text()) - int((_CGROUPS / used).read_text())))
    return min(free, default=None)


class StreamedTexts:
    """The rows of a labeled file, in batches; ``labels`` has the number of texts of each, the most frequent first."""

    def __init__(self, screen: Screen, path: Path, options: dict[str, Any]) -> None:
        self.path = path
        self._screen, self._options = screen, options
        from sklearn_hashnlp.datasets._labelled import check_rows

        counts: Counter[str] = Counter()
        self.n_texts = n_empty = n_unlabeled = 0
        self.several = False
        skipped = SkippedRows(screen)
        with screen.progress() as progress:
            for row in self._open(add_bar(progress, f"Reading {path.name}"), skipped):
                counts.update(row.labels)
                self.n_texts += 1
                n_empty += not row.text.strip()
                n_unlabeled += not row.labels
                self.several |= len(row.labels) != 1
        check_rows(path, self.n_texts, n_labels=len(counts))
        if len(counts) < 2 and not n_unlabeled:
            raise ValueError(f"{path}: expected at least two different labels, got only {next(iter(counts))!r}.")
        self.labels = {name: counts[name] for name in sorted(counts, key=lambda name: (-counts[name], name))}
        empty = f" ({n_empty:,} empty)" if n_empty else ""
        screen.note(
            f"Found {counted(self.n_texts, 'text')}{empty} with {counted(len(counts), 'label')} in {path}, which is "
            f"read in batches of {BATCH_SIZE:,} texts"
        )
        skipped.report()

    def batches(self, progress: Callable[[int, int], None]) -> Iterator[tuple[list[str], Any]]:
        """Yield texts and labels, as often as asked for."""
        from sklearn_hashnlp.datasets._labelled import batches_of_rows

        return batches_of_rows(self._open(progress, lambda _: None), BATCH_SIZE, multilabel=self.several)

    def _open(self, progress: Callable[[int, int], None], on_error: Callable[[ValueError], None]) -> RowReader:
        from sklearn_hashnlp.datasets._columns import Columns
        from sklearn_hashnlp.datasets._labelled import find_format, open_rows
        from sklearn_hashnlp.datasets._row_formats import RowFormat

        options = self._options
        row_format = RowFormat(
            find_format(self.path, options["file_format"]),
            Columns(options["text_column"], options["label_column"]),
            options["delimiter"],
            options["quoted"],
            options["label_prefix"],
            options["label_separator"],
        )
        errors = options["errors"]
        return open_rows(
            self.path,
            row_format,
            errors="replace" if errors == "replace" else "strict",
            progress=progress,
            on_error=on_error if errors == "skip" else None,
        )


def refuse_with_stream(data: Path, wanted: bool | None, options: dict[str, Any]) -> None:
    """Raise an error for options that need all texts at once."""
    given = [f"--{name}" for name, value in options.items() if value]
    if given:
        memory = available_memory()
        why = "" if wanted or memory is None else f"{data} does not fit into {memory / 2**30:.1f} GiB of memory, and "
        also = "" if wanted else ", or add --no-stream to read all of it"
        raise typer.BadParameter(f"{why}{given[0]} needs all texts at once: leave it out{also}.")


def train_streamed(
    screen: Screen,
    path: Path,
    valid: Path | None,
    options: dict[str, Any],
    parameters: dict[str, Any],
    distortion: float,
) -> tuple[Any, dict[str, Any]]:
    """Train a model by ``partial_fit`` on the batches of a file; return it and the report of the training."""
    from sklearn_hashnlp.cli._pipelines import make_model, predict_proba
    from sklearn_hashnlp.cli._validation import held_out_figures
    from sklearn_hashnlp.cli.reading._labelled_texts import (
        check_label_options,
        label_lists,
        note_unknown_labels,
        read_labelled,
    )

    data = StreamedTexts(screen, path, options)
    weights, loss = parameters["class_weight"], parameters["loss"]
    check_label_options(path, data.labels, several=data.several, loss=loss, weights=weights)
    if weights == "balanced":  # by the labels of all batches
        weights = {name: data.n_texts / (len(data.labels) * count) for name, count in data.labels.items()}
    texts, true = [], []
    if valid is not None:
        read = read_labelled(screen, valid, **options)
        texts, true = read.texts, label_lists(read.labels)
        note_unknown_labels(screen, str(valid), true, set(data.labels), separable=False)
    several = data.several or any(len(labels) != 1 for labels in true)
    given = parameters | {"class_weight": weights, "loss": "ova" if data.several else loss or "auto"}
    n_epochs = parameters["max_epochs"] or 1
    ignored = {name for name, weight in (weights or {}).items() if not weight}
    model, figures = make_model(**given), {}
    started, history = clock(), []
    with screen.warnings_as_notes(), screen.progress() as progress:
        update = add_bar(progress, "Training")
        for epoch in range(1, n_epochs + 1):
            entry = _train_epoch(model, data, distortion, given["seed"], epoch, n_epochs, update, ignored)
            if valid is not None:
                probabilities = predict_proba(screen, model, texts)
                figures = held_out_figures(true, probabilities, model.classes_, several=several)
                entry |= {f"valid_{name}": value for name, value in figures.items()}
            history.append(entry)
            _note_epoch(screen, entry, n_epochs)
    report = {
        "data": str(path),
        "n_texts": data.n_texts,
        "labels": data.labels,
        "label_separator": options["label_separator"],
        "seconds": round(clock() - started, 3),
        "streamed": True,
        "history": history,
    }
    if valid is not None:
        report["validation"] = {"data": str(valid), "n_texts": len(texts)} | figures
    return model, report


def _train_epoch(
    model: Any,
    data: StreamedTexts,
    distortion: float,
    seed: int,
    epoch: int,
    n_epochs: int,
    update: Callable[[int, int], None],
    ignored: set[str],
) -> dict[str, Any]:
    from sklearn_hashnlp.cli._pipelines import with_typos

    def move(done: int, total: int) -> None:
        update((epoch - 1) * total + done, n_epochs * total)

    started, loss, n_texts = clock(), 0.0, 0
    for number, (texts, labels) in enumerate(data.batches(move)):
        n_texts += len(texts)
        if ignored and ignored.issuperset(labels) and not ignored.issuperset(data.labels):
            continue  # partial_fit refuses rows that all have the weight 0
        model.partial_fit(*with_typos(texts, labels, distortion, seed + number), classes=sorted(data.labels))
        loss += len(texts) * model.history_[-1]["train_loss"]
    if n_texts != data.n_texts:
        raise ValueError(
            f"{data.path} was changed while it was read: it had {counted(data.n_texts, 'text')} first, and {n_texts:,} "
            f"in epoch {epoch}. Train on a copy."
        )
    return {"epoch": epoch, "train_loss": loss / data.n_texts, "dur": clock() - started}


def _note_epoch(screen: Screen, entry: dict[str, Any], n_epochs: int) -> None:
    parts = [f"Epoch {entry['epoch']}/{n_epochs}", f"training loss {entry['train_loss']:.4f}"]
    for name, value in entry.items():
        if name.startswith("valid_"):
            parts.append(f"validation {name.removeprefix('valid_').replace('_', ' ')} {value:.4f}")
    screen.note("   ".join([*parts, f"{entry['dur']:.1f} s"]))
