"""How far a training with early stopping has come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skorch.callbacks import Callback


class FitProgress(Callback):  # type: ignore[misc]  # skorch has no types
    """Return the share of a training that is done, as if no later epoch were better than the best so far."""

    def __init__(
        self, moved: Callable[[float], None], max_epochs: int, patience: int, monitor: str = "valid_acc"
    ) -> None:
        self.moved = moved
        self.max_epochs = max_epochs
        self.patience = patience
        self.monitor = monitor

    def on_train_begin(self, _net: Any, **_: Any) -> None:
        """Begin."""
        self.moved(0.0)

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Return where the training is."""
        epochs, last = len(net.history), self.max_epochs
        if self.patience and self.monitor in net.history[-1]:
            scores = net.history[:, self.monitor]
            best = min(scores) if self.monitor == "valid_loss" else max(scores)
            last = min(last, scores.index(best) + 1 + self.patience)
        self.moved(min(1.0, epochs / last))
