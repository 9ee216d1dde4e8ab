"""Word vectors in the text and binary formats of word2vec."""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import IO, Literal

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._text_files import (
    DECOMPRESSION_ERRORS,
    Decoding,
    check_errors,
    check_is_file,
    check_not_zip,
    create,
    open_bytes,
    read_line,
)
from sklearn_hashnlp.persistence._atomic_files import replacing
from sklearn_hashnlp.persistence._values import ModelFormatError

_MAX_COLUMNS = 2**31 - 1
_MAX_WORD_BYTES = 2**16  # longer words indicate another format
# Larger and smaller numbers indicate that a vector was read from the wrong byte on.
_LARGEST, _SMALLEST = 1e15, 1e-18
_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")

_Row = tuple[bytes, NDArray[np.float32]]


def save_word_vectors(
    path: str | os.PathLike[str],
    words: Sequence[str],
    vectors: NDArray[np.float32],
    *,
    binary: bool = False,
) -> None:
    """Write word vectors in word2vec's text or binary format.

    The first line has the number of words and the dimension. Each word follows: in the text format,
    as a line with the word and its vector, which is read back as the same float32 values; in the
    binary format, as the word, a space, its vector in little-endian float32 and a newline.

    Parameters
    ----------
    path : str or path-like
        File to write, compressed if its name ends with ``.gz``, ``.bz2`` or ``.xz``; an existing
        file is replaced atomically.
    words : sequence of str
        Distinct words without ASCII whitespace and control characters.
    vectors : ndarray of shape (n_words, n_columns)
        Vector of each word; rounded to float32.
    binary : bool, default=False
        Whether the format is binary or text.

    See Also
    --------
    load_word_vectors : Read word vectors.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> from sklearn_hashnlp.persistence import save_word_vectors
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     vectors = np.array([[1, 0.1], [2, -3]])
    ...     save_word_vectors(Path(folder, "vectors.txt"), ["a", "b"], vectors)
    ...     print(Path(folder, "vectors.txt").read_text())
    2 2
    a 1.0 0.1
    b 2.0 -3.0
    """
    check_not_zip(Path(path), "word vectors")
    with np.errstate(over="ignore"):  # infinite values are an error of their own
        vectors = np.asarray(vectors, dtype=np.float32)
    words = list(words)
    if vectors.ndim != 2 or len(vectors) != len(words):
        raise ValueError(
            f"save_word_vectors needs a row for each of {len(words)} words, got an array of shape "
            f"{vectors.shape}."
        )
    if not np.isfinite(vectors).all():
        row = int(np.argmin(np.isfinite(vectors).all(axis=1)))
        raise ValueError(
            "save_word_vectors needs finite vectors, got NaN or infinity for the word "
            f"{words[row]!r}."
        )
    for word in words:
        if _encode(word).split() != [_encode(word)] or _CONTROL.search(_encode(word)):
            raise ValueError(
                "save_word_vectors needs words that are not empty and contain no whitespace or "
                f"control characters, got {word!r}."
            )
    if len(set(words)) < len(words):
        repeated = Counter(words).most_common(1)[0][0]
        raise ValueError(
            f"save_word_vectors needs distinct words, got {repeated!r} more than once."
        )
    with replacing(Path(path)) as unfinished, create(unfinished) as file:
        file.write(f"{vectors.shape[0]} {vectors.shape[1]}\n".encode())
        for word, vector in zip(words, vectors, strict=True):
            numbers = (
                vector.astype("<f4").tobytes() if binary else " ".join(map(str, vector)).encode()
            )
            file.write(_encode(word) + b" " + numbers + b"\n")


def load_word_vectors(
    path: str | os.PathLike[str],
    *,
    binary: bool = False,
    encoding: str = "utf-8",
    errors: Literal["strict", "replace", "surrogateescape"] = "strict",
) -> tuple[list[str], NDArray[np.float32]]:
    r"""Read word vectors in word2vec's text or binary format.

    If a word is repeated, its first vector is used, with a warning, as in gensim. Words with
    spaces, such as ``"New York"``, are read from a binary file with a newline after each vector, as
    word2vec and this package write it; in other files they are an error.

    Parameters
    ----------
    path : str or path-like
        File to read, such as a ``.vec`` file of fastText; it may be compressed (.gz, .bz2, .xz or
        .zip).
    binary : bool, default=False
        Whether the format is binary or text.
    encoding : str, default="utf-8"
        The encoding of the words, such as ``"cp1252"``. A byte order mark is skipped.
    errors : {"strict", "replace", "surrogateescape"}, default="strict"
        Bytes that are not in the encoding: an error, the replacement character U+FFFD, or lone
        surrogates, which :func:`save_word_vectors` writes back unchanged.

    Returns
    -------
    words : list of str
        The distinct words.
    vectors : ndarray of float32 of shape (n_words, n_columns)
        Vector of each word.

    Raises
    ------
    ModelFormatError
        If the file has another format, is incomplete, or has more after the last vector; if a word
        has bytes that are not in the encoding, or control characters; or if a vector has NaN or
        values that float32 cannot hold.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn_hashnlp.persistence import load_word_vectors
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "vectors.txt").write_text("2 2\na 1 0.5\nb 2 -3\n")
    ...     load_word_vectors(Path(folder, "vectors.txt"))
    (['a', 'b'], array([[ 1. ,  0.5], [ 2. , -3. ]], dtype=float32))
    """
    path = Path(path)
    check_is_file(path, "a file of word vectors")
    check_errors(errors, ("strict", "replace", "surrogateescape"))
    decoding = Decoding(encoding, errors)
    try:
        with open_bytes(path, Decoding() if binary else decoding) as file:
            n_words, n_columns = _read_header(file, path)
            rows: dict[str, NDArray[np.float32]] = {}
            for index, (code, row) in enumerate(
                _numbered(file, path, (n_words, n_columns), binary=binary), start=1
            ):
                word = _decode(code, decoding, f"{path}: word {index} of {n_words}")
                if not np.isfinite(row).all():
                    raise ModelFormatError(
                        f"{path} is damaged: the vector of word {index} of {n_words}, "
                        f"{word[:40]!r}, has NaN or values that float32 cannot hold."
                    )
                rows.setdefault(word, row)
    except ModelFormatError:
        raise
    except ValueError as error:  # of the text file
        raise ModelFormatError(str(error)) from error
    if len(rows) < n_words:
        warnings.warn(
            f"{path} has {n_words} vectors of {len(rows)} words: of a word that is repeated the "
            "first one is taken.",
            stacklevel=2,
        )
    return list(rows), np.array(list(rows.values()), dtype=np.float32).reshape(len(rows), n_columns)


def _read_header(file: IO[bytes], path: Path) -> tuple[int, int]:
    header = read_line(file, path, 1)[:100].split()
    if len(header) != 2 or not all(part.isdigit() for part in header):
        raise ModelFormatError(
            f"{path} is not in a format of word2vec: its first line must be the number of words "
            f"and the dimension, got {b' '.join(header)!r:.60}."
        )
    n_words, n_columns = map(int, header)
    compressed = path.suffix.lower() in (".gz", ".bz2", ".xz", ".zip")
    max_columns = (
        path.stat().st_size if n_words and path.is_file() and not compressed else _MAX_COLUMNS
    )
    if n_columns > max_columns:  # a number has at least one byte
        raise ModelFormatError(
            f"{path} is damaged or not in a format of word2vec: its first line promises "
            f"{n_columns} numbers for each of {n_words} words, more than the file has bytes."
        )
    return n_words, n_columns


def _numbered(
    file: IO[bytes], path: Path, shape: tuple[int, int], *, binary: bool
) -> Iterator[_Row]:
    """Yield words and vectors; an error contains the format and the number of the word."""
    kind, other = ("binary", "text") if binary else ("text", "binary")
    n_read = 0
    try:
        for row in _binary_rows(file, path, *shape) if binary else _text_rows(file, path, *shape):
            n_read += 1
            yield row
    except ModelFormatError:
        raise
    except ValueError as error:
        where = f" for word {n_read + 1} of {shape[0]}" if n_read < shape[0] else ""
        raise ModelFormatError(
            f"{path} is damaged or not in word2vec's {kind} format: {error}{where}. If its format "
            f"is {other}, set binary={not binary}."
        ) from error


def _text_rows(file: IO[bytes], path: Path, n_words: int, n_columns: int) -> Iterator[_Row]:
    for number in range(2, n_words + 2):
        yield _parse_line(read_line(file, path, number), n_columns)
    rest = iter(lambda: read_line(file, path, n_words + 2), b"")
    if any(map(bytes.strip, rest)):
        raise ValueError(f"there is more after {n_words} words")


def _parse_line(line: bytes, n_columns: int) -> _Row:
    if b"\0" in line:
        raise ValueError("got NUL bytes")
    parts = line.split()
    if len(parts) != n_columns + 1:
        hint = "; a word may not contain a space" if len(parts) > n_columns + 1 else ""
        raise ValueError(
            f"expected a word and {n_columns} numbers, got {len(parts)} fields in "
            f"{line[:40]!r}{hint}"
        )
    with np.errstate(over="ignore"):  # infinite values are an error of their own
        return parts[0], np.array(parts[1:], dtype=np.float64).astype(np.float32)


def _binary_rows(file: IO[bytes], path: Path, n_words: int, n_columns: int) -> Iterator[_Row]:
    """Read words and vectors; a newline after each vector, if present, allows spaces in words."""
    try:
        content = file.read()
    except DECOMPRESSION_ERRORS as error:
        raise ModelFormatError(f"{path}: the file is damaged or truncated ({error}).") from error
    if n_words and n_columns and _is_text(BytesIO(content).readline(), n_columns):
        raise ModelFormatError(f"{path} is in word2vec's text format. Set binary=False.")
    start, size = 0, 4 * n_columns
    by_lines = n_words > 0 and next(_word_ends(content, 0, size, n_words), None) is not None
    for index in range(n_words):
        ends = (
            _word_ends(content, start, size, n_words - index)
            if by_lines
            else _spaces(content, start)
        )
        end = next(ends, None)
        if end is None:
            raise ValueError(
                f"got no {'word, vector and newline' if by_lines else 'space after a word'}"
            )
        word, first = content[start:end], end + 1
        if len(content) < first + size:
            raise ValueError(f"got {len(content) - first} of {size} bytes")
        row = (
            np.frombuffer(content, "<f4", n_columns, first)
            if size
            else np.empty(0, dtype=np.float32)
        )
        if not by_lines:
            sizes = np.abs(row[np.isfinite(row) & (row != 0)])
            if ((sizes > _LARGEST) | (sizes < _SMALLEST)).any():  # of wrong bytes
                raise ValueError(f"the word {word!r:.60} has a space, or its vector is damaged")
        yield word, row
        start = first + size + by_lines
    if content[start:].strip():
        raise ValueError(f"there is more after {n_words} words")


def _is_text(line: bytes, n_columns: int) -> bool:
    try:
        return bool(_parse_line(line, n_columns))
    except ValueError:
        return False


def _spaces(content: bytes, start: int) -> Iterator[int]:
    """Yield the positions of the spaces that may end the word at ``start``."""
    end = content.find(b" ", start + 1, start + _MAX_WORD_BYTES)
    while end >= 0:
        yield end
        end = content.find(b" ", end + 1, start + _MAX_WORD_BYTES)


def _word_ends(content: bytes, start: int, size: int, n_words: int) -> Iterator[int]:
    """Yield the spaces followed by a vector and a newline and, unless last, by another word."""
    for end in _ends_before_newline(content, start, size, is_last=n_words == 1):
        following = _ends_before_newline(content, end + 2 + size, size, is_last=n_words == 2)
        if n_words == 1 or next(following, None) is not None:
            yield end


def _ends_before_newline(content: bytes, start: int, size: int, *, is_last: bool) -> Iterator[int]:
    for end in _spaces(content, start):
        after = end + 1 + size
        if _CONTROL.search(content, start, end):  # bytes of a number
            return
        if content[after : after + 1] == b"\n" or (is_last and after == len(content)):
            yield end


def _decode(code: bytes, decoding: Decoding, where: str) -> str:
    try:
        word = code.decode(decoding.of_lines, decoding.errors)
    except UnicodeDecodeError as error:
        raise ModelFormatError(
            f"{where}, {code[:40]!r}, is not in the encoding {decoding.encoding!r}. Pass its "
            "encoding, such as encoding='cp1252', or errors='replace'; in a binary file, the word "
            "before it may have a space."
        ) from error
    if _CONTROL.search(code):
        raise ModelFormatError(
            f"{where}, {code[:40]!r}, has control characters: the file is damaged, or the word "
            "before it has a space."
        )
    return word


def _encode(word: str) -> bytes:
    return word.encode("utf-8", "surrogateescape")
