"""Checks of the folder in which a training starts or is resumed."""

from __future__ import annotations

import os
from numbers import Integral
from pathlib import Path
from typing import Any

from sklearn_hashnlp.persistence import load_model
from sklearn_hashnlp.sentences._bundles import as_network, as_objectives

# Parameters that may change after an interruption: they do not affect the weights, since seeds have been drawn.
_FREE = {
    *("callbacks", "checkpoint_dir", "checkpoint_every", "device", "n_jobs", "random_state", "resume", "scoring"),
    *("sentence_splitter", "verbose"),
}
_BUNDLES = {"network": as_network, "objectives": as_objectives}


def check_free(estimator: Any) -> None:
    """Check that no model is overwritten."""
    folder = Path(estimator.checkpoint_dir)
    if folder.is_file():
        raise FileExistsError(
            f"{type(estimator).__name__}: checkpoint_dir={os.fspath(folder)!r} is a file. Give a folder."
        )
    if folder.is_dir() and any(not path.name.startswith(".") for path in folder.iterdir()):
        raise ValueError(
            f"{type(estimator).__name__}: checkpoint_dir={os.fspath(folder)!r} is not empty. Set resume=True to resume "
            "the training in it, or give another folder, or delete it."
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
        free = _FREE - {"random_state"}  # a different seed asks for a different encoder
    for parameter, value in model.get_params(deep=False).items():
        if parameter not in free and _plain(parameter, value) != _plain(parameter, wanted[parameter]):
            raise ValueError(
                f"{name} cannot resume the training in checkpoint_dir={os.fspath(folder)!r}: its {parameter} is "
                f"{value!r} and not {wanted[parameter]!r}. Set it back, or give another folder."
            )
    if estimator.device not in ("auto", model.net_.device):
        raise ValueError(
            f"{name}(device={estimator.device!r}) cannot resume a training that is on {model.net_.device!r}. Set "
            f"device={model.net_.device!r}, or give another folder."
        )
    return model


def _plain(name: str, value: Any) -> Any:
    """Return the value of a parameter with lists for tuples, and a bundle as its fields."""
    if name in _BUNDLES:
        return {field: _plain(field, own) for field, own in _BUNDLES[name](value).get_params().items()}
    return list(value) if isinstance(value, tuple) else value
