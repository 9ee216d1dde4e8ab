"""fastText's .bin and .ftz files: the arguments, the dictionary and the two matrices."""

from __future__ import annotations

import math
import mmap
import os
import struct
import warnings
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._posix import available_memory
from sklearn_hashnlp.persistence._atomic_files import replacing
from sklearn_hashnlp.persistence._values import ModelFormatError, is_finite
from sklearn_hashnlp.text._fasttext_dictionary import LABEL_PREFIX, FastTextDictionary

# The parts of a file in their order, in the formats of struct; all numbers are little-endian.
HEADER: Final = "ii"  # the magic number and the version
ARGUMENTS: Final = "12id"  # the values of ARGUMENT_NAMES
SIZES: Final = "iiiqq"  # entries, words, labels, tokens, and pruned n-grams or -1
# An entry's numbers, after its name and a NUL
ENTRY: Final = np.dtype([("count", "<i8"), ("kind", "u1")])
DENSE: Final = "qq"  # rows and columns; the values follow as float32
# whether norms follow, rows, columns and codes; one byte for each code follows
QUANTIZED: Final = "?qqi"
# columns, parts, columns of a part, columns of the last part; float32 follows
CENTROIDS: Final = "4i"

MAGIC: Final = 793712314
NEWEST_VERSION: Final = 12
ARGUMENT_NAMES: Final = (
    *(
        "dim",
        "ws",
        "epoch",
        "minCount",
        "neg",
        "wordNgrams",
        "loss",
        "model",
        "bucket",
        "minn",
        "maxn",
    ),
    *("lrUpdateRate", "t"),
)
LOSSES: Final = {1: "hs", 2: "ns", 3: "softmax", 4: "ova"}
MODELS: Final = {1: "cbow", 2: "skipgram", 3: "supervised"}
WORD: Final = 0  # kinds of entries
LABEL: Final = 1

_DEFAULTS: Final = {"ws": 5, "epoch": 5, "minCount": 1, "neg": 5, "lrUpdateRate": 100, "t": 1e-4}
_MAX_COUNT = 10**15  # of a label; fastText's tree takes it for infinity
_MAX_BYTES = 2**28  # of labels, and of a quantized matrix if it is 100 times larger than the file
_MAX_GROWTH = 100

# Product quantization: each two columns of a row become one byte, the number of a centroid.
_N_CENTROIDS = 256
_PART = 2  # columns of a part; the last may have one
_MAX_SAMPLE = 2**16  # of a sample from which centroids are computed, as in fastText
_ITERATIONS = 25
_BLOCK = 2**20  # rows that are compared with the centroids at once


@dataclass(frozen=True)
class FastTextFile:
    """The content of a supervised model's file; a quantized matrix is computed from its codes."""

    # Arguments by fastText's names; missing ones are written with its defaults.
    arguments: dict[str, Any]
    dictionary: FastTextDictionary
    labels: NDArray[np.str_]  # (n_labels,): in the order of the file, without prefix
    label_counts: NDArray[np.int64]  # (n_labels,)
    inputs: NDArray[np.float32]  # (n_rows, dim)
    output: NDArray[np.float32]  # (n_labels, dim)


def read_fasttext(path: str | os.PathLike[str]) -> FastTextFile:
    """Read a supervised model's file; compare sizes with the file's size before allocation."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(
            f"{path} is a folder, not a model of fastText: expected a .bin or .ftz file. A folder "
            "of this package is read by load_model."
        )
    with path.open("rb") as file:
        try:
            return _read_model(_Reader(file, path))
        except (EOFError, ValueError) as error:
            if isinstance(error, ModelFormatError):
                raise
            raise ModelFormatError(
                f"{path} is damaged or not a model of fastText: {error}."
            ) from error
        except MemoryError as error:
            raise ModelFormatError(
                f"{path} does not fit into memory, or is damaged. {error}"
            ) from error


class _Reader:
    """Numbers and arrays of a file; never reads beyond its end."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.path = path
        self._file = file
        self.size = self.left = os.fstat(file.fileno()).st_size

    def _check(self, n: int, what: str) -> None:
        if not 0 <= n <= self.left:
            raise EOFError(f"its {what} would take {n:,} bytes, and {self.left:,} are left")

    def numbers(self, form: str, what: str) -> tuple[Any, ...]:
        """Read numbers of a format of :mod:`struct`."""
        n = struct.calcsize(f"<{form}")
        self._check(n, what)
        self.left -= n
        return struct.unpack(f"<{form}", self._file.read(n))

    def array(self, dtype: str, shape: tuple[int, ...], what: str) -> NDArray[Any]:
        """Read an array of finite numbers."""
        if min(shape) < 0:
            raise ValueError(f"its {what} has a negative size")
        self._check(math.prod(shape) * np.dtype(dtype).itemsize, what)
        array = np.empty(shape, dtype=dtype)
        # BufferedReader has ``readinto``.
        if self._file.readinto(array.reshape(-1).view(np.uint8)) < array.nbytes:  # type: ignore[attr-defined]
            raise EOFError(f"it ends within its {what}")
        self.left -= array.nbytes
        if not is_finite(array):
            raise ValueError(f"its {what} has infinite values or NaN")
        return array.astype(array.dtype.newbyteorder("="), copy=False)

    def entries(self, n: int) -> tuple[list[bytes], NDArray[Any]]:
        """Read the names of the entries of a dictionary, and their counts and kinds."""
        names = []
        tails = []
        at = self.size - self.left
        with mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            for _ in range(n):
                end = content.find(b"\0", at)
                if end < 0 or end + 1 + ENTRY.itemsize > self.size:
                    raise EOFError("it ends within its dictionary")
                names.append(content[at:end])
                at = end + 1 + ENTRY.itemsize
                tails.append(content[end + 1 : at])
        self._file.seek(at)
        self.left = self.size - at
        return names, np.frombuffer(b"".join(tails), dtype=ENTRY)


def _read_model(reader: _Reader) -> FastTextFile:
    arguments = _read_arguments(reader)
    dictionary, names, label_counts = _read_dictionary(reader, arguments)
    is_quantized = reader.numbers("?", "matrices")[0]
    if not is_quantized and dictionary.pruned is not None:
        raise ValueError("its dictionary was pruned, but its input matrix was not quantized")
    inputs = _read_matrix(reader, "input matrix", is_quantized)
    output = _read_matrix(
        reader, "output matrix", reader.numbers("?", "output matrix")[0] and is_quantized
    )
    if output.shape[0] != len(label_counts):
        raise ValueError(
            f"its output matrix has {output.shape[0]} rows for {len(label_counts)} labels"
        )
    dim = arguments["dim"]
    if inputs.shape[1] != dim or output.shape[1] != dim:
        raise ValueError(
            f"its matrices have {inputs.shape[1]} and {output.shape[1]} columns, and its dimension "
            f"is {dim}"
        )
    dictionary.check(inputs.shape[0])
    if dictionary.n_rows == 0:
        raise ValueError("it has no words and no n-grams")
    return FastTextFile(arguments, dictionary, names, label_counts, inputs, output)


def _read_arguments(reader: _Reader) -> dict[str, Any]:
    path = reader.path
    if (
        reader.left < struct.calcsize(HEADER)
        or (head := reader.numbers(HEADER, "header"))[0] != MAGIC
    ):
        raise ModelFormatError(
            f"{path} is not a model of fastText: expected a .bin or .ftz file. A .vec file, of "
            "word vectors, is read by load_word_vectors, and a model of this package by "
            "load_model."
        )
    version = head[1]
    if version > NEWEST_VERSION:
        raise ModelFormatError(
            f"{path} has version {version} of fastText's format; the newest known one is "
            f"{NEWEST_VERSION}."
        )
    arguments: dict[str, Any] = dict(
        zip(ARGUMENT_NAMES, reader.numbers(ARGUMENTS, "arguments"), strict=True)
    )
    loss, model = LOSSES.get(arguments["loss"]), MODELS.get(arguments["model"])
    if loss is None or model is None:
        raise ValueError(
            f"its loss is {arguments['loss']} and its model {arguments['model']}, which fastText "
            "lacks"
        )
    if model != "supervised":
        raise ModelFormatError(
            f"{path} is a {model} model of fastText: word vectors, which predict no labels. Read "
            "the vectors of its words from the .vec file that fastText writes beside it: "
            f"load_word_vectors({str(path.with_suffix('.vec'))!r})."
        )
    if arguments["dim"] < 1:
        raise ValueError(f"its vectors have {arguments['dim']} dimensions")
    if version == 11:  # supervised models of this version had no character n-grams
        arguments["maxn"] = 0
    return arguments | {"loss": loss, "model": model, "version": version}


def _read_dictionary(
    reader: _Reader, arguments: dict[str, Any]
) -> tuple[FastTextDictionary, NDArray[np.str_], NDArray[np.int64]]:
    """Return the dictionary, and the names and the counts of the labels."""
    n_entries, n_words, n_labels, _, n_pruned = reader.numbers(SIZES, "dictionary")
    if (
        n_words < 0
        or n_labels < 1
        or n_entries != n_words + n_labels
        or n_entries * 10 > reader.left
    ):
        raise ValueError(
            f"its dictionary has {n_entries} entries, {n_words} words and {n_labels} labels"
        )
    entries, tails = reader.entries(n_entries)
    if (tails["kind"][:n_words] != WORD).any() or (tails["kind"][n_words:] != LABEL).any():
        raise ValueError("its dictionary has words among the labels, or types that are unknown")
    label_counts = tails["count"][n_words:].astype(np.int64)
    if (label_counts < 0).any() or (label_counts >= _MAX_COUNT).any():
        raise ValueError("a label has a count that is negative or too large")
    dictionary = FastTextDictionary.of_entries(
        entries,
        tails["count"],
        n_words,
        bucket=arguments["bucket"],
        word_ngrams=arguments["wordNgrams"],
        min_n=arguments["minn"],
        max_n=arguments["maxn"],
        pruned=reader.array("<i4", (n_pruned, 2), "index of pruned n-grams")
        if n_pruned >= 0
        else None,
    )
    labels = [label.removeprefix(LABEL_PREFIX) for label in dictionary.entries(n_words, n_entries)]
    name, repeats = Counter(labels).most_common(1)[0]
    if repeats > 1:
        raise ValueError(f"two labels have the name {name!r}")
    n_bytes = 4 * n_labels * max(map(len, labels))  # numpy's strings are as wide as the longest
    if n_bytes > _MAX_BYTES:
        raise ValueError(
            f"an array of its {n_labels:,} labels, some very long, would take {n_bytes:,} bytes"
        )
    return dictionary, np.array(labels), label_counts


def _read_matrix(reader: _Reader, what: str, is_quantized: bool) -> NDArray[np.float32]:
    if not is_quantized:
        return reader.array("<f4", reader.numbers(DENSE, what), what)
    has_norms, n_rows, n_columns, n_codes = reader.numbers(QUANTIZED, what)
    codes = reader.array("u1", (n_codes,), what)
    part, centroids = _read_centroids(reader, n_columns, what)
    n_parts = len(range(0, n_columns, part))
    if n_rows < 0 or n_codes != n_rows * n_parts:
        raise ValueError(f"its {what} has {n_codes} codes for {n_rows} rows of {n_parts}")
    norm_codes = norms = None
    if has_norms:
        norm_codes, norms = reader.array("u1", (n_rows,), what), _read_centroids(reader, 1, what)[1]
    _check_memory(4 * n_rows * n_columns, reader.size, what)
    matrix = np.empty((n_rows, n_columns), dtype=np.float32)
    for start, part_codes in zip(
        range(0, n_columns, part), codes.reshape(n_rows, n_parts).T, strict=True
    ):
        matrix[:, start : start + part] = centroids[part_codes, start : start + part]
    if norms is not None:
        with np.errstate(over="ignore"):
            matrix *= norms[norm_codes]
        if not is_finite(matrix):
            raise ValueError(f"its {what} has infinite values")
    return matrix


def _read_centroids(reader: _Reader, n_columns: int, what: str) -> tuple[int, NDArray[np.float32]]:
    """Return the columns of a part, and the centroids of all parts, shape (256, n_columns)."""
    width, n_parts, part, last = reader.numbers(CENTROIDS, what)
    if (
        width < 1
        or width != n_columns
        or part < 1
        or n_parts != -(-width // part)
        or last != (width - 1) % part + 1
    ):
        raise ValueError(f"its {what} has {n_parts} parts of {part} columns for {n_columns}")
    stored = reader.array("<f4", (_N_CENTROIDS * width,), what)
    ends = range(_N_CENTROIDS * part, len(stored), _N_CENTROIDS * part)
    return part, np.hstack([values.reshape(_N_CENTROIDS, -1) for values in np.split(stored, ends)])


def _check_memory(n_bytes: int, file_size: int, what: str) -> None:
    """Raise an error if a quantized matrix is too large for the file, or for the memory."""
    if n_bytes > max(_MAX_BYTES, _MAX_GROWTH * file_size):
        raise ValueError(f"its {what} would take {n_bytes:,} bytes")
    free = available_memory()
    if free is not None and n_bytes > free:
        raise MemoryError(
            f"Its {what} is quantized and takes {n_bytes / 1e9:.1f} GB as float32; "
            f"{free / 1e9:.1f} GB are free. Free memory, or prune the model by fastText's quantize "
            "with a cutoff."
        )


def write_fasttext(content: FastTextFile, path: str | os.PathLike[str]) -> None:
    """Write a file for fastText, replacing atomically; an ``.ftz`` input matrix is quantized."""
    path = Path(path)
    quantized = quantize(content.inputs) if path.suffix == ".ftz" else None
    dictionary, arguments = content.dictionary, _DEFAULTS | content.arguments
    n_words, n_labels = dictionary.n_words, len(content.labels)
    arguments |= {
        "dim": content.inputs.shape[1],
        "wordNgrams": dictionary.word_ngrams,
        "loss": next(number for number, name in LOSSES.items() if name == arguments["loss"]),
        "model": next(number for number, name in MODELS.items() if name == "supervised"),
        "bucket": dictionary.bucket if dictionary.hashes_ngrams else 0,
        "minn": dictionary.min_n,
        "maxn": dictionary.max_n,
    }
    names, counts = (
        dictionary.names.tobytes(),
        [*dictionary.counts[:n_words].tolist(), *content.label_counts.tolist()],
    )
    ends = dictionary.offsets[: n_words + 1].tolist()
    entries = [names[start:stop] for start, stop in pairwise(ends)]
    entries += [
        f"{LABEL_PREFIX}{label}".encode("utf-8", "surrogateescape")
        for label in content.labels.tolist()
    ]
    with replacing(path) as unfinished, unfinished.open("wb") as file:
        file.write(struct.pack(f"<{HEADER}", MAGIC, NEWEST_VERSION))
        file.write(struct.pack(f"<{ARGUMENTS}", *(arguments[name] for name in ARGUMENT_NAMES)))
        n_pruned = -1 if dictionary.pruned is None else len(dictionary.pruned)
        file.write(struct.pack(f"<{SIZES}", len(entries), n_words, n_labels, sum(counts), n_pruned))
        for index, (entry, count) in enumerate(zip(entries, counts, strict=True)):
            tail = np.array((count, WORD if index < n_words else LABEL), dtype=ENTRY)
            file.write(entry + b"\0" + tail.tobytes())
        if dictionary.pruned is not None:
            file.write(dictionary.pruned.astype("<i4").tobytes())
        if quantized is None:
            _write_dense(file, content.inputs)
        else:
            codes, centroids = quantized
            widths = [part.shape[1] for part in centroids]
            file.write(
                struct.pack(f"<?{QUANTIZED}", True, False, len(codes), sum(widths), codes.size)
                + codes.tobytes()
            )
            file.write(
                struct.pack(f"<{CENTROIDS}", sum(widths), len(widths), widths[0], widths[-1])
            )
            for part in centroids:
                file.write(part.astype("<f4").tobytes())
        _write_dense(file, content.output)


def _write_dense(file: BinaryIO, matrix: NDArray[np.float32]) -> None:
    file.write(struct.pack(f"<?{DENSE}", False, *matrix.shape))
    file.write(np.ascontiguousarray(matrix, dtype="<f4").data)


def quantize(matrix: NDArray[np.float32]) -> tuple[NDArray[np.uint8], list[NDArray[np.float32]]]:
    """Quantize a matrix: return codes (n_rows, n_parts) and centroids of each part (256, columns).

    Rows that were never trained are zero in the columns that are not constant: the first centroid
    is their value. The others are those of k-means of the other rows.
    """
    from scipy.cluster.vq import vq

    varies = matrix.min(axis=0, initial=np.inf) != matrix.max(axis=0, initial=-np.inf)
    trained = (
        np.flatnonzero(matrix[:, varies].any(axis=1)) if varies.any() else np.arange(len(matrix))
    )
    untrained = np.where(varies | (len(matrix) == 0), 0, matrix[:1].sum(axis=0))
    sample = trained
    if len(trained) > _MAX_SAMPLE:
        sample = np.sort(np.random.default_rng(0).choice(trained, _MAX_SAMPLE, replace=False))
    parts = range(0, matrix.shape[1], _PART)
    codes, centroids = np.zeros((len(matrix), len(parts)), dtype=np.uint8), []
    for index, start in enumerate(parts):
        columns = slice(start, start + _PART)
        part = np.ascontiguousarray(matrix[:, columns])
        centroids.append(_centroids(part[sample], untrained[columns]))
        for first in range(0, len(part), _BLOCK):
            codes[first : first + _BLOCK, index] = vq(part[first : first + _BLOCK], centroids[-1])[
                0
            ]
    return codes, centroids


def _centroids(points: NDArray[np.float32], first: NDArray[np.float32]) -> NDArray[np.float32]:
    from scipy.cluster.vq import kmeans2

    found = np.tile(first.astype(np.float32), (_N_CENTROIDS, 1))
    distinct = np.unique(points, axis=0)
    if len(distinct) >= _N_CENTROIDS:
        initial = distinct[
            np.random.default_rng(0).choice(len(distinct), _N_CENTROIDS - 1, replace=False)
        ]
        with warnings.catch_warnings():
            # a cluster without members keeps its centroid
            warnings.simplefilter("ignore", UserWarning)
            distinct = kmeans2(points, initial, iter=_ITERATIONS, minit="matrix")[0]
    found[1 : 1 + len(distinct)] = distinct
    return found
