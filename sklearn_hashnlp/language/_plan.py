"""Everything that decides how a language model is trained, in one place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class LanguagePlan:
    """How a language model is trained."""

    optimizer: str  # row-wise AdaGrad or row-wise Adam
    learning_rate: float  # step size
    bias_learning_rate: float  # what the step size of the hidden layer's bias is multiplied by
    direct_learning_rate: float  # what that of the hashed direct connections is multiplied by
    schedule: str  # whether the step size falls linearly, to 0 after the last planned step
    # Epochs without a better one after which the step size is multiplied by the factor
    lr_plateau: tuple[int, float] | None
    max_epochs: int  # passes over the windows, those done before an interruption among them
    max_time: float | None  # seconds after which training ends
    batch_size: int  # windows a step
    shuffle: bool  # whether each pass has an order of its own
    patience: int | None  # epochs without a better one after which training stops; None is never
    restore_best: bool  # whether to end with the weights of the epoch with the lowest validation loss
    log_every: int | None  # steps after which losses are noted
    verbose: int  # 0 is silent, 1 prints a line an epoch, 2 also what is noted within an epoch
    callbacks: tuple[Any, ...]  # more skorch callbacks, their classes, or pairs of a name and one
    seed: int  # of order and dropout


def language_plan(estimator: Any, seed: int) -> LanguagePlan:
    """Say how ``fit`` trains."""
    patience, plateau, log_every = estimator.n_iter_no_change, estimator.lr_plateau, estimator.log_every
    return LanguagePlan(
        optimizer=estimator.optimizer,
        learning_rate=float(estimator.learning_rate),
        bias_learning_rate=float(estimator.bias_learning_rate),
        direct_learning_rate=float(estimator.direct_learning_rate),
        schedule=estimator.learning_rate_schedule,
        lr_plateau=None if plateau is None else (int(plateau[0]), float(plateau[1])),
        max_epochs=int(estimator.max_epochs),
        max_time=None if estimator.max_time is None else float(estimator.max_time),
        batch_size=int(estimator.batch_size),
        shuffle=bool(estimator.shuffle),
        patience=None if patience is None or not estimator.early_stopping else int(patience),
        restore_best=bool(estimator.early_stopping),
        log_every=None if log_every is None else int(log_every),
        verbose=int(estimator.verbose),
        callbacks=tuple(estimator.callbacks or ()),
        seed=seed,
    )


def streaming_language_plan(estimator: Any, seed: int) -> LanguagePlan:
    """Say how ``partial_fit`` trains: once over the windows, and every call alike."""
    plan = language_plan(estimator, seed)
    return replace(plan, schedule="constant", max_epochs=1, max_time=None)
