"""Lines of a file or of stdin, in batches."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

from sklearn_hashnlp._text_files import UTF_8, Decoding, read_lines, suffix_of
from sklearn_hashnlp.cli._screen import Screen

BATCH_SIZE = 2000
_CHUNK_BYTES = 2**20
_Item = TypeVar("_Item")


def check_text_file(file: Path | None) -> None:
    """Raise an error if a file cannot be read; ``None`` and ``-`` are stdin."""
    if file is None or is_stdin(file):
        return
    if os.path.isdir(file):  # noqa: PTH112 - Path.is_dir raises for a text that is too long for a file name
        raise FileNotFoundError(f"{file} is a folder; expected a text file.")
    if not os.path.exists(file):  # noqa: PTH110 - as does Path.exists
        if " " in str(file):  # probably a text, not a file name
            raise FileNotFoundError(f"There is no file {str(file)!r:.60}. To pass a text, pipe it: echo TEXT | ...")
        raise FileNotFoundError(f"{file} does not exist.")


@dataclass(frozen=True)
class Lines:
    """Lines with their line feeds, and whether the next one can be read without waiting for it."""

    lines: Iterable[str]
    source: str
    ready: Callable[[], bool]


@contextmanager
def open_lines(
    screen: Screen, file: Path | None, decoding: Decoding, *, action: str, unit: str, bar: bool | None = None
) -> Iterator[Lines]:
    """Open a file, with a progress bar, or stdin."""
    if bar is None:
        bar = not sys.stdout.isatty()  # no bar where results appear on the same terminal
    with screen.bar(f"{action} {file.name}") if bar and file and not is_stdin(file) else nullcontext() as update:
        if file is None or is_stdin(file):
            if sys.stdin.isatty():
                screen.note(f"Type one {unit} per line; end with Ctrl-D.", style="dim")
            stream = LineStream(sys.stdin.buffer, decoding)
            yield Lines(stream, "stdin", lambda: stream.ready)
        else:
            yield Lines(read_lines(file, update, decoding), str(file), lambda: True)


@contextmanager
def line_batches(
    screen: Screen,
    file: Path | None,
    decoding: Decoding,
    *,
    action: str,
    unit: str,
    size: int = BATCH_SIZE,
    bar: bool | None = None,
) -> Iterator[Iterator[list[str]]]:
    """Yield batches of lines without line ends; lines of stdin are yielded as soon as they arrive."""
    with open_lines(screen, file, decoding, action=action, unit=unit, bar=bar) as opened:
        yield batches(map(strip_line_end, opened.lines), size, opened.ready)


def is_stdin(file: Path | None) -> bool:
    """Return whether FILE means stdin."""
    return file is None or str(file) == "-"


class LineStream:
    """The lines of a stream, such as stdin; ``ready`` is whether the next one has arrived already."""

    def __init__(self, stream: BinaryIO, decoding: Decoding = UTF_8) -> None:
        self.ready = False
        self._stream = decoding.stream(stream)
        self._decoding = decoding

    def __iter__(self) -> Iterator[str]:
        rest: list[bytes] = []  # chunks of an unfinished line, joined once
        number = 0
        read = self._stream.read1 if isinstance(self._stream, io.BufferedReader) else self._stream.read
        while chunk := read(_CHUNK_BYTES):
            # Search only the new chunk: a huge line of many chunks is searched once.
            end = chunk.rfind(b"\n") + 1
            if not end:
                rest.append(chunk)
                continue
            complete = b"".join([*rest, chunk[:end]])
            rest = [chunk[end:]] if end < len(chunk) else []
            lines = complete[:-1].split(b"\n")
            for index, line in enumerate(lines, start=1):
                self.ready = index < len(lines)
                yield self._decode(line, number + index) + "\n"
            number += len(lines)
        if rest:
            yield self._decode(b"".join(rest), number + 1)

    def _decode(self, line: bytes, number: int) -> str:
        if number == 1 and suffix_of(line) is not None:
            raise ValueError(
                "stdin is compressed. Decompress it first, for example with zcat, or pass the name of the file."
            )
        return self._decoding.line(line, "stdin", number)


def batches(items: Iterable[_Item], size: int, ready: Callable[[], bool]) -> Iterator[list[_Item]]:
    """Yield items in batches, without waiting for the next item; items before an error are yielded first."""
    batch: list[_Item] = []
    first_error: Exception | None = None
    try:
        for item in items:
            batch.append(item)
            if len(batch) == size or not ready():
                yield batch
                batch = []
    except (OSError, ValueError) as error:
        first_error = error
    if batch:
        yield batch
    if first_error is not None:
        raise first_error


def strip_line_end(line: str) -> str:
    """Return a line without its line feed, and the carriage return before it."""
    return line.removesuffix("\n").removesuffix("\r")
