"""Word vectors in word2vec's two file formats."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.persistence._values import ModelFormatError

_LONGEST_WORD = 2**16  # bytes; a longer one is no word but another format


def save_word_vectors(
    path: str | os.PathLike[str], words: Sequence[str], vectors: NDArray[np.float32], *, binary: bool = False
) -> None:
    """Write word vectors as word2vec does.

    The first line holds the number of words and the length of a vector. Then come, word after word: in text, a line
    with the word and its numbers, which read back are the same float32; in binary, the word, a blank, its numbers in
    little-endian float32 and the end of a line.

    Parameters
    ----------
    path : str or path-like
        The file; one that is there is replaced, at once.
    words : sequence of str
        Distinct words without white space.
    vectors : ndarray of shape (n_words, n_columns)
        A row each; rounded to float32.
    binary : bool, default=False
        Which of the formats.

    Raises
    ------
    ValueError
        If there are not as many rows as words, a word occurs twice, is empty or holds white space.
    OSError
        If the file cannot be written.

    See Also
    --------
    load_word_vectors : Reads them.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> from sklearn_hashnlp.persistence import save_word_vectors
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_word_vectors(Path(folder, "vectors.txt"), ["a", "b"], np.array([[1, 0.1], [2, -3]]))
    ...     print(Path(folder, "vectors.txt").read_text())
    2 2
    a 1.0 0.1
    b 2.0 -3.0
    """
    vectors = np.asarray(vectors, dtype=np.float32)
    words = list(words)
    if vectors.ndim != 2 or len(vectors) != len(words):
        raise ValueError(
            f"save_word_vectors needs a row for each of {len(words)} words, got an array of shape {vectors.shape}."
        )
    for word in words:
        if word.split() != [word]:
            raise ValueError(f"word2vec's formats hold no empty words and none with white space, got {word!r}.")
    if len(set(words)) < len(words):
        twice = next(word for place, word in enumerate(words) if word in words[:place])
        raise ValueError(f"save_word_vectors needs distinct words, got {twice!r} twice.")
    path = Path(path)
    with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=path.parent) as folder:  # renaming within it is atomic
        unfinished = Path(folder, path.name)
        with unfinished.open("wb") as file:
            file.write(f"{vectors.shape[0]} {vectors.shape[1]}\n".encode())
            for word, vector in zip(words, vectors, strict=True):
                numbers = vector.astype("<f4").tobytes() if binary else " ".join(map(str, vector)).encode()
                file.write(word.encode("utf-8", "surrogateescape") + b" " + numbers + b"\n")
        unfinished.replace(path)


def load_word_vectors(path: str | os.PathLike[str], *, binary: bool = False) -> tuple[list[str], NDArray[np.float32]]:
    r"""Read word vectors in one of word2vec's formats.

    Parameters
    ----------
    path : str or path-like
        The file.
    binary : bool, default=False
        Which of the formats.

    Returns
    -------
    words : list of str
        The words. Bytes that are no UTF-8 come as lone surrogates (``surrogateescape``), which are written back as
        they were.
    vectors : ndarray of float32 of shape (n_words, n_columns)
        A row each.

    Raises
    ------
    ModelFormatError
        If the file is not in that format or ends too early.
    FileNotFoundError
        If there is no such file.

    See Also
    --------
    save_word_vectors : Writes them.

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
                f"{path} is no file of word2vec: its first line must hold the number of words and the length of a "
                f"vector, got {b' '.join(header)!r:.60}."
            )
        n_words, n_columns = map(int, header)
        words: list[str] = []
        rows: list[NDArray[np.float32]] = []
        for place in range(n_words):
            try:
                word, row = _read_binary(file, n_columns) if binary else _read_line(file, n_columns)
            except ValueError as error:
                kind, other = ("binary", "text") if binary else ("text", "binary")
                raise ModelFormatError(
                    f"{path} is damaged or not in word2vec's {kind} format: {error} as word {place + 1} of {n_words}. "
                    f"For the {other} format set binary={not binary}."
                ) from error
            words.append(word)
            rows.append(row)
    vectors = np.array(rows, dtype=np.float32).reshape(n_words, n_columns)
    return words, vectors


def _read_line(file: BinaryIO, n_columns: int) -> tuple[str, NDArray[np.float32]]:
    parts = file.readline().split()
    if len(parts) != n_columns + 1:
        raise ValueError(f"expected a word and {n_columns} numbers, found {len(parts)} parts")
    return _decode(parts[0]), np.array(parts[1:], dtype=np.float64).astype(np.float32)


def _read_binary(file: BinaryIO, n_columns: int) -> tuple[str, NDArray[np.float32]]:
    word = bytearray()
    while (byte := file.read(1)) != b" ":
        if not byte or len(word) > _LONGEST_WORD:
            raise ValueError("found no blank after a word")
        if byte != b"\n" or word:  # the end of the line before; not every writer sets one
            word += byte
    numbers = file.read(4 * n_columns)
    if len(numbers) < 4 * n_columns:
        raise ValueError(f"found {len(numbers)} of {4 * n_columns} bytes")
    return _decode(bytes(word)), np.frombuffer(numbers, dtype="<f4").astype(np.float32)


def _decode(word: bytes) -> str:
    return word.decode("utf-8", "surrogateescape")
