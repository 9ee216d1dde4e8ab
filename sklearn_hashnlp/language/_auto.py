"""Training parameters that are "auto": what they are for a text of some size."""

from __future__ import annotations

from math import sqrt
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from sklearn_hashnlp.training._optimizer_state import OptimizerName

Auto: TypeAlias = Literal["auto"]

_LEARNING_RATES: Final[dict[OptimizerName, float]] = {"adagrad": 0.5, "adam": 0.002}
_SGD_LEARNING_RATE = 0.25  # times the root of the batch size
_EPOCHS = 5  # with the linear schedule; of a text of any size the later ones only overfit
_STEPS = 128  # an epoch has about so many, if the batch size allows
_LOG_BATCH_SIZES = 5, 9  # 32 to 512
PARTIAL_FIT_RATE = 1 / 12  # of that of fit, after it: a few sentences of another kind cost the old text 3 % at most
_WARM_START_RATES = 1 / 32, 1 / 4  # after a fit: at least, which costs the same in five epochs, and for as much text


def auto_settings(estimator: Any, n_windows: int, batch_size: int | None, rate_factor: float = 1.0) -> dict[str, Any]:
    """Return learning rate, epochs and batch size.

    ``batch_size`` is that of the training that is continued, if any; an automatic learning rate is multiplied by
    ``rate_factor``.
    """
    if estimator.batch_size != "auto":
        batch_size = int(estimator.batch_size)
    elif batch_size is None:  # the state of the optimizer depends on it, so all trainings of a net keep the first
        batch_size = int(2 ** np.clip(np.round(np.log2(n_windows / _STEPS)), *_LOG_BATCH_SIZES))
    learning_rate = estimator.learning_rate
    if learning_rate == "auto":
        of_sgd = _SGD_LEARNING_RATE * sqrt(min(batch_size, n_windows))
        learning_rate = _LEARNING_RATES.get(estimator.optimizer, of_sgd)
        learning_rate *= rate_factor
    max_epochs = _EPOCHS if estimator.max_epochs == "auto" else int(estimator.max_epochs)
    return {"learning_rate": float(learning_rate), "max_epochs": max_epochs, "batch_size": batch_size}


def warm_start_rate(n_windows: int, n_before: int) -> float:
    """Return the factor of the learning rate for some windows after a training on others; 0 others are none."""
    lowest, for_as_much = _WARM_START_RATES
    return min(max(for_as_much * (n_windows / n_before) ** 2, lowest), 1.0) if n_before else 1.0
