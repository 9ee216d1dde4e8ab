"""The lines of a file or of the standard input, in batches."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from sklearn_hashnlp.cli._screen import Screen, bar

BATCH = 2000
_READ = 2**20


def check_lines(file: Path | None) -> None:
    """Refuse a file that cannot be read."""
    if file is None or _is_stdin(file):
        return
    if os.path.isdir(file):  # noqa: PTH112 - pathlib's refuses a text that is too long for a name
        raise FileNotFoundError(f"{file} is a folder; expected a text file.")
    if not os.path.exists(file):  # noqa: PTH110 - so does this
        if " " in str(file):  # more likely a text than the name of a file
            raise FileNotFoundError(f"No file is called {str(file)!r:.60}. To hand in text, pipe it: echo TEXT | ...")
        raise FileNotFoundError(f"{file} does not exist.")


@contextmanager
def line_batches(
    screen: Screen, file: Path | None, *, doing: str, what: str, size: int = BATCH
) -> Iterator[Iterator[list[str]]]:
    """Read lines in batches: those of a file behind a progress bar, those of a pipe as soon as they have come."""
    # Beside answers on the same screen a bar would be in the way.
    with nullcontext() if _is_stdin(file) or sys.stdout.isatty() else screen.progress() as progress:
        if file is None or _is_stdin(file):
            if sys.stdin.isatty():
                screen.note(f"Type one {what} a line; Ctrl-D ends.", style="dim")
            yield batches_of_stream(sys.stdin.buffer, size)
        else:
            from sklearn_hashnlp.datasets._lines import read_lines

            move = None if progress is None else bar(progress, f"{doing} {file.name}")
            yield _batches_of_lines(read_lines(file, move), size)


def _is_stdin(file: Path | None) -> bool:
    return file is None or str(file) == "-"


def batches_of_stream(stream: BinaryIO, size: int = BATCH) -> Iterator[list[str]]:
    """Yield the lines that have come, as soon as they have: a pipe that is slow is answered line by line."""
    rest: list[bytes] = []  # what has come of a line, joined once: adding each chunk to the last copies them all again
    number = 0
    read = stream.read1 if isinstance(stream, io.BufferedReader) else stream.read
    while chunk := read(_READ):
        # Only the new part is searched, so that one huge line in many chunks is not searched again and again.
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            rest.append(chunk)
            continue
        whole = b"".join([*rest, chunk[:cut]])
        rest = [chunk[cut:]] if cut < len(chunk) else []
        lines = whole[:-1].split(b"\n")
        yield from _batches_of_lines((_decode(line, number + at) for at, line in enumerate(lines, start=1)), size)
        number += len(lines)
    if rest:
        yield [_without_end(_decode(b"".join(rest), number + 1))]


def _batches_of_lines(lines: Iterable[str], size: int) -> Iterator[list[str]]:
    """Yield the lines in batches; where one cannot be read, those before it come first and then its error."""
    lines = iter(lines)
    failure: Exception | None = None
    while failure is None:
        batch: list[str] = []
        try:
            for line in islice(lines, size):
                batch.append(_without_end(line))  # noqa: PERF401 (a comprehension would lose the lines before an error)
        except (OSError, ValueError) as error:
            failure = error
        if batch:
            yield batch
        elif failure is None:
            return
    raise failure


def _decode(line: bytes, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"stdin, line {number}: expected UTF-8, but byte {error.start + 1} of the line is none."
        ) from error


def _without_end(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")
