"""Files and folders that are whole at any time."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from skorch.callbacks import Callback

from sklearn_hashnlp.persistence import load_model, save_model


def write_checkpoint(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Write weights in the place of earlier ones; whoever reads or is interrupted finds the old or the new ones."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Within the folder, and so within its file system, where renaming is atomic.
    with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=path.parent) as folder:
        unfinished = Path(folder, path.name)
        save_file(arrays, unfinished)
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        unfinished.replace(path)


def read_checkpoint(path: Path) -> dict[str, NDArray[Any]]:
    """Read what :func:`write_checkpoint` wrote."""
    arrays: dict[str, NDArray[Any]] = load_file(path)
    return arrays


_UNFINISHED = ".unfinished-"
_NAME = re.compile(r"pass-(\d{5,})")


class EpochCheckpoints:
    """The folders ``pass-00001``, ``pass-00002`` and so on within a folder."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, number: int) -> Path:
        """Return the folder of a pass."""
        return self.folder / f"pass-{number:05d}"

    def numbers(self) -> list[int]:
        """Return which passes are there."""
        found = (_NAME.fullmatch(path.name) for path in self.folder.iterdir())
        return sorted(int(match[1]) for match in found if match)

    def save(self, model: Any, number: int) -> None:
        """Save a model with all that further training needs."""
        unfinished = self._unfinished()
        try:
            save_model(model, unfinished, training_state=True)
            self.remove(number)
            unfinished.rename(self.path(number))
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)

    def load(self, number: int) -> Any:
        """Load a model."""
        return load_model(self.path(number))

    def remove(self, number: int) -> None:
        """Remove a pass, if it is there."""
        if self.path(number).exists():
            unfinished = self._unfinished()
            self.path(number).rename(unfinished)  # over an empty folder: gone at once, though not yet deleted
            shutil.rmtree(unfinished, ignore_errors=True)

    def clear_unfinished(self) -> None:
        """Delete what a training that was killed had begun to write."""
        for path in self.folder.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(path, ignore_errors=True)

    def _unfinished(self) -> Path:
        return Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=self.folder))


class SaveCheckpoints(Callback):  # type: ignore[misc]  # skorch has no types
    """Save the model after every epoch, and remove what is not to be kept."""

    def __init__(self, passes: EpochCheckpoints, make_model: Callable[[], Any], keep: str, first: int) -> None:
        self.passes = passes
        self.make_model = make_model
        self.keep = keep
        self.first = first

    def on_train_begin(self, _net: Any, **_: Any) -> None:
        """Tidy up."""
        self.passes.clear_unfinished()

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Save, and only then remove."""
        last = len(net.history)
        self.passes.save(self.make_model(), last)
        if self.keep == "all":
            return
        kept = {last, best_epoch(net.history, self.first)} if self.keep == "best" else {last}
        for number in self.passes.numbers():
            if number > self.first and number not in kept:
                self.passes.remove(number)


def best_epoch(history: list[dict[str, Any]], first: int) -> int:
    """Return which epoch was the best: by the validation loss, or where there was none by the training loss."""
    measure = "valid_loss" if all("valid_loss" in entry for entry in history[first:]) else "train_loss"
    losses = [entry[measure] for entry in history[first:]]
    return first + losses.index(min(losses)) + 1 if losses else 0
