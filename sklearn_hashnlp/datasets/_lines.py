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
from typing import IO, cast

# The errors of the decompressors for a damaged or truncated file; gzip and bz2 raise OSError.
DECOMPRESSION_ERRORS = (EOFError, OSError, lzma.LZMAError, zipfile.BadZipFile, zlib.error)

_LINES_PER_UPDATE = 1000
_MAGIC_BYTES = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\0": ".xz", b"PK\x03\x04": ".zip"}


def read_lines(
    path: Path, progress: Callable[[int, int], None] | None = None, errors: str | None = None
) -> Generator[str, None, None]:
    """Yield the lines of a UTF-8 file, each with its line feed.

    ``errors`` is as in ``bytes.decode``; None is strict and does not suggest another value.
    """
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
            yield _decode(line, path, number, errors)
            if progress is not None and number % _LINES_PER_UPDATE == 0:
                progress(min(stored.tell(), size), size)
        if progress is not None:
            progress(size, size)


def name_inside(path: Path) -> str:
    """Return the name of the decompressed file: ``"a.csv"`` for ``a.csv.gz``."""
    if path.suffix.lower() in {".gz", ".bz2", ".xz"}:
        return path.stem
    if path.suffix.lower() == ".zip":
        with path.open("rb") as stored, _open_archive(stored, path) as archive:
            return PurePosixPath(_only_member(archive, path)).name
    return path.name


def decompress(stored: IO[bytes], path: Path) -> IO[bytes]:
    """Return the decompressed stream of a file; reading from it may raise one of ``DECOMPRESSION_ERRORS``."""
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return cast(IO[bytes], gzip.GzipFile(fileobj=stored))
    if suffix == ".bz2":
        return cast(IO[bytes], bz2.BZ2File(stored))
    if suffix == ".xz":
        return cast(IO[bytes], lzma.LZMAFile(stored))
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


def _decode(line: bytes, path: Path, number: int, errors: str | None) -> str:
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8", errors or "strict")
    except UnicodeDecodeError as error:
        if number == 1 and line.startswith((b"\xff\xfe", b"\xfe\xff")):
            reason, encoding = "the file begins like UTF-16", "utf-16"
        else:
            reason, encoding = f"byte {error.start + 1} of the line is 0x{line[error.start]:02x}", "latin1"
        message = (
            f"{path}, line {number}: expected UTF-8, but {reason}. "
            f"Convert the file first, for example with: iconv -f {encoding} -t utf-8 OLD > NEW"
        )
        if errors is not None and encoding != "utf-16":  # its NUL bytes would raise an error
            message += ". Or replace such bytes by U+FFFD, with errors='replace' (--errors replace)."
        raise ValueError(message) from error
    if number == 1 and "\0" in text:
        raise ValueError(f"{path}, line 1: NUL bytes in the first line. Is the file UTF-16, or binary?")
    return text
