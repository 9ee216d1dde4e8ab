"""Training settings, read from any estimator's parameters, and the seeds of a training."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Self

import numpy as np
from sklearn.utils import check_random_state

from sklearn_hashnlp.training._bundles import EarlyStopping, Schedule

_MAX_SEED = 2**31 - 1


@dataclass(frozen=True)
class TrainingSettings:
    """Everything that decides how a net is trained, but its data, its optimizer and its loss."""

    learning_rate: float
    max_epochs: int  # those before an interruption among them
    batch_size: int
    seed: int  # of order and dropout
    warmup_steps: int = 0  # from initial weights the learning rate rises over so many steps, at most three epochs
    schedule: str = "constant"  # "linear": the learning rate falls linearly, to 0 after the last planned step
    average: bool = False  # end with the average of the weights over the last quarter of the steps, if not validated
    max_grad_norm: float | None = None  # of the gradients of all parameters together
    shuffle: bool = True
    monitor: str = "valid_loss"  # decides which epoch is better: for stopping, the weights kept and the plateau
    patience: int | None = None  # epochs without improvement after which training stops; None is never
    lr_plateau: tuple[int, float] | None = None  # epochs without improvement, and the factor of the learning rate then
    restore_best: bool = False  # end with the weights of the best epoch
    stops_early: bool = False  # whether the validation set decides on stopping and on the weights to end with
    progress_bar: bool = False  # within an epoch
    verbose: int = 0  # 0 is silent, 1 a line an epoch, 2 progress within an epoch as well, 3 also what is set up
    keeps_batches: bool = True  # the measures of each batch in the history; those of a stream would fill the memory
    callbacks: tuple[Any, ...] = ()  # skorch callbacks, their classes, or pairs of a name and one

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
        """Read the parameters that an estimator has; what is given takes their place."""
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
        """Return the settings of ``partial_fit``: one epoch, and every call alike."""
        from sklearn_hashnlp.training._callbacks import without_time_limits

        alike = replace(self, warmup_steps=0, schedule="constant", average=False)
        return replace(alike, max_epochs=1, keeps_batches=False, callbacks=without_time_limits(self.callbacks))


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
"""The setting that each parameter decides, and its type."""


class Seeds(NamedTuple):
    """The seeds that are drawn from ``random_state`` for one training."""

    hash: int
    module: int
    order: int
    split: int

    def of_order(self, n_epochs: int) -> int:
        """Return a seed for order and dropout of a training that begins after so many epochs."""
        return int(np.random.SeedSequence((self.order, n_epochs)).generate_state(1)[0])


def draw_seeds(random_state: int | np.random.RandomState | None) -> Seeds:
    """Draw all seeds of one training."""
    generator = check_random_state(random_state)
    return Seeds(*(int(generator.randint(_MAX_SEED)) for _ in Seeds._fields))


def folder_of(checkpoint_dir: str | os.PathLike[str] | None) -> str | None:
    """Return the parameter as a string."""
    return None if checkpoint_dir is None else os.fspath(checkpoint_dir)
