"""Tables of rows in a safetensors file: written in blocks, mapped into memory, read row by row."""

from __future__ import annotations

import json
import math
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sklearn_hashnlp._posix import flush_to_disk, map_file
from sklearn_hashnlp._threads import map_blocks, run_beside
from sklearn_hashnlp.kernels._rows import group_rows, take_rows
from sklearn_hashnlp.kernels.embeddings._ngram_rows import NgramRows

_KEY = "sklearn-hashnlp n-gram table"  # a single key, since safetensors writes keys in random order
_BLOCK_BYTES = 2**24  # of rows that are converted and written together
_ALIGNMENT = 64  # bytes: rows start in as few cache lines as they can
_TYPES: Final = {"float32": ("F32", "<f4"), "float16": ("F16", "<f2"), "int8": ("U8", "u1")}
_DTYPES: Final = {code: np.dtype(dtype) for code, dtype in _TYPES.values()}
_LARGEST: Final = {"float32": np.finfo(np.float32).max, "float16": 65504.0, "int8": np.finfo(np.float32).max}
_SCALE_BYTES = 4  # of the float32 number at the start of an int8 row
_MAX_HEADER = 2**26
_N_READERS, _MIN_ROWS = 16, 256  # threads that wait for the disk, and rows that are worth one


Inputs: TypeAlias = tuple[Tensor, Tensor | None]  # ids and starts
Read: TypeAlias = tuple[NDArray[np.float32], NgramRows]  # distinct rows, and n-grams with positions in them as slots


class TableFile:
    """A table that stays in its file; each row that is read touches one place of it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._prefetched: deque[tuple[Inputs, int, Future[Read]]] = deque(maxlen=2)
        with self.path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            length = int.from_bytes(file.read(8), "little")
            with named(self.path):
                self._header = file.read(length) if 2 <= length <= min(_MAX_HEADER, size) else b"null"
                header = json.loads(self._header)
                self.description: dict[str, str] = json.loads(header.pop("__metadata__")[_KEY])
                self._dtype = _DTYPES[header["weight"]["dtype"]]
                dtypes = {name: self._dtype if name == "weight" else np.dtype("<f4") for name in header}
                self._shapes = {name: tuple(item["shape"]) for name, item in header.items()}
                ends = [0]
                for name, item in header.items():
                    n_bytes = math.prod(self._shapes[name]) * dtypes[name].itemsize
                    if item["data_offsets"] != [ends[-1], ends[-1] + n_bytes]:
                        raise ValueError(f"the offsets of {name!r} do not match its shape")
                    ends.append(ends[-1] + n_bytes)
            if size != 8 + length + ends[-1]:
                raise ValueError(
                    f"{self.path} is truncated or damaged: its header describes {8 + length + ends[-1]} bytes, but it "
                    f"has {size}. Copy it again."
                )
            content = np.frombuffer(map_file(file), np.uint8)[8 + length :]
        parts = {name: content[start:end] for name, start, end in zip(header, ends, ends[1:], strict=False)}
        self.rows = parts.pop("weight").reshape(self._shapes["weight"][0], -1)  # bytes, mapped into memory
        self.others = {name: part.copy().view("<f4").reshape(self._shapes[name]) for name, part in parts.items()}

    def check_shapes(self, shapes: dict[str, tuple[int, ...]]) -> None:
        """Check that the file has the arrays of a layer."""
        n_rows, n_columns = shapes["weight"]
        stored = {"weight": (n_rows, n_columns + (_SCALE_BYTES if self._dtype == np.uint8 else 0))}
        if self._shapes != shapes | stored:
            raise ValueError(
                f"{self.path} is damaged: it has arrays of the shapes {self._shapes}, but its layer has "
                f"{shapes | stored}. Copy it again."
            )

    def read(self, ngrams: NgramRows) -> Read:
        """Read the rows of n-grams, each once."""
        order, starts, distinct = group_rows(ngrams.slots.reshape(-1), len(self.rows))
        local = np.empty(ngrams.slots.size, dtype=np.int32)
        local[order] = np.repeat(np.arange(len(distinct), dtype=np.int32), np.diff(starts))
        stored = np.empty((len(distinct), self.rows.shape[1]), dtype=np.uint8)

        def take(block: slice) -> None:
            take_rows(self.rows, distinct[block], stored[block])

        map_blocks(take, len(distinct), _N_READERS, min_rows=_MIN_ROWS)
        return _to_float32(stored.view(self._dtype)), ngrams._replace(slots=local.reshape(ngrams.slots.shape))

    def prefetch(self, inputs: Inputs, locate: Callable[[], NgramRows]) -> None:
        """Read the rows of n-grams on another thread."""
        self._prefetched.append((inputs, os.getpid(), run_beside(lambda: self.read(locate()))))

    def prefetched(self, inputs: Inputs) -> Read | None:
        """Return the rows that were prefetched for the same inputs, if any."""
        for known, process, future in self._prefetched:
            if process == os.getpid() and all(map(_are_equal, known, inputs)):  # a fork has no thread of its parent
                return future.result()
        return None

    def __getstate__(self) -> tuple[Path, bytes]:
        """Return what another process needs to open the same file."""
        return self.path, self._header

    def __setstate__(self, state: tuple[Path, bytes]) -> None:
        """Open the file, which must not have become another table."""
        path, header = state
        TableFile.__init__(self, path)
        if self._header != header:
            raise ValueError(f"{path} is another table than when the layer was pickled. Open it by from_file.")


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Name the file in errors about its content."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        raise ValueError(
            f"{path} is not a table of n-grams as NgramHashEmbedding.save_table writes them: {error!r}"
        ) from error


def _are_equal(a: Tensor | None, b: Tensor | None) -> bool:
    return a is b is None or (a is not None and b is not None and torch.equal(a, b))


def _to_float32(rows: NDArray[Any]) -> NDArray[np.float32]:
    """Return stored rows as numbers."""
    if rows.dtype != np.uint8:
        return rows.astype(np.float32, copy=False)
    scales: NDArray[np.float32] = np.ascontiguousarray(rows[:, :_SCALE_BYTES]).view("<f4")
    numbers: NDArray[np.float32] = rows[:, _SCALE_BYTES:].view(np.int8) * scales
    return numbers


def _to_stored(rows: NDArray[np.float32], dtype: str) -> NDArray[Any]:
    largest = np.abs(rows).max(axis=1, initial=0, keepdims=True)
    if not (largest <= _LARGEST[dtype]).all():
        raise ValueError(
            f"NgramHashEmbedding: the table has numbers that {dtype} cannot hold: NaN, infinite or larger than "
            f"{_LARGEST[dtype]:.4g}."
        )
    if dtype != "int8":
        return np.ascontiguousarray(rows, dtype=_TYPES[dtype][1])
    scales = largest / np.float32(127)
    numbers = np.rint(rows / np.where(scales > 0, scales, 1)).astype(np.int8)
    return np.hstack([scales.astype("<f4").view(np.uint8), numbers.view(np.uint8)])


def write_table(
    path: str | os.PathLike[str],
    weight: Tensor,  # (n_rows, n_columns)
    others: Mapping[str, Tensor],
    description: dict[str, str],
    dtype: str,
) -> None:
    """Write a table and smaller tensors to a safetensors file, which is replaced once all is written."""
    if dtype not in _TYPES:
        raise ValueError(f"NgramHashEmbedding: dtype must be one of {tuple(_TYPES)}, got {dtype!r}.")
    path = Path(path)
    n_rows, n_columns = weight.shape
    shape = [n_rows, n_columns + (_SCALE_BYTES if dtype == "int8" else 0)]
    code, stored = _TYPES[dtype]
    end = shape[0] * shape[1] * np.dtype(stored).itemsize
    header: dict[str, Any] = {"__metadata__": {_KEY: json.dumps(description)}}
    header["weight"] = {"dtype": code, "shape": shape, "data_offsets": [0, end]}
    for name, tensor in others.items():
        start, end = end, end + 4 * tensor.numel()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    unfinished = path.with_name(f"{path.name}.unfinished-{os.getpid()}")
    try:
        with unfinished.open("wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for block in _blocks(weight):
                file.write(_to_stored(block, dtype).data)
            for tensor in others.values():
                file.write(np.ascontiguousarray(tensor.detach().cpu().float().numpy(), dtype="<f4").data)
        flush_to_disk(unfinished)
        unfinished.replace(path)
    except OSError as error:
        raise OSError(error.errno, f"the table cannot be written ({error.strerror})", str(path)) from error
    finally:
        with suppress(OSError):
            unfinished.unlink()


def _blocks(weight: Tensor) -> Iterator[NDArray[np.float32]]:
    n_rows = max(_BLOCK_BYTES // (4 * weight.shape[1]), 1)
    for start in range(0, len(weight), n_rows):
        yield weight[start : start + n_rows].detach().cpu().float().numpy()
