"""Lines of a file or of stdin, in batches."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from sklearn_hashnlp.cli._screen import Screen, add_bar

BATCH_SIZE = 2000
_CHUNK_BYTES = 2**20


def check_text_file(file: Path | None) -> None:
    """Raise an error if a file cannot be read; ``None`` and ``-`` are stdin."""
    if file is None or _is_stdin(file):
        return
    if os.path.isdir(file):  # noqa: PTH112 - Path.is_dir raises for a text that is too long for a file name
        raise FileNotFoundError(f"{file} is a folder; expected a text file.")
    if not os.path.exists(file):  # noqa: PTH110 - as does Path.exists
        if " " in str(file):  # probably a text, not a file name
            raise FileNotFoundError(f"There is no file {str(file)!r:.60}. To pass a text, pipe it: echo TEXT | ...")
        raise FileNotFoundError(f"{file} does not exist.")


@contextmanager
def line_batches(
    screen: Screen, file: Path | None, *, action: str, unit: str, size: int = BATCH_SIZE
) -> Iterator[Iterator[list[str]]]:
    """Yield batches of lines: those of a file with a progress bar, those of stdin as soon as they arrive."""
    # No bar where results appear on the same terminal.
    with nullcontext() if _is_stdin(file) or sys.stdout.isatty() else screen.progress() as progress:
        if file is None or _is_stdin(file):
            if sys.stdin.isatty():
                screen.note(f"Type one {unit} per line; end with Ctrl-D.", style="dim")
            yield stream_batches(sys.stdin.buffer, size)
        else:
            from sklearn_hashnlp.datasets._lines import read_lines

            update = None if progress is None else add_bar(progress, f"{action} {file.name}")
            yield _batches(read_lines(file, update), size)


def _is_stdin(file: Path | None) -> bool:
    return file is None or str(file) == "-"


def stream_batches(stream: BinaryIO, size: int = BATCH_SIZE) -> Iterator[list[str]]:
    """Yield batches of lines as soon as they arrive: one line at a time from a slow pipe."""
    rest: list[bytes] = []  # chunks of an unfinished line, joined once: adding each to the last copies them all again
    number = 0
    read = stream.read1 if isinstance(stream, io.BufferedReader) else stream.read
    while chunk := read(_CHUNK_BYTES):
        # Search only the new chunk: a huge line of many chunks is searched once.
        end = chunk.rfind(b"\n") + 1
        if not end:
            rest.append(chunk)
            continue
        complete = b"".join([*rest, chunk[:end]])
        rest = [chunk[end:]] if end < len(chunk) else []
        lines = complete[:-1].split(b"\n")
        yield from _batches((_decode(line, number + i) for i, line in enumerate(lines, start=1)), size)
        number += len(lines)
    if rest:
        yield [_strip_line_end(_decode(b"".join(rest), number + 1))]


def _batches(lines: Iterable[str], size: int) -> Iterator[list[str]]:
    """Yield the lines in batches; if a line cannot be read, first those before it, then raise its error."""
    lines = iter(lines)
    first_error: Exception | None = None
    while first_error is None:
        batch: list[str] = []
        try:
            for line in islice(lines, size):
                batch.append(_strip_line_end(line))  # noqa: PERF401 - a comprehension would lose the lines before an error
        except (OSError, ValueError) as error:
            first_error = error
        if batch:
            yield batch
        elif first_error is None:
            return
    raise first_error


def _decode(line: bytes, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"stdin, line {number}: expected UTF-8, got byte 0x{line[error.start]:02x} at position {error.start + 1}."
        ) from error


def _strip_line_end(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")
