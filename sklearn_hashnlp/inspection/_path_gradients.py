"""Contributions to scores of a network: integrated gradients (Sundararajan, Taly & Yan, 2017)."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from sklearn_hashnlp.classifiers._losses import Loss
from sklearn_hashnlp.training._torch_scope import plain_torch

_FIRST_INTERVALS = 64
_MAX_ROUNDS = 14
_MAX_POINTS = 4096
_TOLERANCE = 1e-7  # error of the outputs for the whole path


def column_vectors_of_net(
    net: Any, columns: NDArray[Any], values: NDArray[Any]
) -> tuple[NDArray[np.float64], float]:
    """Return the vector of each value in a row, and the norm that divides their sum."""
    bag = net.module_.bag
    device = bag.pool.device
    ids = torch.from_numpy(columns.astype(np.int64)).to(device)
    weights = torch.from_numpy(values.astype(np.float32)).to(device)
    alone = copy(bag)  # the tables are shared
    alone.spec = replace(bag.spec, normalize=None)
    with plain_torch(device.type), torch.no_grad():
        vectors = (
            alone(ids, torch.arange(len(ids) + 1, device=device), weights).double().cpu().numpy()
        )
        norm = 1.0
        if bag.normalize is not None:
            of_columns = bag.weights_of(bag.locate(ids)[0]) * weights.unsqueeze(1)
            norm = float(bag._norms(of_columns, torch.tensor([0, len(ids)], device=device)))
    return vectors, norm


def gradients_of_net(
    net: Any,
    loss: Loss,
    document: NDArray[np.float64],
    outputs: NDArray[np.int64],
    *,
    is_binary: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean gradients of scores on the path to a document, and an empty document's scores."""
    device = net.module_.bag.pool.device

    def compute(documents: Tensor) -> Tensor:
        scores: Tensor = head.scores(documents)
        if is_binary:
            logits = loss.inverse_temperature * (
                functional.logsigmoid(scores) if loss.link == "log_sigmoid" else scores
            )
            return logits[:, 1:] - logits[:, :1]
        return scores[:, torch.from_numpy(outputs).to(scores.device)]

    with plain_torch(device.type):
        head = net.module_.head.in_double()
        return integrated_gradients(compute, torch.from_numpy(document).to(device))


def integrated_gradients(
    function: Callable[[Tensor], Tensor],  # (n, width) -> (n, n_outputs), independent rows
    end: Tensor,  # (width,), float64
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean gradients on the path (n_outputs, width), and outputs at zero (n_outputs,)."""
    # The gradients times the end sum to the difference of the outputs at both ends: the mean of an
    # interval combines the gradients at its ends, with weights that satisfy this; an interval
    # without such weights is halved.
    times = np.linspace(0.0, 1.0, _FIRST_INTERVALS + 1)
    values, gradients = _evaluate(function, end, times)
    for _ in range(_MAX_ROUNDS):
        share, error = _weights(times, values, gradients @ end.cpu().numpy())
        wrong = error > _TOLERANCE * np.diff(times).clip(1 / _MAX_POINTS)
        if not wrong.any() or len(times) + wrong.sum() > _MAX_POINTS:
            break
        middles = (times[:-1] + times[1:])[wrong] / 2
        more_values, more_gradients = _evaluate(function, end, middles)
        order = np.argsort(np.concatenate([times, middles]), kind="stable")
        times = np.concatenate([times, middles])[order]
        values = np.concatenate([values, more_values])[order]
        gradients = np.concatenate([gradients, more_gradients])[order]
    share, _ = _weights(times, values, gradients @ end.cpu().numpy())
    steps = np.diff(times)[:, np.newaxis]
    means = np.einsum("ic,icw->cw", steps * share, gradients[:-1])
    means += np.einsum("ic,icw->cw", steps * (1 - share), gradients[1:])
    return means, values[0]


def _evaluate(
    function: Callable[[Tensor], Tensor], end: Tensor, times: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return outputs (n, n_outputs) and gradients (n, n_outputs, width) at points on the path."""
    points = torch.from_numpy(times).to(end.device).unsqueeze(1) * end
    points.requires_grad_(True)
    with torch.enable_grad():
        outputs = function(points)
        columns = [
            torch.autograd.grad(column.sum(), points, retain_graph=True)[0]
            for column in outputs.unbind(dim=1)
        ]
    return outputs.detach().cpu().numpy(), torch.stack(columns, dim=1).cpu().numpy()


def _weights(
    times: NDArray[np.float64], values: NDArray[np.float64], slopes: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weight of the first gradient of each interval (n, n_outputs), and errors (n,)."""
    steps = np.diff(times)[:, np.newaxis]
    wanted = np.diff(values, axis=0) / steps
    first, last = slopes[:-1], slopes[1:]
    differs = np.abs(first - last) > 1e-300
    share = np.where(differs, (wanted - last) / np.where(differs, first - last, 1.0), 0.5).clip(
        0.0, 1.0
    )
    errors = np.abs(share * first + (1 - share) * last - wanted) * steps
    return share, errors.max(axis=1, initial=0.0)
