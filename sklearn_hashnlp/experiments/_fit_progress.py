"""How far a training with early stopping has come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skorch.callbacks import Callback


class FitProgress(Callback):  # type: ignore[misc]  # skorch has no types
    """Tell the share of a training that is done, as if no later epoch were better than the best so far.

    Parameters
    ----------
    moved : callable
        Takes the share: 0 when a training begins, then a number an epoch. A better epoch moves the end away, so the
        share may fall.
    max_epochs : int
        Epochs at most.
    patience : int
        Epochs without a better one after which training stops; 0 is never.
    """

    def __init__(self, moved: Callable[[float], None], max_epochs: int, patience: int) -> None:
        self.moved = moved
        self.max_epochs = max_epochs
        self.patience = patience

    def on_train_begin(self, _net: Any, **_: Any) -> None:
        """Begin."""
        self.moved(0.0)

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Tell where the training is."""
        epochs, last = len(net.history), self.max_epochs
        if self.patience and "valid_acc" in net.history[-1]:
            accuracies = net.history[:, "valid_acc"]
            last = min(last, accuracies.index(max(accuracies)) + 1 + self.patience)
        self.moved(min(1.0, epochs / last))
