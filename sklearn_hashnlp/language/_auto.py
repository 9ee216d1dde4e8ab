"""Automatic training parameters, which depend on the size of the text."""

from __future__ import annotations

from math import sqrt
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from sklearn_hashnlp.training._optimizer_state import OptimizerName

Auto: TypeAlias = Literal["auto"]

_LEARNING_RATES: Final[dict[OptimizerName, float]] = {"adagrad": 0.5, "adam": 0.002}
_SGD_LEARNING_RATE = 0.25  # multiplied by the square root of the batch size
_EPOCHS = 5  # with the linear schedule, more epochs overfit for any size of text
_STEPS = 128  # approximate number of steps per epoch, if the batch size allows
_LOG_BATCH_SIZES = 5, 9  # 32 to 512
PARTIAL_FIT_RATE = 1 / 12  # factor after fit: sentences from another domain then cost the old text at most 3 %
_WARM_START_RATES = 1 / 32, 1 / 4  # factors after fit: the lowest, with the same cost in five epochs; for equal sizes


def auto_settings(estimator: Any, n_windows: int, batch_size: int | None, rate_factor: float = 1.0) -> dict[str, Any]:
    """Return learning rate, epochs and batch size; ``batch_size`` is the size used before, if training continues."""
    if estimator.batch_size != "auto":
        batch_size = int(estimator.batch_size)
    elif batch_size is None:  # the optimizer's state depends on it, so a net keeps its first batch size
        batch_size = int(2 ** np.clip(np.round(np.log2(n_windows / _STEPS)), *_LOG_BATCH_SIZES))
    learning_rate = estimator.learning_rate
    if learning_rate == "auto":
        sgd_rate = _SGD_LEARNING_RATE * sqrt(min(batch_size, n_windows))
        learning_rate = _LEARNING_RATES.get(estimator.optimizer, sgd_rate) * rate_factor
    max_epochs = _EPOCHS if estimator.max_epochs == "auto" else int(estimator.max_epochs)
    return {"learning_rate": float(learning_rate), "max_epochs": max_epochs, "batch_size": batch_size}


def warm_start_rate(n_windows: int, n_before: int) -> float:
    """Return the factor of the learning rate for training on ``n_windows`` after ``n_before`` others."""
    lowest, equal_sizes = _WARM_START_RATES
    return min(max(equal_sizes * (n_windows / n_before) ** 2, lowest), 1.0) if n_before else 1.0
