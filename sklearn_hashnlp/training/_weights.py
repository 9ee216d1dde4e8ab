"""A module's weights as arrays, with the trained rows of tables only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from sklearn_hashnlp.persistence._tables import check_shape, check_stored, pack_table, unpack_table

_BLOCK = 2**18
_EXTRA = "._extra_state"


def module_to_arrays(module: nn.Module, tables: Mapping[str, float]) -> dict[str, NDArray[Any]]:
    """Return all weights; of ``tables``, given with their initial values, only the trained rows."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, tensor in module.state_dict().items():
        array = tensor.detach().cpu().contiguous().numpy()
        arrays |= pack_table(name, array, tables[name]) if name in tables else {name: array.copy()}
    return arrays


def load_arrays(module: nn.Module, arrays: Mapping[str, NDArray[Any]], tables: Mapping[str, float]) -> None:
    """Load the result of :func:`module_to_arrays` into a module with untrained tables."""
    with torch.no_grad():
        for name, tensor in module.state_dict().items():  # these share memory with the module
            if name in tables:
                table = tensor.cpu()  # shares memory on the CPU
                unpack_table(name, arrays, table.numpy())
                if tensor.device.type != "cpu":
                    tensor.copy_(table)
            elif name.endswith(_EXTRA):
                state = torch.from_numpy(np.array(arrays[name]))
                module.get_submodule(name.removesuffix(_EXTRA)).set_extra_state(state)
            else:
                check_shape(name, arrays[name], tuple(tensor.shape))
                if tensor.is_floating_point() != (arrays[name].dtype.kind == "f"):
                    raise ValueError(
                        f"The array {name!r} is of {arrays[name].dtype}, and the model has {tensor.dtype}."
                    )
                tensor.copy_(torch.from_numpy(np.array(arrays[name])))


def check_shapes(module: nn.Module, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Compare the shapes of a module with stored arrays; of tables only the columns."""
    for name, tensor in module.state_dict().items():
        if not name.endswith(_EXTRA):
            check_stored(name, arrays, tuple(tensor.shape))
