"""Checkpoints that are complete at any time, and callbacks that write them."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from skorch.callbacks import Callback

from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.persistence._atomic_files import remove_abandoned, unfinished_folder

_NAME = re.compile(r"epoch-(\d{5,})")


class EpochCheckpoints:
    """The folders ``epoch-00001``, ``epoch-00002`` and so on in a folder, each with a saved model."""

    def __init__(self, folder: str | os.PathLike[str], *, keep_all: bool = False) -> None:
        self.keep_all = keep_all  # else only the last and the best epoch
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, epoch: int) -> Path:
        """Return the folder of an epoch."""
        return self.folder / f"epoch-{epoch:05d}"

    def epochs(self) -> list[int]:
        """Return the saved epochs in ascending order."""
        matches = (_NAME.fullmatch(path.name) for path in self.folder.iterdir())
        return sorted(int(match[1]) for match in matches if match)

    def save(self, model: Any, epoch: int) -> None:
        """Save a model with its training state."""
        with unfinished_folder(self.folder) as unfinished:
            save_model(model, unfinished / "model", training_state=True)
            self.remove(epoch)
            (unfinished / "model").rename(self.path(epoch))

    def load(self, epoch: int) -> Any:
        """Load a model."""
        return load_model(self.path(epoch))

    def remove(self, epoch: int) -> None:
        """Remove an epoch, if it exists."""
        if self.path(epoch).exists():
            with unfinished_folder(self.folder) as unfinished:
                self.path(epoch).rename(unfinished / "removed")  # atomic; deleted afterwards

    def clear_unfinished(self) -> None:
        """Delete the unfinished files of a killed training."""
        remove_abandoned(self.folder)


class SaveCheckpoints(Callback):  # type: ignore[misc]  # skorch has no types
    """Save the model after every epoch, and remove older checkpoints."""

    def __init__(self, checkpoints: EpochCheckpoints, make_model: Callable[[], Any], first_epoch: int) -> None:
        self.checkpoints = checkpoints
        self.make_model = make_model
        self.first_epoch = first_epoch

    def on_train_begin(self, _net: Any, **_: Any) -> None:
        """Delete unfinished checkpoints."""
        self.checkpoints.clear_unfinished()

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Save the epoch before removing others."""
        last = len(net.history)
        self.checkpoints.save(self.make_model(), last)
        if self.checkpoints.keep_all:
            return
        keep = {last, best_epoch(net.history, self.first_epoch)}
        for epoch in self.checkpoints.epochs():
            if epoch > self.first_epoch and epoch not in keep:
                self.checkpoints.remove(epoch)


class SaveFromTimeToTime(Callback):  # type: ignore[misc]  # skorch has no types
    """Save the model after every complete epoch, and every ``every`` seconds within an epoch."""

    def __init__(self, save: Callable[[], None], every: float) -> None:
        self.save = save
        self.every = every

    def on_train_begin(self, _net: Any, **_: Any) -> None:
        """Start the clock."""
        self._saved = time.perf_counter()

    def on_batch_end(self, _net: Any, training: bool = False, **_: Any) -> None:
        """Save if the time has passed."""
        if training and time.perf_counter() - self._saved >= self.every:
            self._save()

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Save, unless the time limit cut the epoch short: the end of the training saves it."""
        if not net.time_is_over():
            self._save()

    def _save(self) -> None:
        self.save()
        self._saved = time.perf_counter()


def best_epoch(history: list[Mapping[str, Any]], first_epoch: int) -> int:
    """Return the epoch with the lowest validation loss, or without validation the lowest training loss."""
    measure = "valid_loss" if all("valid_loss" in entry for entry in history[first_epoch:]) else "train_loss"
    losses = [entry[measure] for entry in history[first_epoch:]]
    return first_epoch + losses.index(min(losses)) + 1 if losses else 0
