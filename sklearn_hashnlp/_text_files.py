"""Lines of text files, possibly compressed; errors contain the file and the line."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Callable, Generator
from contextlib import ExitStack
from io import BufferedReader
from itertools import count
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, cast

OPENERS: Final[dict[str, Callable[..., Any]]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
# The errors of the decompressors for a damaged or truncated file; gzip and bz2 raise OSError.
DECOMPRESSION_ERRORS = (EOFError, OSError, lzma.LZMAError, zipfile.BadZipFile, zlib.error)

_LINES_PER_UPDATE = 1000
_MAGIC_BYTES = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\0": ".xz", b"PK\x03\x04": ".zip"}


def read_lines(
    path: Path, progress: Callable[[int, int], None] | None = None, errors: str | None = None
) -> Generator[str, None, None]:
    """Yield the lines of a UTF-8 file, each with its line feed; ``errors`` None is strict and suggests no other."""
    with ExitStack() as stack:
        stored = stack.enter_context(path.open("rb"))
        if not stored.seekable():
            progress = None
        size = path.stat().st_size
        stream = stack.enter_context(decompress(stored, path))
        for number in count(1):
            try:
                line = stream.readline()
            except DECOMPRESSION_ERRORS as error:
                raise ValueError(f"{path}, line {number}: the file is damaged or truncated ({error}).") from error
            if not line:
                break
            yield decode_line(line, path, number, errors)
            if progress is not None and number % _LINES_PER_UPDATE == 0:
                progress(min(stored.tell(), size), size)
        if progress is not None:
            progress(size, size)


def check_is_file(path: Path, expected: str) -> None:
    """Raise an error for a folder, and for a file that does not exist."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; expected {expected}.")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")


def name_inside(path: Path) -> str:
    """Return the name of the decompressed file: ``"a.csv"`` for ``a.csv.gz``."""
    if path.suffix.lower() in OPENERS:
        return path.stem
    if path.suffix.lower() == ".zip":
        with path.open("rb") as stored, _open_archive(stored, path) as archive:
            return PurePosixPath(_only_member(archive, path)).name
    return path.name


def decompress(stored: IO[bytes], path: Path) -> IO[bytes]:
    """Return the decompressed stream of a file; reading from it may raise one of ``DECOMPRESSION_ERRORS``."""
    suffix = path.suffix.lower()
    if suffix in OPENERS:
        return cast(IO[bytes], OPENERS[suffix](stored))
    if suffix == ".zip":
        archive = _open_archive(stored, path)
        member = _only_member(archive, path)
        try:
            return archive.open(member)
        except (*DECOMPRESSION_ERRORS, UnicodeDecodeError) as error:
            raise ValueError(f"{path}: its member {member!r} is damaged or truncated ({error}).") from error
        except (RuntimeError, NotImplementedError) as error:  # encrypted, or compressed by an unknown method
            raise ValueError(f"{path}: its member {member!r} cannot be read ({error}). Extract it first.") from error
    expected = suffix_of(cast(BufferedReader, stored).peek(8))
    if expected is not None:
        raise ValueError(f"{path} is compressed, but its name does not say so. Rename it to {path.name}{expected}.")
    return stored


def suffix_of(first_bytes: bytes) -> str | None:
    """Return the suffix of a compressed file by its first bytes; None for other files."""
    return next((suffix for magic, suffix in _MAGIC_BYTES.items() if first_bytes.startswith(magic)), None)


def _open_archive(stored: IO[bytes], path: Path) -> zipfile.ZipFile:
    if not stored.seekable():  # the index of a zip archive is at its end
        raise ValueError(f"{path}: a zip archive cannot be read from a pipe. Save it as a file first.")
    try:
        return zipfile.ZipFile(stored)
    except (*DECOMPRESSION_ERRORS, NotImplementedError, ValueError) as error:  # ValueError: an invalid name
        raise ValueError(f"{path}: not a zip archive, or a damaged one ({error}).") from error


def _only_member(archive: zipfile.ZipFile, path: Path) -> str:
    # macOS adds a hidden file for every file to its archives.
    members = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
    if len(members) != 1:
        names = ", ".join(members[:5]) or "none"
        raise ValueError(f"{path}: expected a zip archive with one file in it, got {len(members)} ({names}).")
    return members[0]


def decode_line(line: bytes, source: Path | str, number: int, errors: str | None) -> str:
    """Decode a line, of which ``number`` counts from 1; ``errors`` as in :func:`read_lines`."""
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8", errors or "strict")
    except UnicodeDecodeError as error:
        if number == 1 and line.startswith((b"\xff\xfe", b"\xfe\xff")):
            reason, encoding = "the file begins like UTF-16", "utf-16"
        else:
            reason, encoding = f"byte {error.start + 1} of the line is 0x{line[error.start]:02x}", "latin1"
        message = f"{source}, line {number}: expected UTF-8, but {reason}."
        message += f" Convert it first, for example with: iconv -f {encoding} -t utf-8 OLD > NEW"
        if errors is not None and encoding != "utf-16":  # its NUL bytes would raise an error
            message += ". Or replace such bytes by U+FFFD, with errors='replace' (--errors replace)."
        raise ValueError(message) from error
    if number == 1 and "\0" in text:
        raise ValueError(f"{source}, line 1: NUL bytes in the first line. Is the file UTF-16, or binary?")
    return text
