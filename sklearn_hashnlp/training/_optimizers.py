"""The optimiser of a net, and what it has gathered as arrays."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from sklearn_hashnlp.nn._lazy_zeros import lazy_zeros
from sklearn_hashnlp.optim import RowwiseAdagrad, RowwiseAdam
from sklearn_hashnlp.training._state import RowModule, pack_table, unpack_table

OPTIMIZERS: Final[dict[str, Any]] = {"adagrad": RowwiseAdagrad, "adam": RowwiseAdam}
"""By the names that they have in a training plan."""

_OF_ONE_RUN = "average_offset"  # for the mean of the weights, which is taken when a training ends
_ADAGRAD_EPS = 1e-4  # damps the first steps of rare n-grams, whose gradients are small
_HIDDEN_SHARE = 0.1


def make_optimizer(
    module: RowModule, name: str, *, learning_rate: float, average_after: int | None = None
) -> RowwiseAdagrad | RowwiseAdam:
    """Make an optimiser that has gathered nothing yet."""
    names = module.tables().keys()
    tables = {"params": [parameter for key, parameter in module.named_parameters() if key in names]}
    head: dict[str, Any] = {"params": list(module.head.parameters())}
    groups = [tables, head] if names else [head]
    if name == "adam":
        return RowwiseAdam(groups, lr=learning_rate, average_after=average_after)
    if names and len(module.head) > 1:
        head["lr"] = learning_rate * _HIDDEN_SHARE
    return RowwiseAdagrad(groups, lr=learning_rate, eps=_ADAGRAD_EPS, average_after=average_after)


def transfer_state(old: torch.optim.Optimizer, new: torch.optim.Optimizer) -> None:
    """Let an optimiser go on with what another of its kind has gathered; one of another kind begins anew."""
    if type(old) is type(new):
        for parameter, state in old.state.items():
            new.state[parameter] = {key: value for key, value in state.items() if key != _OF_ONE_RUN}


def pack_optimizer(
    module: RowModule, optimizer: torch.optim.Optimizer
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what an optimiser has gathered; of a table only the rows that were trained."""
    arrays: dict[str, NDArray[Any]] = {}
    tables = module.tables()
    for name, parameter in module.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            if key == _OF_ONE_RUN:
                continue
            array = value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else np.array(value)
            full_name = f"{name}.{key}"
            arrays |= pack_table(full_name, array, 0.0) if name in tables else {full_name: array.copy()}
    name = next(name for name, kind in OPTIMIZERS.items() if isinstance(optimizer, kind))
    return {"optimizer": name}, arrays


def unpack_optimizer(
    module: RowModule, values: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> RowwiseAdagrad | RowwiseAdam:
    """Make an optimiser with what another had gathered."""
    if values["optimizer"] not in OPTIMIZERS:
        raise ValueError(f"The optimizer must be one of {tuple(OPTIMIZERS)}, got {values['optimizer']!r}.")
    optimizer = make_optimizer(module, values["optimizer"], learning_rate=0.0)
    tables = module.tables()
    for name, parameter in module.named_parameters():
        keys = {key[len(name) + 1 :].partition(".")[0] for key in arrays if key.startswith(f"{name}.")}
        for key in sorted(keys):
            optimizer.state[parameter][key] = _accumulator(f"{name}.{key}", arrays, parameter, is_table=name in tables)
    return optimizer


def _accumulator(name: str, arrays: dict[str, NDArray[Any]], parameter: torch.Tensor, *, is_table: bool) -> Any:
    if is_table:
        shape = (len(parameter), *arrays[f"{name}.values"].shape[1:])
        if shape[1:] not in ((), tuple(parameter.shape[1:])):
            raise ValueError(f"The array '{name}.values' must have rows of one number or of as many as the table's.")
        table = lazy_zeros(shape, dtype=parameter.dtype)
        unpack_table(name, arrays, table.numpy())
        return table.to(parameter.device)
    if arrays[name].shape == ():
        return arrays[name].item()
    # A tree's weights, whose gradients are sparse, may gather a number a row, and its biases have rows of one number.
    shapes = [tuple(parameter.shape), (len(parameter),), (len(parameter), 1)]
    if arrays[name].shape not in shapes:
        raise ValueError(f"The array {name!r} must have shape {shapes[0]}, it has {arrays[name].shape}.")
    return torch.from_numpy(np.array(arrays[name])).to(parameter.device)
