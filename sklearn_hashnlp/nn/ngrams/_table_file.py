"""Tables of rows in a safetensors file: written in blocks, mapped into memory, read row by row."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from sklearn_hashnlp._posix import flush_to_disk, map_file
from sklearn_hashnlp._threads import map_blocks
from sklearn_hashnlp.kernels._rows import group_rows, take_rows

_KEY = "sklearn-hashnlp n-gram table"  # a single key, since safetensors writes keys in random order
_BLOCK_BYTES = 2**24  # of rows that are converted and written together
_ALIGNMENT = 64  # bytes: rows start in as few cache lines as they can
_TYPES: Final = {"float32": ("F32", "<f4"), "float16": ("F16", "<f2"), "int8": ("U8", "u1")}
_DTYPES: Final = {code: np.dtype(dtype) for code, dtype in _TYPES.values()}
_SCALE_BYTES = 4  # of the float32 number at the start of an int8 row
_MAX_HEADER = 2**26
_N_READERS, _MIN_ROWS = 16, 256  # threads that wait for the disk, and rows that are worth one


class TableRows(NamedTuple):
    """Rows of a file, and the n-grams that they belong to."""

    table: NDArray[np.float32]  # (n_distinct, n_columns)
    signs: NDArray[np.float32]  # (n_values,)
    rows: NDArray[np.int32]  # (n_values,): of importance weights
    slots: NDArray[np.int32]  # (n_values, k): rows of ``table``
    offsets: NDArray[np.int64]


class TableFile:
    """A table that stays in its file; each row that is read touches one place of it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        size = self.path.stat().st_size
        with self.path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            try:
                header: dict[str, Any] = json.loads(file.read(length) if length <= min(_MAX_HEADER, size) else "null")
                self.description = json.loads(header.pop("__metadata__")[_KEY])
                entry = header.pop("weight")
                self._shape, self._start = tuple(entry["shape"]), 8 + length + entry["data_offsets"][0]
                self._dtype = _DTYPES[entry["dtype"]]
                n_bytes = 8 + length + max(item["data_offsets"][1] for item in (entry, *header.values()))
                complete = size == n_bytes and math.prod(self._shape) * self._dtype.itemsize == (
                    entry["data_offsets"][1] - entry["data_offsets"][0]
                )
            except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
                raise ValueError(
                    f"{self.path} is not a table of n-grams: expected a file of NgramHashEmbedding.save_table."
                ) from error
            if not complete:
                raise ValueError(
                    f"{self.path} is truncated or damaged: its header describes another table than its {size} bytes. "
                    "Copy it again."
                )
            self.others: dict[str, NDArray[Any]] = {}
            for name, item in header.items():
                file.seek(8 + length + item["data_offsets"][0])
                array = np.frombuffer(file.read(item["data_offsets"][1] - item["data_offsets"][0]), dtype="<f4")
                self.others[name] = array.reshape(item["shape"]).copy()

    @cached_property
    def rows(self) -> NDArray[np.uint8]:
        """The bytes of the rows, mapped into memory when they are first read, of shape (n_rows, n_bytes)."""
        shape = self._shape[0], self._shape[1] * self._dtype.itemsize
        return np.frombuffer(map_file(self.path), np.uint8, math.prod(shape), self._start).reshape(shape)

    def read(
        self,
        signs: NDArray[np.float32],
        rows: NDArray[np.int32],
        slots: NDArray[np.int32],
        offsets: NDArray[np.int64],
    ) -> TableRows:
        """Read the rows of n-grams, each once."""
        order, starts, distinct = group_rows(slots.reshape(-1), self._shape[0])
        local = np.empty(slots.size, dtype=np.int32)
        local[order] = np.repeat(np.arange(len(distinct), dtype=np.int32), np.diff(starts))
        stored, table = np.empty((len(distinct), self.rows.shape[1]), dtype=np.uint8), self.rows

        def take(block: slice) -> None:
            take_rows(table, distinct[block], stored[block])

        map_blocks(take, len(distinct), _N_READERS, min_rows=_MIN_ROWS)
        return TableRows(_to_float32(stored.view(self._dtype)), signs, rows, local.reshape(slots.shape), offsets)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the mapped rows: another process maps them itself."""
        return {name: value for name, value in self.__dict__.items() if name != "rows"}


def _to_float32(rows: NDArray[Any]) -> NDArray[np.float32]:
    """Return stored rows as numbers."""
    if rows.dtype != np.uint8:
        return rows.astype(np.float32, copy=False)
    scales: NDArray[np.float32] = np.ascontiguousarray(rows[:, :_SCALE_BYTES]).view("<f4")
    numbers: NDArray[np.float32] = rows[:, _SCALE_BYTES:].view(np.int8) * scales
    return numbers


def _to_stored(rows: NDArray[np.float32], dtype: str) -> NDArray[Any]:
    if dtype != "int8":
        return rows.astype(_TYPES[dtype][1])
    scales = np.abs(rows).max(axis=1, initial=0, keepdims=True) / np.float32(127)
    numbers = np.rint(rows / np.where(scales > 0, scales, 1)).astype(np.int8)
    return np.hstack([scales.astype("<f4").view(np.uint8), numbers.view(np.uint8)])


def write_table(
    path: str | os.PathLike[str],
    weight: Tensor,  # (n_rows, n_columns)
    others: dict[str, Tensor],
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
                file.write(np.ascontiguousarray(tensor.numpy(), dtype="<f4").data)
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
