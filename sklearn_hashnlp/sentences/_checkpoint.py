"""Checks before a training is begun in a folder, or resumed from one."""

from __future__ import annotations

import os
from numbers import Integral
from pathlib import Path
from typing import Any

from sklearn_hashnlp.persistence import load_model

# What may be another after an interruption: nothing of it decides what is learned, since seeds have been drawn.
_FREE = {
    *("callbacks", "checkpoint_dir", "checkpoint_every", "device", "log_every", "max_time", "monitor", "n_jobs"),
    *("random_state", "resume", "sentence_splitter", "verbose"),
}


def check_free(estimator: Any) -> None:
    """Check that no model is written over."""
    folder = Path(estimator.checkpoint_dir)
    if folder.is_file():
        raise FileExistsError(
            f"{type(estimator).__name__}: checkpoint_dir={os.fspath(folder)!r} is a file. Give a folder."
        )
    if folder.is_dir() and any(not path.name.startswith(".") for path in folder.iterdir()):
        raise ValueError(
            f"{type(estimator).__name__}: checkpoint_dir={os.fspath(folder)!r} is not empty. Set resume=True to go on "
            "with the training in it, or give another folder, or delete it."
        )


def read_checkpoint(estimator: Any) -> Any:
    """Load the training in a folder."""
    name, folder = type(estimator).__name__, Path(estimator.checkpoint_dir)
    try:
        model = load_model(folder)
    except FileNotFoundError:
        return None
    if type(model) is not type(estimator):
        raise ValueError(f"{name}: checkpoint_dir={os.fspath(folder)!r} holds a {type(model).__name__}.")
    wanted, free = estimator.get_params(deep=False), _FREE
    if isinstance(wanted["random_state"], Integral) and model.random_state is not None:
        free = _FREE - {"random_state"}  # who asks for another seed does not want the encoder of this one
    for parameter, value in model.get_params(deep=False).items():
        if parameter not in free and _plain(value) != _plain(wanted[parameter]):
            raise ValueError(
                f"{name} cannot go on with the training in checkpoint_dir={os.fspath(folder)!r}: its {parameter} is "
                f"{value!r} and not {wanted[parameter]!r}. Set it back, or give another folder."
            )
    if estimator.device not in ("auto", model.net_.device):
        raise ValueError(
            f"{name}(device={estimator.device!r}) cannot go on with a training that is on {model.net_.device!r}. Set "
            f"device={model.net_.device!r}, or give another folder."
        )
    return model


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
