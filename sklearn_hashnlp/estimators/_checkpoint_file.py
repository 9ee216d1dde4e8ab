"""Weights on disk, whole at any time."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file


def write_checkpoint(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Write weights in the place of earlier ones; whoever reads or is interrupted finds the old ones or the new ones.

    Parameters
    ----------
    path : Path
        The file. Its folder is made if it does not exist.
    arrays : dict of str to ndarray
        The weights.

    Raises
    ------
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_checkpoint(Path(folder, "weights.safetensors"), {"bias": np.zeros(2)})
    ...     read_checkpoint(Path(folder, "weights.safetensors"))
    {'bias': array([0., 0.])}
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Within the folder, and so within its file system, where renaming is atomic.
    with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=path.parent) as folder:
        unfinished = Path(folder, path.name)
        save_file(arrays, unfinished)
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        unfinished.replace(path)


def read_checkpoint(path: Path) -> dict[str, NDArray[Any]]:
    """Read what :func:`write_checkpoint` wrote.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    dict of str to ndarray
        The weights.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    """
    arrays: dict[str, NDArray[Any]] = load_file(path)
    return arrays
