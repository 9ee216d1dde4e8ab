"""Reading of fastText's .bin and .ftz files: the arguments, the dictionary, and the two matrices."""

from __future__ import annotations

import math
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels.strings._fasttext_entries import fasttext_entries
from sklearn_hashnlp.persistence._values import ModelFormatError, is_finite
from sklearn_hashnlp.text._fasttext_dictionary import FastTextDictionary

LOSSES: Final = {1: "hs", 2: "ns", 3: "softmax", 4: "ova"}
_MODELS: Final = {1: "cbow", 2: "skipgram", 3: "supervised"}
_MAGIC, _NEWEST = 793712314, 12
_ARGUMENTS = ("dim", "ws", "epoch", "minCount", "neg", "wordNgrams", "loss", "model", "bucket", "minn", "maxn")
_WORD, _LABEL = 0, 1  # types of entries
_MAX_OUTPUT, _MAX_GROWTH = 2**28, 100  # of a quantized matrix: bytes, or times the size of the file
_N_CENTROIDS = 256
MAX_COUNT = 10**15  # of a label; fastText's tree takes it for infinity


@dataclass(frozen=True)
class Quantized:
    """A matrix of which each row is a list of codes: of a centroid for each part, and of its norm."""

    codes: NDArray[np.uint8]  # (n_rows, n_parts)
    centroids: NDArray[np.float32]  # (256, n_columns): those of all parts, side by side
    part: int  # columns of a part; the last may have fewer
    norm_codes: NDArray[np.uint8] | None  # (n_rows,)
    norms: NDArray[np.float32] | None  # (256,)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return len(self.codes), self.centroids.shape[1]

    def check(self) -> None:
        """Raise a ValueError unless the arrays belong together."""
        n_columns = self.centroids.shape[1]
        if self.centroids.shape[0] != _N_CENTROIDS or self.part < 1 or self.codes.ndim != 2:
            raise ValueError("a quantized matrix has no 256 centroids, or no parts")
        if self.codes.shape[1] != -(-n_columns // self.part):
            raise ValueError(f"a quantized matrix has {self.codes.shape[1]} codes in a row for {n_columns} columns")
        if (self.norm_codes is None) != (self.norms is None):
            raise ValueError("a quantized matrix has half of the arrays of its norms")
        if self.norm_codes is None or self.norms is None:
            return
        if len(self.norm_codes) != len(self.codes) or len(self.norms) != _N_CENTROIDS:
            raise ValueError("a quantized matrix has not as many norms as rows")

    def dense(self) -> NDArray[np.float32]:
        """Compute the matrix."""
        n_rows, n_columns = self.shape
        rows = np.empty((n_rows, n_columns), dtype=np.float32)
        for at, codes in enumerate(self.codes.T):
            columns = slice(at * self.part, min((at + 1) * self.part, n_columns))
            rows[:, columns] = self.centroids[codes, columns]
        if self.norms is not None and self.norm_codes is not None:
            with np.errstate(over="ignore"):  # an infinite score is an error of its own
                rows *= self.norms[self.norm_codes][:, None]
        return rows


@dataclass(frozen=True)
class FastTextFile:
    """The content of a file of a supervised model."""

    arguments: dict[str, Any]  # of fastText's training, by fastText's names
    loss: str
    dictionary: FastTextDictionary
    label_counts: NDArray[np.int64]
    inputs: NDArray[np.float32] | Quantized
    output: NDArray[np.float32]


def read_fasttext(path: str | os.PathLike[str]) -> FastTextFile:
    """Read a file of a supervised model; every size is compared with that of the file before memory is taken."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(
            f"{path} is a folder, not a model of fastText: expected a .bin or .ftz file. A folder of this package is "
            "read by load_model."
        )
    with path.open("rb") as file:
        try:
            return _read_model(_Reader(file, path))
        except (EOFError, ValueError) as error:
            if isinstance(error, ModelFormatError):
                raise
            raise ModelFormatError(f"{path} is damaged or not a model of fastText: {error}.") from error
        except MemoryError as error:
            raise ModelFormatError(f"{path} does not fit into memory, or is damaged.") from error


class _Reader:
    """Numbers and arrays of a file, of which no more is read than there is."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.path = path
        self._file = file
        self.left = os.fstat(file.fileno()).st_size

    def take(self, n: int, what: str) -> bytes:
        """Read some bytes."""
        self._check(n, what)
        data = self._file.read(n)
        if len(data) < n:
            raise EOFError(f"it ends within its {what}")
        self.left -= n
        return data

    def _check(self, n: int, what: str) -> None:
        if not 0 <= n <= self.left:
            raise EOFError(f"its {what} would take {n:,} bytes, and {self.left:,} are left")

    def entries(self, n: int) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
        """Read the entries of a dictionary, whose size stands nowhere: names, where they begin, counts and types."""
        start = self._file.tell()
        content = np.memmap(self._file, dtype=np.uint8, mode="r")
        names, offsets, counts, types, end = fasttext_entries(content, start, n)
        if end < 0:
            raise EOFError("it ends within its dictionary")
        self._file.seek(end)
        self.left -= end - start
        return names, offsets, counts, types

    def numbers(self, form: str, what: str) -> tuple[Any, ...]:
        """Read numbers of a format of :mod:`struct`."""
        return struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}"), what))

    def array(self, dtype: str, shape: tuple[int, ...], what: str) -> NDArray[Any]:
        """Read an array of finite numbers."""
        if min(shape) < 0:
            raise ValueError(f"its {what} has a negative size")
        self._check(math.prod(shape) * np.dtype(dtype).itemsize, what)
        array = np.empty(shape, dtype=dtype)
        if self._file.readinto(array.reshape(-1).view(np.uint8)) < array.nbytes:  # type: ignore[attr-defined]  # of BufferedReader
            raise EOFError(f"it ends within its {what}")
        self.left -= array.nbytes
        if not is_finite(array):
            raise ValueError(f"its {what} has infinite values or NaN")
        return array.astype(array.dtype.newbyteorder("="), copy=False)

    def flag(self, what: str) -> bool:
        """Read a truth value."""
        return self.take(1, what) != b"\0"


def _read_model(reader: _Reader) -> FastTextFile:
    path = reader.path
    if reader.left < 8 or (head := reader.numbers("ii", "header"))[0] != _MAGIC:
        raise ModelFormatError(
            f"{path} is not a model of fastText: expected a .bin or .ftz file. A .vec file, of word vectors, is read "
            "by load_word_vectors, and a model of this package by load_model."
        )
    version = head[1]
    if version > _NEWEST:
        raise ModelFormatError(f"{path} has version {version} of fastText's format; the newest known one is {_NEWEST}.")
    *values, threshold = reader.numbers("12id", "arguments")
    arguments: dict[str, Any] = dict(zip((*_ARGUMENTS, "lrUpdateRate"), values, strict=True))
    loss, model = LOSSES.get(arguments["loss"]), _MODELS.get(arguments["model"])
    if loss is None or model is None:
        raise ValueError(f"its loss is {arguments['loss']} and its model {arguments['model']}, which fastText lacks")
    if model != "supervised":
        raise ModelFormatError(
            f"{path} is a {model} model of fastText: word vectors, which predict no labels. Read the vectors of its "
            "words from the .vec file that fastText writes beside it: "
            f"load_word_vectors({str(path.with_suffix('.vec'))!r})."
        )
    if arguments["dim"] < 1:
        raise ValueError(f"its vectors have {arguments['dim']} dimensions")
    arguments |= {"loss": loss, "model": model, "t": threshold, "version": version}
    if version == 11:  # whose supervised models had no character n-grams
        arguments["maxn"] = 0
    dictionary, label_counts = _read_dictionary(reader, arguments)
    is_quantized = reader.flag("matrices")
    if not is_quantized and dictionary.pruned is not None:
        raise ValueError("its dictionary was pruned, but its input matrix was not quantized")
    inputs = _read_quantized(reader, "input matrix") if is_quantized else _read_dense(reader, "input matrix")
    quantized_output = reader.flag("output matrix") and is_quantized
    stored = _read_quantized(reader, "output matrix") if quantized_output else _read_dense(reader, "output matrix")
    if stored.shape[0] != len(label_counts):
        raise ValueError(f"its output matrix has {stored.shape[0]} rows for {len(label_counts)} labels")
    if inputs.shape[1] != arguments["dim"] or stored.shape[1] != arguments["dim"]:
        raise ValueError(
            f"its matrices have {inputs.shape[1]} and {stored.shape[1]} columns, and its dimension is "
            f"{arguments['dim']}"
        )
    dictionary.check(inputs.shape[0])
    n_bytes = 4 * stored.shape[0] * stored.shape[1]
    if n_bytes > max(_MAX_OUTPUT, _MAX_GROWTH * path.stat().st_size):
        raise ValueError(f"its output matrix would take {n_bytes:,} bytes")
    output = stored.dense() if isinstance(stored, Quantized) else stored
    return FastTextFile(arguments, loss, dictionary, label_counts, inputs, output)


def _read_dictionary(reader: _Reader, arguments: dict[str, Any]) -> tuple[FastTextDictionary, NDArray[np.int64]]:
    n_entries, n_words, n_labels, _, n_pruned = reader.numbers("iiiqq", "dictionary")
    if n_words < 0 or n_labels < 1 or n_entries != n_words + n_labels or n_entries * 10 > reader.left:
        raise ValueError(f"its dictionary has {n_entries} entries, {n_words} words and {n_labels} labels")
    names, offsets, counts, types = reader.entries(n_entries)
    if (types[:n_words] != _WORD).any() or (types[n_words:] != _LABEL).any():
        raise ValueError("its dictionary has words among the labels, or types that are unknown")
    label_counts = counts[n_words:].copy()
    if (label_counts < 0).any() or (label_counts >= MAX_COUNT).any():
        raise ValueError("a label has a count that is negative or too large")
    pruned = None
    if n_pruned >= 0:
        pruned = reader.array("<i4", (n_pruned, 2), "index of pruned n-grams")
    dictionary = FastTextDictionary(
        names,
        offsets,
        n_words,
        bucket=arguments["bucket"],
        word_ngrams=arguments["wordNgrams"],
        min_n=arguments["minn"],
        max_n=arguments["maxn"],
        pruned=pruned,
    )
    return dictionary, label_counts


def _read_dense(reader: _Reader, what: str) -> NDArray[np.float32]:
    shape = reader.numbers("qq", what)
    return reader.array("<f4", shape, what)


def _read_quantized(reader: _Reader, what: str) -> Quantized:
    has_norms, n_rows, n_columns, n_codes = reader.numbers("?qqi", what)
    codes = reader.array("u1", (n_codes,), what)
    n_parts, part, centroids = _read_centroids(reader, n_columns, what)
    if n_rows < 0 or n_codes != n_rows * n_parts:
        raise ValueError(f"its {what} has {n_codes} codes for {n_rows} rows of {n_parts}")
    norm_codes = norms = None
    if has_norms:
        norm_codes = reader.array("u1", (n_rows,), what)
        norms = _read_centroids(reader, 1, what)[2][:, 0]
    return Quantized(codes.reshape(n_rows, n_parts), centroids, part, norm_codes, norms)


def _read_centroids(reader: _Reader, n_columns: int, what: str) -> tuple[int, int, NDArray[np.float32]]:
    """Return the number of parts, the columns of each, and the centroids of all parts side by side."""
    width, n_parts, part, last = reader.numbers("4i", what)
    if width < 1 or width != n_columns or part < 1 or n_parts != -(-width // part) or last != (width - 1) % part + 1:
        raise ValueError(f"its {what} has {n_parts} parts of {part} columns for {n_columns}")
    stored = reader.array("<f4", (_N_CENTROIDS * width,), what)
    centroids = np.empty((_N_CENTROIDS, width), dtype=np.float32)
    for at in range(n_parts):
        columns = slice(at * part, min((at + 1) * part, width))
        size = columns.stop - columns.start
        start = at * _N_CENTROIDS * part
        centroids[:, columns] = stored[start : start + _N_CENTROIDS * size].reshape(_N_CENTROIDS, size)
    return n_parts, part, centroids
