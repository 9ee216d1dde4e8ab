"""Integrated gradients along the straight path from zero to a vector (Sundararajan, Taly & Yan, 2017)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_FIRST_INTERVALS = 64
_MAX_ROUNDS = 14
_MAX_POINTS = 4096
_TOLERANCE = 1e-7  # of the outputs, for the whole path


def integrated_gradients(
    function: Callable[[Tensor], Tensor],  # (n, width) -> (n, n_outputs), each row by itself
    end: Tensor,  # (width,), float64
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean gradients on the path (n_outputs, width), and the outputs at zero (n_outputs,).

    The gradients times ``end`` sum to the difference of the outputs at the ends of the path. In each interval the mean
    is a combination of the gradients at both ends, with the weights that make it so; an interval without such weights
    is halved. For a piecewise linear function, as layers with ReLU are, this is exact up to one kink per interval.
    """
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
    """Return outputs (n, n_outputs) and their gradients (n, n_outputs, width) at points of the path."""
    points = torch.from_numpy(times).to(end.device).unsqueeze(1) * end
    points.requires_grad_(True)
    with torch.enable_grad():
        outputs = function(points)
        columns = [torch.autograd.grad(column.sum(), points, retain_graph=True)[0] for column in outputs.unbind(dim=1)]
    return outputs.detach().cpu().numpy(), torch.stack(columns, dim=1).cpu().numpy()


def _weights(
    times: NDArray[np.float64], values: NDArray[np.float64], slopes: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weight of the gradient at the beginning of each interval (n, n_outputs), and the errors (n,)."""
    steps = np.diff(times)[:, np.newaxis]
    wanted = np.diff(values, axis=0) / steps
    first, last = slopes[:-1], slopes[1:]
    differs = np.abs(first - last) > 1e-300
    share = np.where(differs, (wanted - last) / np.where(differs, first - last, 1.0), 0.5).clip(0.0, 1.0)
    errors = np.abs(share * first + (1 - share) * last - wanted) * steps
    return share, errors.max(axis=1, initial=0.0)
