"""A net and its tables as JSON values and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sklearn_hashnlp.persistence._precision import TABLE_VALUES


class RowModule(nn.Module):
    """A network that ends in a head and may begin with tables, of which a batch has few rows."""

    head: nn.Sequential  # the layers; all parameters that are in no table are theirs

    def tables(self) -> dict[str, Tensor]:
        """Return the tables."""
        return {}

    def clear_tables(self) -> None:
        """Put the initial value back into every row of the tables that was touched."""

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all weights as arrays."""
        return {name: tensor.detach().cpu().numpy().copy() for name, tensor in self.state_dict().items()}

    def load_arrays(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take back what :meth:`to_arrays` gave, in a module of the same kind whose tables are untouched."""
        for name, tensor in self.state_dict().items():  # these share memory with the module
            if arrays[name].shape != tuple(tensor.shape):
                raise ValueError(
                    f"The array {name!r} must have shape {tuple(tensor.shape)}, the stored one has "
                    f"{arrays[name].shape}."
                )
            tensor.copy_(torch.from_numpy(np.array(arrays[name])))


_BLOCK = 2**18


def pack_table(name: str, table: NDArray[Any], fill: float) -> dict[str, NDArray[Any]]:
    """Store a table by the rows that differ from its initial value, or whole if that is smaller."""
    # Bits are compared, so that -0.0 and NaN come back as they were; in blocks, so that nothing table-sized is made.
    unsigned = np.dtype(f"u{table.dtype.itemsize}")
    bits, untouched = table.view(unsigned), np.asarray(fill, dtype=table.dtype).view(unsigned)
    found = [np.empty(0, dtype=np.uint32)]
    for start in range(0, len(table), _BLOCK):
        block = bits[start : start + _BLOCK]
        differs = (block != untouched).reshape(len(block), -1).any(axis=1)
        found.append((start + np.flatnonzero(differs)).astype(np.uint32))
    rows = np.concatenate(found)
    bitmap_bytes = -(-len(table) // 8)
    if len(rows) * table[:1].nbytes + min(rows.nbytes, bitmap_bytes) >= table.nbytes:
        return {f"{name}{TABLE_VALUES}": table.copy()}
    if rows.nbytes <= bitmap_bytes:
        which: dict[str, NDArray[Any]] = {f"{name}.rows": rows}
    else:
        touched = np.zeros(len(table), dtype=bool)
        touched[rows] = True
        which = {f"{name}.bitmap": np.packbits(touched)}
    return which | {f"{name}{TABLE_VALUES}": table[rows]}


def unpack_table(name: str, arrays: dict[str, NDArray[Any]], table: NDArray[Any]) -> None:
    """Write a stored table over a fresh one."""
    stored = arrays[name] if name in arrays else arrays[f"{name}{TABLE_VALUES}"]
    rows: Any = slice(None)
    n_rows = len(table)
    if f"{name}.bitmap" in arrays:
        bitmap = arrays[f"{name}.bitmap"]
        if bitmap.dtype != np.uint8 or bitmap.shape != (-(-n_rows // 8),):
            raise ValueError(f"The bitmap of {name!r} must hold a bit for each of {n_rows} rows.")
        rows = np.flatnonzero(np.unpackbits(bitmap, count=n_rows))
        n_rows = len(rows)
    elif f"{name}.rows" in arrays:
        rows = arrays[f"{name}.rows"]
        n_rows = len(rows)
    expected = (n_rows, *table.shape[1:])
    if stored.shape != expected:
        raise ValueError(f"The array {name!r} must have shape {expected}, the stored one has {stored.shape}.")
    table[rows] = stored


def pack_labels(classes: NDArray[Any]) -> dict[str, Any]:
    """Turn class labels into JSON values."""
    values = [value.item() if isinstance(value, np.generic) else value for value in classes.tolist()]
    for value in values:
        if not isinstance(value, str | int | float):
            raise TypeError(
                f"Class labels of type {type(value).__name__!r} cannot be saved; "
                "use strings, integers, floats or bools."
            )
    return {"dtype": classes.dtype.str, "values": values}


def unpack_labels(packed: dict[str, Any]) -> NDArray[Any]:
    """Turn JSON values back into class labels."""
    return np.array(packed["values"], dtype=np.dtype(packed["dtype"]))
