"""Text files, possibly compressed, in any encoding, by lines; errors name the file and the line."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from io import BufferedReader
from itertools import count
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, cast

OPENERS: Final[dict[str, Callable[..., Any]]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
# The errors of the decompressors for a damaged or truncated file; gzip and bz2 raise OSError.
DECOMPRESSION_ERRORS = (EOFError, OSError, lzma.LZMAError, zipfile.BadZipFile, zlib.error)

_LINES_PER_UPDATE = 1000
_CHUNK_BYTES = 2**16
_MAGIC_BYTES = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\0": ".xz", b"PK\x03\x04": ".zip"}
_UTF_16 = "For UTF-16 pass encoding='utf-16' (--encoding utf-16)."


@dataclass(frozen=True)
class Decoding:
    """The encoding and error handling of a text file, and advice for callers without them."""

    encoding: str = "utf-8"
    errors: str = "strict"
    advice: str = ""

    def __post_init__(self) -> None:
        try:
            "\n".encode(self.encoding)  # for a codec of bytes, such as zlib, a LookupError
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(
                "encoding must be the name of a text encoding, such as 'utf-8' or 'cp1252'. Got "
                f"{self.encoding!r}."
            ) from error

    @cached_property
    def of_lines(self) -> str:
        """The encoding of the lines of :meth:`stream`."""
        name = codecs.lookup(self.encoding).name
        return name if name != "utf-8-sig" and "\n".encode(name) == b"\n" else "utf-8"

    def stream(self, stream: IO[bytes]) -> IO[bytes]:
        """Return a stream with line feeds of one byte, in UTF-8 if the encoding has another."""
        if codecs.lookup(self.encoding).name in (self.of_lines, "utf-8-sig"):
            return stream
        return io.BufferedReader(_Utf8Stream(stream, self.encoding, self.errors))

    def line(self, line: bytes, source: Path | str, number: int) -> str:
        """Decode line ``number``, counted from 1; drop the byte order mark of the first line."""
        name = self.of_lines
        if number == 1 and line.startswith(codecs.BOM_UTF8) and name != "utf-8":
            raise ValueError(
                f"{source}, line 1: the file begins with the byte order mark of UTF-8, and "
                f"encoding is {self.encoding!r}. Pass encoding='utf-8', the default."
            )
        try:
            text = line.decode(name, self.errors)
        except UnicodeDecodeError as error:
            raise self._error(error, source, number) from error
        if number > 1:
            return text
        if "\0" in text:
            raise ValueError(
                f"{source}, line 1: NUL bytes in the first line. Is the file UTF-16, or binary? "
                f"{_UTF_16}"
            )
        return text.removeprefix("\ufeff")

    def _error(self, error: UnicodeDecodeError, source: Path | str, number: int) -> ValueError:
        """Return the error of a line, with the encoding that it probably has."""
        line, name = (
            error.object,
            self.encoding.upper() if self.of_lines == "utf-8" else self.encoding,
        )
        if number == 1 and line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return ValueError(
                f"{source}, line 1: expected {name}, but the file begins like UTF-16. {_UTF_16}"
            )
        message = (
            f"{source}, line {number}: expected {name}, but byte {error.start + 1} of the line is "
        )
        replace = "errors='replace' (--errors replace) reads such bytes as U+FFFD"
        message += f"0x{line[error.start]:02x}. "
        if self.advice:
            return ValueError(message + self.advice)
        if name == "UTF-8" and not line.decode("utf-8", "ignore").isascii():
            return ValueError(f"{message}Other characters of the line are UTF-8: {replace}.")
        try:
            line.decode("cp1252")
            example = (
                "'cp1252' (--encoding cp1252), the encoding of Windows and Excel in Western "
                "languages"
            )
        except UnicodeDecodeError:
            example = "'gb18030' or 'shift_jis' (--encoding NAME)"
        other = "another encoding" if name != "UTF-8" else "the encoding of the file"
        return ValueError(f"{message}Pass {other}, such as encoding={example}; {replace}.")


class _Utf8Stream(io.RawIOBase):
    """The bytes in UTF-8 of a stream in another encoding."""

    def __init__(self, stream: IO[bytes], encoding: str, errors: str) -> None:
        self._read: Callable[[int], bytes] = getattr(stream, "read1", stream.read)
        self._decoder, self._rest = codecs.getincrementaldecoder(encoding)(errors), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        at_end = False
        while not self._rest and not at_end:
            chunk = self._read(_CHUNK_BYTES)
            at_end = not chunk
            self._rest = self._decoder.decode(chunk, at_end).encode("utf-8", "surrogatepass")
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


UTF_8: Final = Decoding()


def read_lines(
    path: Path, progress: Callable[[int, int], None] | None = None, decoding: Decoding = UTF_8
) -> Generator[str, None, None]:
    """Yield lines with their line feeds; a file without any is split at carriage returns."""
    with ExitStack() as stack:
        stored = stack.enter_context(path.open("rb"))
        if not stored.seekable():
            progress = None
        size = path.stat().st_size
        stream = decoding.stream(stack.enter_context(decompress(stored, path)))
        for number in count(1):
            line = read_line(stream, path, number)
            if not line:
                break
            if number == 1 and b"\r" in line and not line.endswith(b"\n"):
                lines = line.removesuffix(b"\r").split(b"\r")
                yield from (
                    decoding.line(one, path, index) + "\n"
                    for index, one in enumerate(lines, start=1)
                )
            else:
                yield decoding.line(line, path, number)
            if progress is not None and number % _LINES_PER_UPDATE == 0:
                progress(min(stored.tell(), size), size)
        if progress is not None:
            progress(size, size)


@contextmanager
def open_bytes(path: Path, decoding: Decoding = UTF_8) -> Iterator[IO[bytes]]:
    """Open a file as decompressed bytes without a byte order mark; read it by :func:`read_line`."""
    with path.open("rb") as stored, decompress(stored, path) as compressed:
        stream = cast(BufferedReader, decoding.stream(compressed))
        try:
            has_mark = stream.peek(3).startswith(codecs.BOM_UTF8)
        except (*DECOMPRESSION_ERRORS, UnicodeDecodeError) as error:
            raise _damaged(path, 1, error) from error
        if has_mark:
            stream.read(3)
        yield stream


def read_line(stream: IO[bytes], path: Path, number: int) -> bytes:
    """Read a line; raise a ValueError with the file and the line for errors of decompressors."""
    try:
        return stream.readline()
    except (*DECOMPRESSION_ERRORS, UnicodeDecodeError) as error:
        raise _damaged(path, number, error) from error


def _damaged(path: Path, number: int, error: Exception) -> ValueError:
    if isinstance(error, UnicodeDecodeError):  # of a block of lines
        reason = f"or soon after: expected {error.encoding}, got other bytes ({error.reason})."
        return ValueError(
            f"{path}, line {number} {reason} Pass the encoding of the file as encoding "
            "(--encoding)."
        )
    return ValueError(f"{path}, line {number}: the file is damaged or truncated ({error}).")


def check_not_zip(path: Path, what: str) -> None:
    """Raise an error for the name of a file to write that ends in .zip."""
    if path.suffix.lower() == ".zip":
        raise ValueError(
            f"{path}: {what} cannot be written as a zip archive. Use .gz, .bz2 or .xz to compress "
            "it."
        )


def create(path: Path) -> IO[bytes]:
    """Open a file to write, compressed if its name ends in .gz, .bz2 or .xz."""
    suffix = path.suffix.lower()
    if suffix == ".gz":
        # Without a time in the header, the bytes are reproducible.
        return cast(IO[bytes], gzip.GzipFile(path, "wb", mtime=0))
    return cast(IO[bytes], OPENERS.get(suffix, open)(path, "wb"))


def check_errors(errors: str, choices: tuple[str, ...]) -> None:
    """Check the parameter ``errors`` of a reader."""
    if errors not in choices:
        raise ValueError(f"errors must be one of {', '.join(map(repr, choices))}. Got {errors!r}.")


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
    """Return the decompressed stream of a file; reading may raise ``DECOMPRESSION_ERRORS``."""
    suffix = path.suffix.lower()
    if suffix in OPENERS:
        return cast(IO[bytes], OPENERS[suffix](stored))
    if suffix == ".zip":
        archive = _open_archive(stored, path)
        member = _only_member(archive, path)
        try:
            return archive.open(member)
        except (*DECOMPRESSION_ERRORS, UnicodeDecodeError) as error:
            raise ValueError(
                f"{path}: its member {member!r} is damaged or truncated ({error})."
            ) from error
        # The member is encrypted, or compressed by an unknown method.
        except (RuntimeError, NotImplementedError) as error:
            raise ValueError(
                f"{path}: its member {member!r} cannot be read ({error}). Extract it first."
            ) from error
    expected = suffix_of(cast(BufferedReader, stored).peek(8))
    if expected is not None:
        raise ValueError(
            f"{path} is compressed, but its name does not say so. Rename it to "
            f"{path.name}{expected}."
        )
    return stored


def suffix_of(first_bytes: bytes) -> str | None:
    """Return the suffix of a compressed file by its first bytes; None for other files."""
    return next(
        (suffix for magic, suffix in _MAGIC_BYTES.items() if first_bytes.startswith(magic)), None
    )


def _open_archive(stored: IO[bytes], path: Path) -> zipfile.ZipFile:
    if not stored.seekable():  # the index of a zip archive is at its end
        raise ValueError(
            f"{path}: a zip archive cannot be read from a pipe. Save it as a file first."
        )
    try:
        return zipfile.ZipFile(stored)
    # ValueError: an invalid name
    except (*DECOMPRESSION_ERRORS, NotImplementedError, ValueError) as error:
        raise ValueError(f"{path}: not a zip archive, or a damaged one ({error}).") from error


def _only_member(archive: zipfile.ZipFile, path: Path) -> str:
    # macOS adds a hidden file for every file to its archives.
    members = [
        name
        for name in archive.namelist()
        if not name.endswith("/") and not name.startswith("__MACOSX/")
    ]
    if len(members) != 1:
        names = ", ".join(members[:5]) or "none"
        raise ValueError(
            f"{path}: expected a zip archive with one file in it, got {len(members)} ({names})."
        )
    return members[0]
