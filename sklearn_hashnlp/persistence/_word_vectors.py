"""Word vectors in the text and binary formats of word2vec."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.persistence._atomic_files import replacing
from sklearn_hashnlp.persistence._values import ModelFormatError

_MAX_COLUMNS = 2**31 - 1
_MAX_WORD_BYTES = 2**16  # longer words indicate another format


def save_word_vectors(
    path: str | os.PathLike[str], words: Sequence[str], vectors: NDArray[np.float32], *, binary: bool = False
) -> None:
    """Write word vectors in word2vec's text or binary format.

    The first line has the number of words and the dimension. Each word follows: in the text format, as a line with the
    word and its vector, which is read back as the same float32 values; in the binary format, as the word, a space, its
    vector in little-endian float32 and a newline.

    Parameters
    ----------
    path : str or path-like
        File to write; an existing file is replaced atomically.
    words : sequence of str
        Distinct words without ASCII whitespace.
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
    with np.errstate(over="ignore"):  # infinite values are an error of their own
        vectors = np.asarray(vectors, dtype=np.float32)
    words = list(words)
    if vectors.ndim != 2 or len(vectors) != len(words):
        raise ValueError(
            f"save_word_vectors needs a row for each of {len(words)} words, got an array of shape {vectors.shape}."
        )
    if not np.isfinite(vectors).all():
        row = int(np.argmin(np.isfinite(vectors).all(axis=1)))
        raise ValueError(f"save_word_vectors needs finite vectors, got NaN or infinity for the word {words[row]!r}.")
    for word in words:
        if _encode(word).split() != [_encode(word)]:
            raise ValueError(
                f"save_word_vectors needs words that are not empty and contain no whitespace, got {word!r}."
            )
    if len(set(words)) < len(words):
        repeated = Counter(words).most_common(1)[0][0]
        raise ValueError(f"save_word_vectors needs distinct words, got {repeated!r} more than once.")
    with replacing(Path(path)) as unfinished, unfinished.open("wb") as file:
        file.write(f"{vectors.shape[0]} {vectors.shape[1]}\n".encode())
        for word, vector in zip(words, vectors, strict=True):
            numbers = vector.astype("<f4").tobytes() if binary else " ".join(map(str, vector)).encode()
            file.write(_encode(word) + b" " + numbers + b"\n")


def load_word_vectors(path: str | os.PathLike[str], *, binary: bool = False) -> tuple[list[str], NDArray[np.float32]]:
    r"""Read word vectors in word2vec's text or binary format.

    If a word is repeated, its first vector is used, with a warning, as in gensim.

    Parameters
    ----------
    path : str or path-like
        File to read.
    binary : bool, default=False
        Whether the format is binary or text.

    Returns
    -------
    words : list of str
        The distinct words. Bytes that are not UTF-8 are decoded as lone surrogates (``surrogateescape``), and written
        back unchanged.
    vectors : ndarray of float32 of shape (n_words, n_columns)
        Vector of each word.

    Raises
    ------
    ModelFormatError
        If the file has another format or is incomplete, or a vector has NaN or values that float32 cannot hold.

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
    with path.open("rb") as file:
        header = file.readline(100).split()
        if len(header) != 2 or not all(part.isdigit() for part in header):
            raise ModelFormatError(
                f"{path} is not in a format of word2vec: its first line must be the number of words and the dimension, "
                f"got {b' '.join(header)!r:.60}."
            )
        n_words, n_columns = map(int, header)
        max_columns = path.stat().st_size if n_words and path.is_file() else _MAX_COLUMNS
        if n_columns > max_columns:  # a number has at least one byte
            raise ModelFormatError(
                f"{path} is damaged or not in a format of word2vec: its first line promises {n_columns} numbers for "
                f"each of {n_words} words, more than the file has bytes."
            )
        rows: dict[str, NDArray[np.float32]] = {}
        for index in range(n_words):
            try:
                word, row = _read_binary(file, n_columns) if binary else _read_line(file, n_columns)
            except ValueError as error:
                kind, other = ("binary", "text") if binary else ("text", "binary")
                raise ModelFormatError(
                    f"{path} is damaged or not in word2vec's {kind} format: {error} for word {index + 1} of {n_words}. "
                    f"If its format is {other}, set binary={not binary}."
                ) from error
            if not np.isfinite(row).all():
                raise ModelFormatError(
                    f"{path} is damaged: the vector of word {index + 1} of {n_words}, {word[:40]!r}, has NaN or values "
                    "that float32 cannot hold."
                )
            rows.setdefault(word, row)
        if not binary and file.read(1).strip():
            raise ModelFormatError(
                f"{path} is damaged or not in word2vec's text format: there is more after {n_words} words. If its "
                "format is binary, set binary=True."
            )
    if len(rows) < n_words:
        warnings.warn(
            f"{path} has {n_words} vectors of {len(rows)} words: of a word that is repeated the first one is taken.",
            stacklevel=2,
        )
    return list(rows), np.array(list(rows.values()), dtype=np.float32).reshape(len(rows), n_columns)


def _read_line(file: BinaryIO, n_columns: int) -> tuple[str, NDArray[np.float32]]:
    line = file.readline()
    if b"\0" in line:
        raise ValueError("got NUL bytes")
    parts = line.split()
    if len(parts) != n_columns + 1:
        raise ValueError(f"expected a word and {n_columns} numbers, got {len(parts)} fields")
    with np.errstate(over="ignore"):  # infinite values are an error of their own
        return _decode(parts[0]), np.array(parts[1:], dtype=np.float64).astype(np.float32)


def _read_binary(file: BinaryIO, n_columns: int) -> tuple[str, NDArray[np.float32]]:
    word = bytearray()
    while (byte := file.read(1)) != b" ":
        if not byte or len(word) > _MAX_WORD_BYTES:
            raise ValueError("got no space after a word")
        if byte != b"\n" or word:  # the newline after the previous word, which not every program writes
            word += byte
    numbers = file.read(4 * n_columns)
    if len(numbers) < 4 * n_columns:
        raise ValueError(f"got {len(numbers)} of {4 * n_columns} bytes")
    return _decode(bytes(word)), np.frombuffer(numbers, dtype="<f4").astype(np.float32)


def _decode(word: bytes) -> str:
    return word.decode("utf-8", "surrogateescape")


def _encode(word: str) -> bytes:
    return word.encode("utf-8", "surrogateescape")
