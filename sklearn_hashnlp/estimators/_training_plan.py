"""Everything that decides how a net is trained, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TrainingPlan:
    """How a net is trained."""

    # Cross-entropy, binary cross-entropy or squared hinge loss of one class against all others, or cross-entropy along
    # the paths of a tree
    loss: str
    optimizer: str  # row-wise AdaGrad or row-wise Adam
    learning_rate: float  # step size; by AdaGrad, a head with hidden layers takes a tenth of it
    schedule: str  # whether the step size falls linearly, to 0 after the last planned step
    # Whether to end with the mean of the weights over the last quarter of the planned steps. Not done where there are
    # validation rows, by which the kept weights are chosen
    average: bool
    max_epochs: int  # passes over the rows
    # Seconds after which training ends: after the batch in which they are over, the first at the earliest
    max_time: float | None
    batch_size: int  # rows a step
    shuffle: bool  # whether each pass has an order of its own
    dropout: tuple[int, int] | None  # each row keeps a random number of its columns, between these two inclusive
    monitor: str  # decides which epoch is better: for stopping, kept weights and the plateau alike
    patience: int | None  # epochs without a better one after which training stops; None is never
    # Epochs without a better one after which the step size is multiplied by the factor
    lr_plateau: tuple[int, float] | None
    restore_best: bool  # whether to end with the weights of the best epoch
    checkpoint_dir: str | None  # folder that the weights of the best epoch are written to; None keeps them in memory
    # 0 is silent, 1 prints a line an epoch, 2 shows progress within an epoch as well, 3 also what is set up
    verbose: int
    callbacks: tuple[Any, ...]  # more skorch callbacks, their classes, or pairs of a name and one
    seed: int  # of order and dropout
