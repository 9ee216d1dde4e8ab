"""Weights on disk, whole at any time."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file


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
