"""Parameter bundles of language models, and automatic values of parameters."""

from __future__ import annotations

from math import sqrt
from numbers import Real
from typing import Any, ClassVar, Final, Literal, TypeAlias

import numpy as np

from sklearn_hashnlp._sklearn import MAX_REAL, Interval
from sklearn_hashnlp.training._optimizer_state import OptimizerName
from sklearn_hashnlp.training._settings import Bundle, Decay, EarlyStopping, Schedule

EARLY_STOPPING = EarlyStopping("valid_loss", patience=2, validation_fraction=0.1)  # early_stopping="valid_loss"


class Regularization(Bundle):
    """Regularization of a :class:`HsigmoidLanguageModel`: dropout, weight decay and clipping of gradients.

    Parameters
    ----------
    dropout : float, default=0.35
        Dropout probability of the hidden layer.
    embedding_dropout : float, default=0.1
        Dropout probability of the elements of word embeddings.
    word_dropout : float, default=0.0
        Probability that a word of the window is dropped: its whole embedding is zero.
    weight_decay : float, default=0.0
        Decoupled weight decay: each update also subtracts ``learning_rate * weight_decay`` times the weight. Rows of
        tables, such as word embeddings, decay only in steps that train them [1]_. Biases do not decay.
    max_grad_norm : float or None, default=0.5
        Maximum norm of the gradient of a batch's mean loss [2]_. None does not clip, and the loss may rise at first.

    References
    ----------
    .. [1] Loshchilov & Hutter (2019). Decoupled weight decay regularization. ICLR.
    .. [2] Pascanu, Mikolov & Bengio (2013). On the difficulty of training recurrent neural networks. ICML.

    Examples
    --------
    >>> from sklearn_hashnlp.language import (
    ...     HsigmoidLanguageModel,
    ...     Regularization,
    ... )
    >>> model = HsigmoidLanguageModel(
    ...     regularization=Regularization(dropout=0.5)
    ... )
    >>> model.set_params(regularization__weight_decay=0.001).regularization
    Regularization(dropout=0.5, weight_decay=0.001)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "embedding_dropout": [Interval(Real, 0, 1, closed="left")],
        "word_dropout": [Interval(Real, 0, 1, closed="left")],
        "weight_decay": [Interval(Real, 0, MAX_REAL, closed="both")],
        "max_grad_norm": [Interval(Real, 0, MAX_REAL, closed="right"), None],
    }

    def __init__(
        self,
        dropout: float = 0.35,
        embedding_dropout: float = 0.1,
        word_dropout: float = 0.0,
        weight_decay: float = 0.0,
        max_grad_norm: float | None = 0.5,
    ) -> None:
        self.dropout = dropout
        self.embedding_dropout = embedding_dropout
        self.word_dropout = word_dropout
        self.weight_decay = weight_decay
        self.max_grad_norm = max_grad_norm


class LanguageSchedule(Schedule):
    """Learning rate schedule of a :class:`HsigmoidLanguageModel`, with learning rates of two groups of parameters.

    ``partial_fit`` keeps the learning rate constant, after a warmup in the first call of a new model.

    Parameters
    ----------
    decay : {"constant", "linear"}, default="linear"
        ``"linear"``: the learning rate decays linearly to zero over all epochs.
    warmup_steps : int, default=100
        Steps over which the learning rate rises from zero, at most three epochs; 0 disables warmup, and the loss may
        rise at first. A pretrained model needs no warmup.
    plateau : (int, float) or None, default=None
        Patience and factor: the learning rate is multiplied by the factor after ``patience`` epochs without a lower
        validation loss. Requires validation sentences.
    average : bool, default=False
        Whether to average the weights over the last quarter of the steps. Not with validation sentences or ``resume``.
    bias_learning_rate : float, default=1.0
        Factor of the learning rate of the hidden layer's bias.
    direct_learning_rate : float, default=1.0
        Factor of the learning rate of hashed direct connections.

    Examples
    --------
    >>> from sklearn_hashnlp.language import (
    ...     HsigmoidLanguageModel,
    ...     LanguageSchedule,
    ... )
    >>> model = HsigmoidLanguageModel(schedule=LanguageSchedule(warmup_steps=0))
    >>> model.set_params(schedule__bias_learning_rate=2.0).schedule
    LanguageSchedule(bias_learning_rate=2.0, warmup_steps=0)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: Schedule._parameter_constraints[name] for name in ("decay", "warmup_steps", "plateau", "average")},
        "bias_learning_rate": [Interval(Real, 0, MAX_REAL, closed="right")],
        "direct_learning_rate": [Interval(Real, 0, MAX_REAL, closed="right")],
    }

    def __init__(
        self,
        decay: Decay = "linear",
        warmup_steps: int = 100,
        plateau: tuple[int, float] | list[float] | None = None,
        average: bool = False,
        bias_learning_rate: float = 1.0,
        direct_learning_rate: float = 1.0,
    ) -> None:
        super().__init__(decay, warmup_steps, plateau, average)
        self.bias_learning_rate = bias_learning_rate
        self.direct_learning_rate = direct_learning_rate


def as_regularization(value: Regularization | str | None) -> Regularization:
    """Return the value of ``regularization``; None disables everything."""
    if value is None:
        return Regularization(0.0, 0.0, 0.0, 0.0, None)
    return Regularization() if isinstance(value, str) else value


def learning_rate_factors(schedule: Schedule) -> tuple[float, float]:
    """Return the factors of the learning rates of the hidden bias and of direct connections."""
    if not isinstance(schedule, LanguageSchedule):
        return 1.0, 1.0
    return float(schedule.bias_learning_rate), float(schedule.direct_learning_rate)


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
