"""Parameter bundles: small estimators with fields that can be searched by name."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

from sklearn_hashnlp._sklearn import MAX_INTEGER, BaseEstimator, Interval, StrOptions
from sklearn_hashnlp.trees._counts import is_integer

Decay = Literal["constant", "linear"]


class Bundle(BaseEstimator):
    """A bundle of parameters, checked in ``fit`` of its estimator."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.get_params() == self.get_params()

    def __hash__(self) -> int:
        return hash((type(self), *map(repr, self.get_params().items())))


class EarlyStopping(Bundle):
    """Early stopping by a validation set, which is split off the training rows.

    Parameters
    ----------
    monitor : {"valid_acc", "valid_loss"}, default="valid_acc"
        Metric on the validation set that determines the best epoch. Language models only support ``"valid_loss"``.
    patience : int or None, default=10
        Number of epochs without improvement after which training stops; None never stops early.
    validation_fraction : float, default=0.05
        Fraction of the rows used as validation set, between 0 and 1.
    restore_best : bool, default=True
        Whether to restore the weights of the best epoch at the end; False keeps the weights of the last epoch.

    Examples
    --------
    >>> from sklearn_hashnlp import TextClassifier
    >>> from sklearn_hashnlp.training import EarlyStopping
    >>> model = TextClassifier(early_stopping=EarlyStopping("valid_loss", patience=3))
    >>> model.set_params(early_stopping__patience=5).early_stopping
    EarlyStopping(monitor='valid_loss', patience=5)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "monitor": [StrOptions({"valid_acc", "valid_loss"})],
        "patience": [Interval(Integral, 1, MAX_INTEGER, closed="both"), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "restore_best": ["boolean"],
    }

    def __init__(
        self,
        monitor: Literal["valid_acc", "valid_loss"] = "valid_acc",
        patience: int | None = 10,
        validation_fraction: float = 0.05,
        restore_best: bool = True,
    ) -> None:
        self.monitor = monitor
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.restore_best = restore_best


class Schedule(Bundle):
    """Schedule of the learning rate, order of the rows, and weight averaging.

    The value of the parameter ``schedule`` of the estimators. ``partial_fit`` keeps the learning rate constant.

    Parameters
    ----------
    decay : {"constant", "linear"}, default="constant"
        ``"linear"``: the learning rate decays linearly to zero over all epochs.
    warmup_steps : int, default=0
        Steps over which the learning rate rises from zero, at most three epochs.
    plateau : (int, float) or None, default=None
        Patience and factor: the learning rate is multiplied by the factor after ``patience`` epochs without improvement
        on the validation set. Only with ``early_stopping``.
    average : bool, default=False
        Whether to average the weights over the last quarter of the steps. Not with ``early_stopping``, which restores
        the weights of the best epoch.
    shuffle : bool, default=True
        Whether to shuffle the rows before each epoch.

    Examples
    --------
    >>> from sklearn_hashnlp import HashEmbeddingClassifier
    >>> from sklearn_hashnlp.training import Schedule
    >>> model = HashEmbeddingClassifier(schedule=Schedule("linear", average=True))
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

    def __init__(
        self,
        decay: Decay = "constant",
        warmup_steps: int = 0,
        plateau: tuple[int, float] | list[float] | None = None,
        average: bool = False,
        shuffle: bool = True,
    ) -> None:
        self.decay = decay
        self.warmup_steps = warmup_steps
        self.plateau = plateau
        self.average = average
        self.shuffle = shuffle


class HasBundles(BaseEstimator):
    """An estimator with parameters that may be estimators, with settable fields."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]]

    def set_params(self, **params: Any) -> Self:
        """Set parameters, including fields of parameters that are estimators, such as ``schedule__decay``."""
        values = self.get_params(deep=False) | params
        for name in params:
            parameter, separator, field = name.partition("__")
            if not separator or parameter not in values or isinstance(values[parameter], BaseEstimator):
                continue
            kinds = [kind for kind in self._parameter_constraints.get(parameter, ()) if _is_estimator(kind)]
            if kinds:
                raise ValueError(
                    f"{type(self).__name__}: {parameter}={values[parameter]!r} has no {field!r} to set. Set "
                    f"{parameter}={kinds[0].__name__}() before, or in the same call."
                )
        super().set_params(**params)
        return self


def _is_estimator(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseEstimator)


def check_bundles(estimator: BaseEstimator) -> None:
    """Check the fields of the bundles among the parameters of an estimator."""
    for value in estimator.get_params(deep=False).values():
        if isinstance(value, Bundle):
            value._validate_params()
    plateau = getattr(getattr(estimator, "schedule", None), "plateau", None)
    if plateau is not None and not _is_plateau(plateau):
        raise ValueError(
            "The 'plateau' of Schedule must be None or (patience, factor), an integer of at least 1 and a number "
            f"between 0 and 1. Got {plateau!r} instead."
        )


def _is_plateau(pair: Any) -> bool:
    if len(pair) != 2 or not is_integer(pair[0]) or not isinstance(pair[1], Real):
        return False
    return bool(pair[0] >= 1 and 0 < float(pair[1]) < 1)


def as_early_stopping(value: Any, default: EarlyStopping) -> EarlyStopping | None:
    """Return the value of ``early_stopping``; a metric's name is replaced by the default with that metric."""
    if isinstance(value, str):
        return EarlyStopping(value, default.patience, default.validation_fraction)  # type: ignore[arg-type]  # checked
    return value if isinstance(value, EarlyStopping) else None


def as_schedule(value: Any, automatic: Schedule) -> Schedule:
    """Return the value of ``schedule``; None is a constant learning rate."""
    if value == "auto":
        return automatic
    return Schedule() if value is None else value
