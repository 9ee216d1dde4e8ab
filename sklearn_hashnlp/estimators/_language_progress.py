"""How far the training of a language model is, told while it goes on."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any

from skorch.callbacks import Callback

from sklearn_hashnlp.estimators._language_callbacks import StepLog

_RECENT_BATCHES = 200  # enough for a steady number, and few enough to see it fall


class LanguageProgress(Callback):  # type: ignore[misc]  # skorch has no types
    """Return where a training is: every batch, every entry of its log and every epoch."""

    def __init__(self, tell: Callable[[str], None], move: Callable[[int, int, str], None]) -> None:
        self.tell = tell
        self.move = move

    def on_train_begin(self, net: Any, **_: Any) -> None:
        """Learn how many epochs there will be, and where their log is."""
        self._n_epochs = len(net.history) + net.max_epochs  # those before an interruption count
        logs = [callback.log for _, callback in net.callbacks_ if isinstance(callback, StepLog)]
        self._log = logs[0] if logs else []
        self._n_told = len(self._log)

    def on_epoch_begin(self, net: Any, dataset_train: Any = None, **_: Any) -> None:
        """Begin to count."""
        self._n_words = len(dataset_train)
        self._n_seen = self._n_measured = 0
        self._losses: deque[float] = deque(maxlen=_RECENT_BATCHES)

    def on_batch_begin(self, net: Any, batch: Any = None, training: bool = False, **_: Any) -> None:
        """Move on, at the beginning of a batch: to ask for its loss at its end would make a GPU wait."""
        if training:
            self._move(net)
            self._n_seen += len(batch[0])

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Return how the epoch went."""
        self._move(net)
        epoch = net.history[-1]
        parts = [f"Epoch {epoch['epoch']}/{self._n_epochs}", f"training perplexity {epoch['train_perplexity']:.2f}"]
        if "valid_perplexity" in epoch:
            parts.append(f"validation perplexity {epoch['valid_perplexity']:.2f}")
        self.tell("   ".join([*parts, f"{epoch['dur']:.1f} s"]))

    def _move(self, net: Any) -> None:
        for entry in self._log[self._n_told :]:
            self.tell(_line(entry))
        self._n_told = len(self._log)
        batches = net.history[-1]["batches"]
        while self._n_measured < len(batches) and "train_loss" in batches[self._n_measured]:
            self._losses.append(batches[self._n_measured]["train_loss"])
            self._n_measured += 1
        text = f"Epoch {len(net.history)}/{self._n_epochs}"
        if self._losses:
            text += f", perplexity {_perplexity(sum(self._losses) / len(self._losses)):.1f}"
        n_before = (len(net.history) - 1) * self._n_words
        self.move(n_before + self._n_seen, self._n_epochs * self._n_words, text)


def _line(entry: dict[str, float]) -> str:
    parts = [f"  step {entry['step']}", f"training perplexity {_perplexity(entry['train_loss']):.2f}"]
    if "valid_loss" in entry:
        parts.append(f"validation perplexity {_perplexity(entry['valid_loss']):.2f}")
    return "   ".join(parts)


def _perplexity(loss: float) -> float:
    return math.exp(min(loss, 700.0))
