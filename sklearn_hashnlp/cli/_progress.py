"""The progress of a training on the screen: a skorch callback, and the line of an epoch."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

from skorch.callbacks import Callback

from sklearn_hashnlp.training import StepLog
from sklearn_hashnlp.training._callbacks import format_perplexity

_RECENT_BATCHES = 200  # number of batches in the displayed mean
_SCORES: Final = {
    "valid_acc": "accuracy",
    "valid_accuracy": "accuracy",
    "valid_precision_at_1": "precision at 1",
    "valid_recall_at_1": "recall at 1",
}


class Progress(Callback):  # type: ignore[misc]  # skorch has no types
    """Update a progress bar with every batch, and write a line for every log entry and every epoch."""

    shows_progress = True  # solvers without epochs ignore it

    def __init__(
        self,
        write: Callable[[str], None],
        update: Callable[[int, int, str], None],
        figures: Callable[[Any], dict[str, float]] | None = None,  # to record and show after an epoch
        *,
        perplexity: bool = False,  # whether to show it and not the loss
    ) -> None:
        self.write = write
        self.update = update
        self.figures = figures
        self.perplexity = perplexity

    def on_train_begin(self, net: Any, **_: Any) -> None:
        """Set the number of epochs and find their log."""
        self._n_epochs = len(net.history) + net.max_epochs  # including epochs before an interruption
        logs = [callback.log_ for _, callback in net.callbacks_ if isinstance(callback, StepLog)]
        self._log = logs[0] if logs else []
        self._n_written = len(self._log)

    def on_epoch_begin(self, net: Any, dataset_train: Any = None, **_: Any) -> None:
        """Reset the counts."""
        self._n_rows = len(dataset_train)
        self._n_seen = self._n_measured = 0
        self._losses: deque[float] = deque(maxlen=_RECENT_BATCHES)

    def on_batch_begin(self, net: Any, batch: Any = None, training: bool = False, **_: Any) -> None:
        """Update the bar at the start of a batch: reading its loss at its end would synchronize with a GPU."""
        if training:
            self._move(net)
            self._n_seen += len(batch[1])

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Write the line of the epoch."""
        self._move(net)
        for name, value in ({} if self.figures is None else self.figures(net)).items():
            net.history.record(name, value)
        self.write(epoch_line(net.history[-1], self._n_epochs, perplexity=self.perplexity))

    def _move(self, net: Any) -> None:
        for entry in self._log[self._n_written :]:
            self.write("   ".join([f"  step {entry['step']}", *_losses(entry, perplexity=self.perplexity)]))
        self._n_written = len(self._log)
        batches = net.history[-1]["batches"]
        while self._n_measured < len(batches) and "train_loss" in batches[self._n_measured]:
            self._losses.append(batches[self._n_measured]["train_loss"])
            self._n_measured += 1
        text = f"Epoch {len(net.history)}/{self._n_epochs}"
        if self._losses:
            text += f", {_loss(sum(self._losses) / len(self._losses), perplexity=self.perplexity, n_digits=1)}"
        n_before = (len(net.history) - 1) * self._n_rows
        self.update(n_before + self._n_seen, self._n_epochs * self._n_rows, text)


def epoch_line(epoch: Mapping[str, Any], n_epochs: int, *, perplexity: bool = False) -> str:
    """Return the line of an epoch: its losses, its scores on validation texts, and its seconds."""
    parts = [f"Epoch {epoch['epoch']}/{n_epochs}", *_losses(epoch, perplexity=perplexity)]
    parts += [f"validation {words} {epoch[name]:.4f}" for name, words in _SCORES.items() if name in epoch]
    return "   ".join([*parts, f"{epoch['dur']:.1f} s"])


def _losses(entry: Mapping[str, Any], *, perplexity: bool) -> list[str]:
    names = {"train_loss": "training", "valid_loss": "validation"}
    return [f"{kind} {_loss(entry[name], perplexity=perplexity)}" for name, kind in names.items() if name in entry]


def _loss(loss: float, *, perplexity: bool, n_digits: int = 2) -> str:
    return f"perplexity {format_perplexity(loss, n_digits)}" if perplexity else f"loss {loss:.4f}"
