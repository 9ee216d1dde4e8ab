"""How far a training is, told by skorch's callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skorch.callbacks import Callback


class EpochProgress(Callback):  # type: ignore[misc]  # skorch has no types
    """Moves a progress bar with every batch and tells a line with every epoch."""

    def __init__(self, tell: Callable[[str], None], move: Callable[[int, int], None]) -> None:
        self.tell = tell
        self.move = move

    def initialize(self) -> EpochProgress:
        """Begin a new training."""
        self.seen_ = 0
        self.total_ = 0
        return self

    def on_epoch_begin(self, net: Any, dataset_train: Any = None, **kwargs: Any) -> None:
        """Learn how many rows there are."""
        self.total_ = len(dataset_train) * net.max_epochs

    def on_batch_end(self, net: Any, batch: Any = None, training: bool | None = None, **kwargs: Any) -> None:
        """Move the bar."""
        if training:
            self.seen_ += len(batch[1])
            self.move(self.seen_, self.total_)

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Return how the epoch went."""
        epoch = net.history[-1]
        parts = [f"Epoch {epoch['epoch']}/{net.max_epochs}", f"training loss {epoch['train_loss']:.4f}"]
        if "valid_loss" in epoch:
            parts.append(f"validation loss {epoch['valid_loss']:.4f}")
        if "valid_acc" in epoch:
            parts.append(f"validation accuracy {epoch['valid_acc']:.4f}")
        self.tell("   ".join([*parts, f"{epoch['dur']:.1f} s"]))
