"""Texts of a file or of stdin: lines, or rows of a table."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sklearn_hashnlp.cli._options import LineOptions, TextOptions
from sklearn_hashnlp.cli._screen import Screen

if TYPE_CHECKING:
    from sklearn_hashnlp.datasets import TextReader

BATCH_SIZE = 2000
TABLES = ("csv", "tsv", "jsonl")


def check_text_file(file: Path | None, expected: str = "a text file") -> None:
    """Raise an error if a file cannot be read; ``None`` and ``-`` are stdin."""
    if file is None or is_stdin(file):
        return
    if os.path.isdir(file):  # noqa: PTH112 - Path.is_dir raises for a text that is too long for a file name
        raise FileNotFoundError(f"{file} is a folder; expected {expected}.")
    if not os.path.exists(file):  # noqa: PTH110 - as does Path.exists
        if " " in str(file):  # probably a text, not a file name
            raise FileNotFoundError(f"There is no file {str(file)!r:.60}. To pass a text, pipe it: echo TEXT | ...")
        raise FileNotFoundError(f"{file} does not exist.")


def is_stdin(file: Path | None) -> bool:
    """Return whether FILE means stdin."""
    return file is None or str(file) == "-"


def find_format(file: Path | None, options: TextOptions) -> str:
    """Return the format of a file of texts; raise an error of usage for options of another format."""
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
    action: str,
    unit: str = "text",
    bar: bool | None = None,  # None: not where results appear on the same terminal
) -> Iterator[TextReader]:
    """Open a file with a progress bar, or stdin; warnings are notes."""
    from sklearn_hashnlp.datasets import TextReader

    progress: AbstractContextManager[Any] = nullcontext()
    if file is None or is_stdin(file):
        if sys.stdin is not None and sys.stdin.isatty():
            screen.note(f"Type one {unit} per line; end with Ctrl-D.", style="dim")
    elif not sys.stdout.isatty() if bar is None else bar:
        progress = screen.bar(f"{action} {file.name}")
    with screen.warnings_as_notes(), progress as update:
        yield TextReader(_input(file), progress=update, **{"file_format": "lines"} | vars(options))


@contextmanager
def line_batches(
    screen: Screen, file: Path | None, options: LineOptions, *, size: int = BATCH_SIZE, **how: Any
) -> Iterator[Iterator[list[str]]]:
    """Yield batches of lines; lines of stdin are yielded as soon as they arrive."""
    with open_texts(screen, file, options, **how) as reader:
        yield ([row.text for row in rows] for rows in reader.batches(size))


def _input(file: Path | None) -> Any:
    if file is not None and not is_stdin(file):
        return file
    if sys.stdin is None:
        raise OSError("stdin is closed.")
    return sys.stdin.buffer
