"""Checkpoints of a training, complete at any time, and the callback that saves them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Self

from skorch.callbacks import Callback

from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.persistence._atomic_files import remove_abandoned, unfinished_folder

_NAME = re.compile(r"epoch-(\d{5,})")
_KEPT = "best", "all"


class Checkpoints:
    """Saved models and training states: by epoch in ``epoch-00001`` and so on, or by time the last.

    By time the folder itself is the model, which is saved every ``every`` seconds.
    """

    def __init__(
        self, folder: str | PathLike[str], *, every: float | None = None, keep_all: bool = False
    ) -> None:
        self.folder = Path(folder)
        self.every = every  # None is by epoch
        self.keep_all = keep_all  # else only the last and the best epoch

    @classmethod
    def of(cls, estimator: Any, *, every: float | None = None) -> Self | None:
        """Return the checkpoints in ``checkpoint_dir``: None, a path, or (path, epochs to keep)."""
        name = type(estimator).__name__
        folder = estimator.checkpoint_dir
        keep = "best"
        if isinstance(folder, tuple | list):
            if (
                len(folder) != 2
                or not isinstance(folder[0], str | PathLike)
                or folder[1] not in _KEPT
            ):
                raise ValueError(
                    f"The 'checkpoint_dir' parameter of {name} must be a path, or a tuple of a "
                    f"path and 'all' or 'best', the epochs to keep. Got {folder!r} instead."
                )
            folder, keep = folder
        if folder is None and not estimator.resume:
            return None
        if folder is None:
            raise ValueError(
                f"{name}(resume=True) needs checkpoint_dir, the folder of the training to continue."
            )
        return cls(folder, every=every, keep_all=keep == "all")

    def path(self, epoch: int) -> Path:
        """Return the folder of an epoch."""
        return self.folder if self.every is not None else self.folder / f"epoch-{epoch:05d}"

    def epochs(self) -> list[int]:
        """Return the saved epochs in ascending order."""
        names = (path.name for path in self.folder.iterdir()) if self.folder.is_dir() else ()
        return sorted(int(match[1]) for match in map(_NAME.fullmatch, names) if match)

    def begin(self, estimator: Any, *, n_epochs: int = 0) -> Any:
        """Return the model to resume or, without one or ``resume``, None and create the folder.

        An error is raised if the folder has another training than the ``n_epochs`` epochs that the
        estimator had.
        """
        self.clear_unfinished()
        model = self._last() if estimator.resume else None
        name, folder = type(estimator).__name__, f"checkpoint_dir={str(self.folder)!r}"
        if model is not None:
            if type(model) is not type(estimator):
                raise ValueError(f"{name}: {folder} has a {type(model).__name__}.")
            return model
        if self.folder.is_file():
            raise FileExistsError(f"{name}: {folder} is a file. Give a folder.")
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.every is None:
            others = [self.path(epoch).name for epoch in self.epochs() if epoch > n_epochs]
        else:
            others = [path.name for path in self.folder.iterdir() if not path.name.startswith(".")]
        if others:
            raise ValueError(
                f"{name}: {folder} already has {others[0]}. Set resume=True to continue the "
                "training in it, or give another folder, or delete it."
            )
        return None

    def _last(self) -> Any:
        if self.every is None:
            epochs = self.epochs()
            return self.load(epochs[-1]) if epochs else None
        try:
            return load_model(self.folder)
        except FileNotFoundError:
            return None

    def save(self, model: Any, epoch: int = 0, *, training_state: bool = True) -> None:
        """Save a model with its training state."""
        if self.every is not None:
            save_model(model, self.folder, training_state=training_state)
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with unfinished_folder(self.folder) as unfinished:
            save_model(model, unfinished / "model", training_state=training_state)
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


@dataclass(eq=False, repr=False)
class SaveCheckpoints(Callback):  # type: ignore[misc]  # skorch has no types
    """Save the model after every epoch, by time also within; by epoch remove older ones."""

    checkpoints: Checkpoints
    make_model: Callable[[], Any]
    first_epoch: int = 0

    def on_train_begin(self, _net: Any, **_: Any) -> None:
        """Delete unfinished checkpoints, and start the clock."""
        self.checkpoints.clear_unfinished()
        self._saved = time.perf_counter()

    def on_batch_begin(self, net: Any, training: bool = False, **_: Any) -> None:
        """Save if it is time; a callback at the end of a batch would synchronize with a GPU."""
        every = self.checkpoints.every
        if training and every is not None and time.perf_counter() - self._saved >= every:
            self._save(net)

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Save the epoch before removing others."""
        if self.checkpoints.every is not None:
            # the end of the training saves an epoch that the time limit cut short
            if not net.time_is_over():
                self._save(net)
            return
        self._save(net)
        if self.checkpoints.keep_all:
            return
        keep = {len(net.history), best_epoch(net.history, self.first_epoch)}
        for epoch in self.checkpoints.epochs():
            if epoch > self.first_epoch and epoch not in keep:
                self.checkpoints.remove(epoch)

    def _save(self, net: Any) -> None:
        self.checkpoints.save(self.make_model(), len(net.history))
        self._saved = time.perf_counter()


def best_epoch(history: Sequence[Mapping[str, Any]], first_epoch: int) -> int:
    """Return the epoch with the lowest validation loss or, without validation, training loss."""
    measure = (
        "valid_loss"
        if all("valid_loss" in entry for entry in history[first_epoch:])
        else "train_loss"
    )
    losses = [entry[measure] for entry in history[first_epoch:]]
    return first_epoch + losses.index(min(losses)) + 1 if losses else 0


def storable_copy(estimator: Any, *functions: str) -> Any:
    """Return a shallow copy that can be saved: no callbacks, generators or named ``functions``."""
    copy = estimator._shallow_copy()
    copy.set_params(**dict.fromkeys(("callbacks", *functions)))
    if not isinstance(copy.random_state, Integral):
        copy.set_params(random_state=None)
    folder = copy.checkpoint_dir
    is_pair = isinstance(folder, tuple | list)
    return copy.set_params(
        checkpoint_dir=(fspath(folder[0]), folder[1]) if is_pair else fspath(folder)
    )
