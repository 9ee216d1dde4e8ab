"""Texts and labels as the commands read them: from lines, tables and stdin, with a progress bar."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sklearn_hashnlp.cli._options import LabelledOptions, LineOptions, TextOptions
from sklearn_hashnlp.cli._screen import Screen, counted

if TYPE_CHECKING:
    from sklearn_hashnlp.datasets import TextReader

BATCH_SIZE = 2000
TABLES = ("csv", "tsv", "jsonl")


def check_text_file(file: Path | None) -> None:
    """Raise an error if a file cannot be read, before a model is loaded."""
    if file is None or is_stdin(file):
        return
    # Path.exists raises for a text of many characters
    if " " in str(file) and not os.path.exists(file):  # noqa: PTH110
        raise FileNotFoundError(
            f"There is no file {str(file)!r:.60}. To pass a text, pipe it: echo TEXT | ..."
        )
    from sklearn_hashnlp.datasets import TextReader

    TextReader(file, file_format="lines")


def is_stdin(file: Path | None) -> bool:
    """Return whether FILE means stdin."""
    return file is None or str(file) == "-"


def find_format(file: Path | None, options: TextOptions) -> str:
    """Return the format of a file of texts; refuse options of another format."""
    check_text_file(file)
    from sklearn_hashnlp.datasets import TextReader

    try:
        return TextReader(_input(file), **vars(options)).file_format
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


@contextmanager
def open_texts(
    screen: Screen,
    file: Path | None,
    options: TextOptions | LineOptions,
    *,
    bar: bool | None = None,  # None: not where results appear on the same terminal
) -> Iterator[TextReader]:
    """Open a file with a progress bar, or stdin."""
    from sklearn_hashnlp.datasets import TextReader

    shown = not is_stdin(file) and (not sys.stdout.isatty() if bar is None else bar)
    with screen.bar(f"Reading {file}") if shown else nullcontext() as update:
        yield TextReader(_input(file), progress=update, **{"file_format": "lines"} | vars(options))


@contextmanager
def line_batches(
    screen: Screen, file: Path | None, options: LineOptions, *, bar: bool | None = None
) -> Iterator[Iterator[list[str]]]:
    """Yield batches of lines; lines of stdin are yielded as soon as they arrive."""
    with open_texts(screen, file, options, bar=bar) as reader:
        yield ([row.text for row in rows] for rows in reader.batches(BATCH_SIZE))


def _input(file: Path | None) -> Any:
    if file is not None and not is_stdin(file):
        return file
    if sys.stdin is None:
        raise OSError("stdin is closed.")
    return sys.stdin.buffer


def read_labelled(
    screen: Screen,
    path: Path,
    options: LabelledOptions,
    *,
    classes: Collection[str] | None = None,
    multilabel: bool | None = None,
) -> Any:
    """Read a labeled file with a progress bar, as a Bunch; ``classes``: labels of a model."""
    from sklearn_hashnlp.datasets import load_labelled

    with screen.bar(f"Reading {path.name}") as update:
        data: Any = load_labelled(
            path,
            **vars(options),
            multilabel=multilabel,
            classes=classes,
            progress=update,
            return_X_y=False,
        )
    labels = label_lists(data.target)
    columns = (
        "" if data.text_column is None else f"columns {data.text_column}, {data.label_column} of "
    )
    sizes = [len(row) for row in labels]
    each = f", {min(sizes)} to {max(sizes)} each," if isinstance(data.target, list) else ""
    n_labels = counted(len(count_labels(data.target)), "label")
    n_empty = sum(not text.strip() for text in data.data)
    texts = counted(len(data.data), "text") + (f" ({n_empty:,} empty)" if n_empty else "")
    screen.note(f"Read {texts} with {n_labels}{each} from {columns}{path}")
    return data


def read_unlabeled(screen: Screen, path: Path, data: Path, options: LabelledOptions) -> list[str]:
    """Read a file without labels, by the options for DATA if it has the same extension."""
    from sklearn_hashnlp.datasets import TextReader

    given: dict[str, Any] = {"encoding": options.encoding}
    if path.suffix == data.suffix:
        given = {field.name: getattr(options, field.name) for field in fields(TextOptions)}
    with screen.bar(f"Reading {path.name}") as update:
        reader = TextReader(path, progress=update, **given)
        texts = [row.text for row in reader]
    n_empty = sum(not text.strip() for text in texts)
    if n_empty == len(texts):
        raise ValueError(f"{path} has no texts; expected one per line, or a column of a table.")
    empty = f" ({n_empty:,} empty)" if n_empty else ""
    column = "" if reader.text_column is None else f"column {reader.text_column} of "
    screen.note(f"Read {counted(len(texts), 'text')}{empty} without labels from {column}{path}")
    return texts


def label_lists(labels: Any) -> list[list[str]]:
    """Return the labels of each text as a list."""
    return labels if isinstance(labels, list) else [[label] for label in labels.tolist()]


def count_labels(labels: Any) -> dict[str, int]:
    """Return the number of texts of each label, the most frequent first."""
    return in_order(Counter(label for row in label_lists(labels) for label in row))


def in_order(counts: Counter[str]) -> dict[str, int]:
    """Return the counts of labels, the most frequent first."""
    return {name: counts[name] for name in sorted(counts, key=lambda name: (-counts[name], name))}


def check_labels(n_labels: dict[str, int], n_texts: int, source: object) -> None:
    """Raise an error if all texts have the same label, before anything is trained."""
    if len(n_labels) < 2 and sum(n_labels.values()) == n_texts:
        raise ValueError(
            f"{source}: expected at least two different labels, got only {next(iter(n_labels))!r}."
        )


def note_unknown_labels(
    screen: Screen, source: object, true: Sequence[Sequence[str]], known: Collection[str]
) -> None:
    """Print a note of labels that the model does not know."""
    labels = {label for row in true for label in row}
    unknown = sorted(labels.difference(known))
    if unknown:
        names = ", ".join(label if label.isprintable() else ascii(label) for label in unknown[:5])
        names += ", ..." * (len(unknown) > 5)
        screen.note(
            f"Labels of {source} that the model was not trained on and never predicts: {names}"
        )
    if unknown and len(unknown) == len(labels):
        screen.note(
            f"The model knows none of the labels of {source}. Multiple labels in a field need "
            "--label-separator."
        )
