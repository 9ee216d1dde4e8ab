"""The optimiser of a language model's net, and what it has gathered as arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sklearn_hashnlp.estimators._model_state import pack_table, unpack_table
from sklearn_hashnlp.estimators._net_optimizer import OPTIMIZERS
from sklearn_hashnlp.nn import NPLM, RowwiseAdagrad, RowwiseAdam
from sklearn_hashnlp.nn._lazy_zeros import lazy_zeros

_PROJECTION = "embedding.linear.weight"
_PROJECTION_STEP = 1 / 3  # by measure: each word's step moves all other words' vectors a little
_DAMPING = 15  # gradients of single words; without it the first steps of rare words and nodes are as long as any


def make_language_optimizer(
    module: NPLM,
    name: str,
    learning_rate: float,
    *,
    n_words: int,
    bias_learning_rate: float = 1.0,
    direct_learning_rate: float = 1.0,
) -> RowwiseAdagrad | RowwiseAdam:
    """Make an optimiser that has gathered nothing yet."""
    parameters = dict(module.named_parameters())
    factors = {"hidden_layer.bias": bias_learning_rate, "output_layer.direct": direct_learning_rate}
    groups: list[dict[str, Any]] = [{"params": [parameters[key] for key in parameters if key not in factors]}]
    groups += [
        {"params": [parameters[key]], "lr": learning_rate * factor}
        for key, factor in factors.items()
        if key in parameters
    ]
    if name == "adam":
        return RowwiseAdam(groups, lr=learning_rate)
    if _PROJECTION in parameters:
        groups.append(_projection_group(groups[0]["params"], parameters[_PROJECTION], learning_rate, n_words))
    return RowwiseAdagrad(groups, lr=learning_rate, eps=_DAMPING / n_words)


def _projection_group(
    others: list[torch.Tensor], weight: torch.Tensor, learning_rate: float, n_words: int
) -> dict[str, Any]:
    """Take the layer that reads n signs of +-1 / sqrt(n) out of its group, and say how AdaGrad trains it."""
    others[:] = [parameter for parameter in others if parameter is not weight]
    root = math.sqrt(weight.shape[1])
    return {"params": [weight], "lr": learning_rate * _PROJECTION_STEP / root, "eps": _DAMPING / n_words / root}


def pack_language_optimizer(
    module: NPLM, optimizer: torch.optim.Optimizer
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what an optimiser has gathered; of a table only the rows that were trained."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, parameter in module.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            if isinstance(value, torch.Tensor):
                arrays |= pack_table(f"{name}.{key}", value.detach().cpu().contiguous().numpy(), 0.0)
            else:
                arrays[f"{name}.{key}"] = np.array(value)
    name = next(name for name, kind in OPTIMIZERS.items() if isinstance(optimizer, kind))
    return {"optimizer": name, "learning_rates": [float(group["lr"]) for group in optimizer.param_groups]}, arrays


def unpack_language_optimizer(
    module: NPLM, values: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> RowwiseAdagrad | RowwiseAdam:
    """Make an optimiser with what another had gathered."""
    if values["optimizer"] not in OPTIMIZERS:
        raise ValueError(f"The optimizer must be one of {tuple(OPTIMIZERS)}, got {values['optimizer']!r}.")
    optimizer = make_language_optimizer(module, values["optimizer"], 0.0, n_words=1)
    for group, rate in zip(optimizer.param_groups, values["learning_rates"], strict=True):
        group["lr"] = rate
    for name, parameter in module.named_parameters():
        keys = {key[len(name) + 1 :].partition(".")[0] for key in arrays if key.startswith(f"{name}.")}
        for key in sorted(keys):
            optimizer.state[parameter][key] = _accumulator(f"{name}.{key}", arrays, parameter)
    return optimizer


def _accumulator(name: str, arrays: dict[str, NDArray[Any]], parameter: torch.Tensor) -> Any:
    if name in arrays:
        return arrays[name].item()
    columns = arrays[f"{name}.values"].shape[1:]
    # Whatever a row is, what is gathered of its elements lies in a table of two axes.
    if columns not in ((), (parameter[:1].numel(),), tuple(parameter.shape[1:])):
        raise ValueError(f"The array '{name}.values' must have rows of one number or of as many as the parameter's.")
    table = lazy_zeros((len(parameter), *columns), dtype=parameter.dtype)
    unpack_table(name, arrays, table.numpy())
    return table.to(parameter.device)
