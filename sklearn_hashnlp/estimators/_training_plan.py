"""Everything that decides how a net is trained, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TrainingPlan:
    """How a net is trained.

    Parameters
    ----------
    loss : {"softmax", "ova", "hinge", "hsigmoid"}
        Cross-entropy, binary cross-entropy or squared hinge loss of one class against all others, or cross-entropy
        along the paths of a tree.
    optimizer : {"adagrad", "adam"}
        Row-wise AdaGrad or row-wise Adam.
    learning_rate : float
        Step size; by AdaGrad, a head with hidden layers takes a tenth of it.
    schedule : {"constant", "linear"}
        Whether the step size falls linearly, to 0 after the last planned step.
    average : bool
        Whether to end with the mean of the weights over the last quarter of the planned steps. Not done where there are
        validation rows, by which the kept weights are chosen.
    max_epochs : int
        Passes over the rows.
    max_time : float or None
        Seconds after which training ends: after the batch in which they are over, the first at the earliest.
    batch_size : int
        Rows a step.
    shuffle : bool
        Whether each pass has an order of its own.
    dropout : (int, int) or None
        Each row keeps a random number of its columns, between these two inclusive.
    monitor : {"valid_acc", "valid_loss"}
        Decides which epoch is better: for stopping, kept weights and the plateau alike.
    patience : int or None
        Epochs without a better one after which training stops; None is never.
    lr_plateau : (int, float) or None
        Epochs without a better one after which the step size is multiplied by the factor.
    restore_best : bool
        Whether to end with the weights of the best epoch.
    checkpoint_dir : str or None
        Folder that the weights of the best epoch are written to; None keeps them in memory.
    verbose : int
        0 is silent, 1 prints a line an epoch, 2 shows progress within an epoch as well, 3 also what is set up.
    callbacks : tuple
        More skorch callbacks, their classes, or pairs of a name and one.
    seed : int
        Of order and dropout.
    """

    loss: str
    optimizer: str
    learning_rate: float
    schedule: str
    average: bool
    max_epochs: int
    max_time: float | None
    batch_size: int
    shuffle: bool
    dropout: tuple[int, int] | None
    monitor: str
    patience: int | None
    lr_plateau: tuple[int, float] | None
    restore_best: bool
    checkpoint_dir: str | None
    verbose: int
    callbacks: tuple[Any, ...]
    seed: int
