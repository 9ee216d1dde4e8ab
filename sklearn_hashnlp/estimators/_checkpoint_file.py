"""Weights on disk, whole at any time."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

FILE_NAME = "best_weights.safetensors"


def write_checkpoint(folder: str, arrays: dict[str, NDArray[Any]]) -> None:
    """Write weights in the place of earlier ones; whoever reads or is interrupted finds the old ones or the new ones.

    Parameters
    ----------
    folder : str
        Where the file ``best_weights.safetensors`` is to be. It is made if it does not exist.
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
    ...     write_checkpoint(folder, {"bias": np.zeros(2)})
    ...     read_checkpoint(folder)
    {'bias': array([0., 0.])}
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    # Within the folder, and so within its file system, where renaming is atomic.
    with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=folder) as unfinished:
        path = Path(unfinished, FILE_NAME)
        save_file(arrays, path)
        with path.open("rb+") as file:
            os.fsync(file.fileno())
        path.replace(Path(folder, FILE_NAME))


def read_checkpoint(folder: str) -> dict[str, NDArray[Any]]:
    """Read what :func:`write_checkpoint` wrote.

    Parameters
    ----------
    folder : str
        The folder.

    Returns
    -------
    dict of str to ndarray
        The weights.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    """
    arrays: dict[str, NDArray[Any]] = load_file(Path(folder, FILE_NAME))
    return arrays
