"""A module's weights as arrays, its mostly untouched tables by the rows that were trained, and back again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sklearn_hashnlp.persistence._precision import TABLE_VALUES

_BLOCK = 2**18
_EXTRA = "._extra_state"


def module_to_arrays(module: nn.Module, tables: Mapping[str, float]) -> dict[str, NDArray[Any]]:
    """Return all weights as arrays; of the tables, given with their initial values, only the rows that were trained."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, tensor in module.state_dict().items():
        array = tensor.detach().cpu().contiguous().numpy()
        arrays |= pack_table(name, array, tables[name]) if name in tables else {name: array.copy()}
    return arrays


def load_arrays(module: nn.Module, arrays: Mapping[str, NDArray[Any]], tables: Mapping[str, float]) -> None:
    """Load what :func:`module_to_arrays` returned into a module of the same kind whose tables are untouched."""
    with torch.no_grad():
        for name, tensor in module.state_dict().items():  # these share memory with the module
            if name in tables:
                table = tensor.cpu()  # the same memory where it is there already
                unpack_table(name, arrays, table.numpy())
                if tensor.device.type != "cpu":
                    tensor.copy_(table)
            elif name.endswith(_EXTRA):
                state = torch.from_numpy(np.array(arrays[name]))
                module.get_submodule(name.removesuffix(_EXTRA)).set_extra_state(state)
            else:
                _check_shape(name, arrays[name], tuple(tensor.shape))
                if tensor.is_floating_point() != (arrays[name].dtype.kind == "f"):
                    raise ValueError(
                        f"The array {name!r} is of {arrays[name].dtype}, and the model has {tensor.dtype}."
                    )
                tensor.copy_(torch.from_numpy(np.array(arrays[name])))


def check_shapes(module: nn.Module, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Compare the shapes of a module with those of stored arrays; of a table by its rows, only those of the columns."""
    for name, tensor in module.state_dict().items():
        shape = tuple(tensor.shape)
        if name in arrays and not name.endswith(_EXTRA):
            _check_shape(name, arrays[name], shape)
        values = arrays.get(f"{name}{TABLE_VALUES}")
        if values is not None:
            by_rows = f"{name}.rows" in arrays or f"{name}.bitmap" in arrays
            _check_shape(name, values, (len(values), *shape[1:]) if by_rows else shape)
        if f"{name}.bitmap" in arrays:
            _check_shape(f"{name}.bitmap", arrays[f"{name}.bitmap"], (-(-shape[0] // 8),))


def clear_tables(module: nn.Module, tables: Mapping[str, float]) -> None:
    """Put the initial value back into every row of the tables that was trained."""
    for name, initial in tables.items():
        table: Tensor = module.get_parameter(name).detach()
        for start in range(0, len(table), _BLOCK):  # in blocks, so that nothing table-sized is allocated
            block = table[start : start + _BLOCK]
            block[(block != initial).any(dim=1)] = initial


def pack_table(name: str, table: NDArray[Any], fill: float) -> dict[str, NDArray[Any]]:
    """Store a table by the rows that differ from its initial value, or whole if that is smaller."""
    # Bits are compared, so that -0.0 and NaN come back as they were; in blocks, so that nothing table-sized is made.
    unsigned = np.dtype(f"u{table.dtype.itemsize}")
    bits, untouched = table.view(unsigned), np.asarray(fill, dtype=table.dtype).view(unsigned)
    changed = [np.empty(0, dtype=np.uint32)]
    for start in range(0, len(table), _BLOCK):
        block = bits[start : start + _BLOCK]
        differs = (block != untouched).reshape(len(block), -1).any(axis=1)
        changed.append((start + np.flatnonzero(differs)).astype(np.uint32))
    rows = np.concatenate(changed)
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


def unpack_table(name: str, arrays: Mapping[str, NDArray[Any]], table: NDArray[Any]) -> None:
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
    _check_shape(name, stored, (n_rows, *table.shape[1:]))
    if stored.dtype != table.dtype:
        raise ValueError(f"The table {name!r} must be of {table.dtype}, the stored one is of {stored.dtype}.")
    table[rows] = stored


def _check_shape(name: str, stored: NDArray[Any], expected: tuple[int, ...]) -> None:
    if stored.shape != expected:
        raise ValueError(f"The array {name!r} must have shape {expected}, the stored one has {stored.shape}.")
