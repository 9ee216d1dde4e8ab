"""Random samples of training rows, and how much of a difference of accuracies is noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .data import Rows

ALL = 0  # size: all training rows
_BOOTSTRAPS = 2000


def sample(train: Rows, size: int, seed: int) -> Rows:
    """Return a random sample of rows, or all."""
    if size == ALL:
        return train
    chosen = np.sort(np.random.default_rng(seed).choice(len(train.texts), size, replace=False))
    return Rows([train.texts[i] for i in chosen], [train.labels[i] for i in chosen])


def bootstrap(lead: NDArray[np.float64]) -> list[float]:
    """Return the 90 % interval of the mean of a lead per test row, by samples of the rows with replacement."""
    generator = np.random.default_rng(0)
    means = [float(lead[generator.integers(len(lead), size=len(lead))].mean()) for _ in range(_BOOTSTRAPS)]
    return [float(bound) for bound in np.quantile(means, (0.05, 0.95))]
