"""Settings of a training: bundles of parameters, their constraints and checks, and seeds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Final, Literal, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np
from sklearn.utils import check_random_state

from sklearn_hashnlp._constraints import is_integer
from sklearn_hashnlp._device import Device
from sklearn_hashnlp._sklearn import (
    MAX_INTEGER,
    MAX_REAL,
    BaseEstimator,
    Interval,
    ParameterChecks,
    StrOptions,
    literal_options,
)
from sklearn_hashnlp.training._fit_task import is_report

Decay = Literal["constant", "linear"]


class Bundle(BaseEstimator):
    """A bundle of parameters, checked in ``fit`` of its estimator."""

    def _check(self) -> None:
        """Check what the declared constraints cannot express."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.get_params() == self.get_params()

    def __hash__(self) -> int:
        return hash((type(self), *map(repr, self.get_params().items())))


_AnyBundle = TypeVar("_AnyBundle", bound=Bundle)


@dataclass(eq=False, repr=False)
class EarlyStopping(Bundle):
    """Early stopping by a validation set, which is split off the training rows.

    Parameters
    ----------
    monitor : {"valid_acc", "valid_loss"}, default="valid_acc"
        Metric on the validation set that determines the best epoch. Language models only support
        ``"valid_loss"``.
    patience : int or None, default=10
        Number of epochs without improvement after which training stops; None never stops early.
    validation_fraction : float, default=0.05
        Fraction of the rows used as validation set, between 0 and 1.
    restore_best : bool, default=True
        Whether to restore the weights of the best epoch at the end; False keeps the weights of the
        last epoch.

    Examples
    --------
    >>> from sklearn_hashnlp import TextClassifier
    >>> from sklearn_hashnlp.training import EarlyStopping
    >>> model = TextClassifier(
    ...     early_stopping=EarlyStopping("valid_loss", patience=3)
    ... )
    >>> model.set_params(early_stopping__patience=5).early_stopping
    EarlyStopping(monitor='valid_loss', patience=5)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "monitor": [StrOptions({"valid_acc", "valid_loss"})],
        "patience": [Interval(Integral, 1, MAX_INTEGER, closed="both"), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "restore_best": ["boolean"],
    }

    monitor: Literal["valid_acc", "valid_loss"] = "valid_acc"
    patience: int | None = 10
    validation_fraction: float = 0.05
    restore_best: bool = True


@dataclass(eq=False, repr=False)
class Schedule(Bundle):
    """Schedule of the learning rate, order of the rows, and weight averaging.

    The value of the parameter ``schedule`` of the estimators. ``partial_fit`` keeps the learning
    rate constant.

    Parameters
    ----------
    decay : {"constant", "linear"}, default="constant"
        ``"linear"``: the learning rate decays linearly to zero over all epochs.
    warmup_steps : int, default=0
        Steps over which the learning rate rises from zero, at most three epochs.
    plateau : (int, float) or None, default=None
        Patience and factor: the learning rate is multiplied by the factor after ``patience`` epochs
        without improvement on the validation set. Only with ``early_stopping``.
    average : bool, default=False
        Whether to average the weights over the last quarter of the steps. Not with
        ``early_stopping``, which restores the weights of the best epoch.
    shuffle : bool, default=True
        Whether to shuffle the rows before each epoch.

    Examples
    --------
    >>> from sklearn_hashnlp import HashEmbeddingClassifier
    >>> from sklearn_hashnlp.training import Schedule
    >>> model = HashEmbeddingClassifier(
    ...     schedule=Schedule("linear", average=True)
    ... )
    >>> model.set_params(schedule__decay="constant").schedule
    Schedule(average=True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "decay": [StrOptions({"constant", "linear"})],
        "warmup_steps": [Interval(Integral, 0, MAX_INTEGER, closed="both")],
        "plateau": [tuple, list, None],
        "average": ["boolean"],
        "shuffle": ["boolean"],
    }

    decay: Decay = "constant"
    warmup_steps: int = 0
    plateau: tuple[int, float] | list[float] | None = None
    average: bool = False
    shuffle: bool = True

    def _check(self) -> None:
        if self.plateau is not None and not _is_plateau(self.plateau):
            raise ValueError(
                "The 'plateau' of Schedule must be None or (patience, factor), an integer of at "
                f"least 1 and a number between 0 and 1. Got {self.plateau!r} instead."
            )


class HasBundles(ParameterChecks, BaseEstimator):
    """An estimator with parameters that may be estimators, with settable fields."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]]

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also fields of estimators in parameters, such as ``schedule__decay``."""
        values = self.get_params(deep=False) | params
        for name in params:
            parameter, separator, field = name.partition("__")
            if (
                not separator
                or parameter not in values
                or isinstance(values[parameter], BaseEstimator)
            ):
                continue
            kinds = [
                kind
                for kind in self._parameter_constraints.get(parameter, ())
                if _is_estimator(kind)
            ]
            if kinds:
                raise ValueError(
                    f"{type(self).__name__}: {parameter}={values[parameter]!r} has no {field!r} to "
                    f"set. Set {parameter}={kinds[0].__name__}() before, or in the same call."
                )
        super().set_params(**params)
        return self


def _is_estimator(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseEstimator)


def _is_plateau(pair: Any) -> bool:
    if len(pair) != 2 or not is_integer(pair[0]) or not isinstance(pair[1], Real):
        return False
    return bool(pair[0] >= 1 and 0 < float(pair[1]) < 1)


def as_early_stopping(value: Any, default: EarlyStopping) -> EarlyStopping | None:
    """Return ``early_stopping``; a metric's name means the default with that metric."""
    if isinstance(value, str):
        return replace(default, monitor=value)  # type: ignore[arg-type]  # checked
    return value if isinstance(value, EarlyStopping) else None


def as_schedule(value: Any, automatic: Schedule) -> Schedule:
    """Return the value of ``schedule``; None is a constant learning rate."""
    schedule: Schedule = as_bundle(value, automatic, Schedule())
    return schedule


def as_bundle(
    value: _AnyBundle | str | None, automatic: _AnyBundle, without: _AnyBundle | None = None
) -> _AnyBundle:
    """Return the bundle of a parameter value: a bundle, "auto", or None for ``without``."""
    if value is None and without is not None:
        return without
    return automatic if value is None or isinstance(value, str) else value


AdaptiveOptimizer: TypeAlias = Literal["adagrad", "adam"]

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


def _check_hidden_layers(estimator: Any) -> None:
    """Check sizes of hidden layers."""
    sizes = estimator.hidden_layer_sizes
    if not all(is_integer(size) and 1 <= size <= MAX_INTEGER for size in sizes):
        raise ValueError(
            f"The 'hidden_layer_sizes' parameter of {type(estimator).__name__} must hold integers "
            f"from 1 to {MAX_INTEGER}. Got {sizes!r} instead."
        )


def joined_callbacks(first: list[Any] | None, more: Any, estimator: Any) -> list[Any] | None:
    """Return the callbacks of a parameter and of an argument of ``fit``."""
    if more is not None and not isinstance(more, list | tuple):
        raise ValueError(
            f"{type(estimator).__name__}.fit: callbacks must be a list of callbacks and functions, "
            f"or None. Got {more!r:.60}: wrap a single one in a list."
        )
    return [*(first or []), *(more or [])] or None


def check_training_parameters(estimator: Any) -> None:
    """Check the hidden layers, bundles and callbacks of an estimator, if it has any."""
    if hasattr(estimator, "hidden_layer_sizes"):
        _check_hidden_layers(estimator)
    for value in estimator.get_params(deep=False).values():
        if isinstance(value, Bundle):
            value._validate_params()
            value._check()
    for index, item in enumerate(estimator.callbacks or []):
        if not is_report(item) and not _is_callback(item):
            raise ValueError(
                f"The 'callbacks' parameter of {type(estimator).__name__} must hold skorch "
                "callbacks, pairs of a name and a callback, or functions that report the "
                f"progress. Got {item!r} at position {index} instead."
            )
    if not all(map(is_report, estimator.callbacks or [])):
        from sklearn_hashnlp.training._callbacks import check_callbacks

        check_callbacks(estimator.callbacks)


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
    schedule: Schedule = field(default_factory=Schedule)
    early_stopping: EarlyStopping | None = None
    # whether training ends before max_epochs when the training loss no longer falls
    to_convergence: bool = False
    max_grad_norm: float | None = None  # for the gradient of all parameters
    progress_bar: bool = False  # within an epoch
    # 0: silent, 1: a line per epoch, 2: progress within an epoch, 3: also the configuration
    verbose: int = 0
    continues: bool = False  # from the weights of an earlier call
    partial: bool = False  # one epoch of ``partial_fit``, without its batches in the history
    # whether validation rows are scored after each epoch and change nothing
    only_scores: bool = False
    # skorch callbacks, their classes, pairs of a name and either, functions
    callbacks: tuple[Any, ...] = ()

    @classmethod
    def of(cls, estimator: Any, **given: Any) -> Self:
        """Read the parameters of an estimator; ``given`` values have precedence."""
        numbers = {"learning_rate": float, "max_epochs": int, "batch_size": int, "verbose": int}
        read = {
            name: convert(getattr(estimator, name))
            for name, convert in numbers.items()
            if name not in given
        }
        return cls(**read | given, callbacks=tuple(estimator.callbacks or ()))

    @property
    def monitor(self) -> str:
        """The metric for early stopping, best weights and plateau."""
        return "valid_loss" if self.early_stopping is None else self.early_stopping.monitor

    def single_epoch(self, *, warmup_steps: int = 0) -> Self:
        """Return settings of ``partial_fit``: one constant epoch; only a new net is warmed up."""
        from sklearn_hashnlp.training._callbacks import TimeLimit, without_kind

        schedule = Schedule(warmup_steps=warmup_steps, shuffle=self.schedule.shuffle)
        constant = replace(
            self, schedule=schedule, to_convergence=False, max_epochs=1, partial=True
        )
        return replace(constant, callbacks=without_kind(self.callbacks, TimeLimit))


class Seeds(NamedTuple):
    """The seeds of one training, drawn from ``random_state``."""

    hash: int
    module: int
    order: int
    split: int

    def of_order(self, n_epochs: int) -> int:
        """Return a seed for order and dropout of a training after ``n_epochs`` earlier epochs."""
        return int(np.random.SeedSequence((self.order, n_epochs)).generate_state(1)[0])


def draw_seeds(random_state: int | np.random.RandomState | None) -> Seeds:
    """Draw all seeds of one training."""
    generator = check_random_state(random_state)
    return Seeds(*(int(generator.randint(_MAX_SEED)) for _ in Seeds._fields))
