"""Settings of a training: constraints and checks of parameters, and seeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Final, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from sklearn.utils import check_random_state

from sklearn_hashnlp._sklearn import MAX_INTEGER, MAX_REAL, Interval, literal_options
from sklearn_hashnlp.training._bundles import EarlyStopping, Schedule
from sklearn_hashnlp.trees._counts import is_integer

AdaptiveOptimizer: TypeAlias = Literal["adagrad", "adam"]
Device: TypeAlias = Literal["cpu", "cuda", "auto"]

TRAINING: Final[dict[str, list[Any]]] = {
    "optimizer": [literal_options(AdaptiveOptimizer)],
    "learning_rate": [Interval(Real, 0, MAX_REAL, closed="right")],
    "warm_start": ["boolean"],
    "device": [literal_options(Device)],
    "callbacks": [list, None],
    "random_state": ["random_state"],
    "verbose": [Interval(Integral, 0, 3, closed="both")],
}
"""Constraints of parameters that classifiers and the language model share."""


def check_hidden_layers(estimator: Any) -> None:
    """Check sizes of hidden layers."""
    sizes = estimator.hidden_layer_sizes
    if not all(is_integer(size) and 1 <= size <= MAX_INTEGER for size in sizes):
        raise ValueError(
            f"The 'hidden_layer_sizes' parameter of {type(estimator).__name__} must hold integers from 1 to "
            f"{MAX_INTEGER}. Got {sizes!r} instead."
        )


def resolve_device(device: str, *, caller: str) -> str:
    """Return an available device for the ``device`` parameter of an estimator."""
    if device == "cpu":
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if device == "auto":
        return "cpu"
    raise RuntimeError(
        f"{caller}(device='cuda') needs a CUDA device, and torch {torch.__version__} finds none. "
        "Set device='auto' to use one only where there is one, or device='cpu'."
    )


def check_callbacks(estimator: Any) -> None:
    """Check callbacks."""
    for index, item in enumerate(estimator.callbacks or []):
        if not _is_callback(item):
            raise ValueError(
                f"The 'callbacks' parameter of {type(estimator).__name__} must hold skorch callbacks, or pairs of a "
                f"name and a callback. Got {item!r} at position {index} instead."
            )


def _is_callback(item: Any) -> bool:
    from skorch.callbacks import Callback  # which imports torch

    if isinstance(item, tuple | list):
        if len(item) != 2 or not isinstance(item[0], str):
            return False
        item = item[1]
    return issubclass(item, Callback) if isinstance(item, type) else isinstance(item, Callback)


_MAX_SEED = 2**31 - 1


@dataclass(frozen=True)
class TrainingSettings:
    """All settings of a training except data, optimizer and loss."""

    learning_rate: float
    max_epochs: int  # including epochs before an interruption
    batch_size: int
    seed: int  # for order and dropout
    warmup_steps: int = 0  # steps over which the learning rate rises, at most three epochs; only for initial weights
    schedule: str = "constant"  # "linear": the learning rate decays linearly to 0 after the last planned step
    average: bool = False  # whether to average the weights over the last quarter of the steps, without validation
    max_grad_norm: float | None = None  # for the gradient of all parameters
    shuffle: bool = True
    monitor: str = "valid_loss"  # metric for early stopping, best weights and plateau
    patience: int | None = None  # epochs without improvement after which training stops; None never stops
    lr_plateau: tuple[int, float] | None = None  # epochs without improvement, and the factor of the learning rate
    restore_best: bool = False  # whether to restore the weights of the best epoch
    stops_early: bool = False  # whether to use early stopping
    progress_bar: bool = False  # within an epoch
    verbose: int = 0  # 0: silent, 1: a line per epoch, 2: progress within an epoch, 3: also the configuration
    keeps_batches: bool = True  # whether the history holds all batches, which needs memory for a stream
    callbacks: tuple[Any, ...] = ()  # skorch callbacks, their classes, or pairs of a name and one of these

    @classmethod
    def of(
        cls,
        estimator: Any,
        *,
        seed: int,
        schedule: Schedule | None = None,
        early_stopping: EarlyStopping | None = None,
        **given: Any,
    ) -> Self:
        """Read the parameters of an estimator; ``given`` values have precedence."""
        parameters = estimator.get_params(deep=False)
        if schedule is not None:
            plateau = None if schedule.plateau is None else _plateau(schedule.plateau)
            given |= {"schedule": schedule.decay, "warmup_steps": schedule.warmup_steps, "lr_plateau": plateau}
            given |= {"average": bool(schedule.average), "shuffle": bool(schedule.shuffle)}
        if early_stopping is not None:
            given |= {"monitor": early_stopping.monitor, "patience": early_stopping.patience}
            given["restore_best"] = bool(early_stopping.restore_best)
        for name, (field, convert) in _PARAMETERS.items():
            if name in parameters and field not in given:
                given[field] = None if parameters[name] is None else convert(parameters[name])
        return cls(seed=seed, **given | {"callbacks": given.get("callbacks") or ()})

    def single_epoch(self) -> Self:
        """Return the settings of ``partial_fit``: one epoch, the same in every call."""
        from sklearn_hashnlp.training._callbacks import without_time_limits

        constant = replace(self, warmup_steps=0, schedule="constant", average=False)
        return replace(constant, max_epochs=1, keeps_batches=False, callbacks=without_time_limits(self.callbacks))


def _plateau(pair: Any) -> tuple[int, float]:
    return int(pair[0]), float(pair[1])


_PARAMETERS: Final[dict[str, tuple[str, Callable[[Any], Any]]]] = {
    "learning_rate": ("learning_rate", float),
    "max_epochs": ("max_epochs", int),
    "batch_size": ("batch_size", int),
    "early_stopping": ("stops_early", bool),
    "verbose": ("verbose", int),
    "callbacks": ("callbacks", tuple),
}
"""The setting and its type for each parameter."""


class Seeds(NamedTuple):
    """The seeds of one training, drawn from ``random_state``."""

    hash: int
    module: int
    order: int
    split: int

    def of_order(self, n_epochs: int) -> int:
        """Return a seed for order and dropout of a training that starts after ``n_epochs`` epochs."""
        return int(np.random.SeedSequence((self.order, n_epochs)).generate_state(1)[0])


def draw_seeds(random_state: int | np.random.RandomState | None) -> Seeds:
    """Draw all seeds of one training."""
    generator = check_random_state(random_state)
    return Seeds(*(int(generator.randint(_MAX_SEED)) for _ in Seeds._fields))
