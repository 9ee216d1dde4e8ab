"""Checkpoints of a sentence encoder, and its state."""

from __future__ import annotations

import os
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from skorch.history import History
from torch import Tensor

from sklearn_hashnlp.persistence import load_model
from sklearn_hashnlp.sentences._net import SentenceNet, make_sentence_net
from sklearn_hashnlp.sentences._training import TrainingState
from sklearn_hashnlp.training._state import pack_table, unpack_table
from sklearn_hashnlp.training._torch_scope import plain_torch, torch_seed

_TABLES = "network.transformer.tables.tables.weight"  # of which only rows of words that were seen are not zero
_COMMON = "network.common"  # as many rows as there were directions
_BEST = "best."


def net_to_state(net: SentenceNet) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what :func:`net_from_state` needs to make a net again."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, tensor in net.module_.state_dict().items():
        array = tensor.detach().cpu().contiguous().numpy()
        arrays |= pack_table(name, array, 0.0) if name == _TABLES else {name: array.copy()}
    architecture = net.get_params_for("module")["architecture"]
    return {"architecture": architecture, "device": torch.device(net.device).type}, arrays


def net_from_state(
    values: dict[str, Any], arrays: dict[str, NDArray[Any]], history: list[dict[str, Any]]
) -> SentenceNet:
    """Make a trained net again."""
    with plain_torch():
        net = make_sentence_net(values["architecture"], "cpu")
        with torch_seed(0):  # what is drawn is overwritten; the user's generator stays where it is
            net.initialize()
        module = net.module_
        module.network.common = torch.zeros(arrays[_COMMON].shape)
        state: dict[str, Any] = {}
        for name, tensor in module.state_dict().items():
            if name == _TABLES:
                table = np.zeros(tensor.shape, dtype=np.float32)
                unpack_table(name, arrays, table)
                state[name] = torch.from_numpy(table)
            else:
                state[name] = torch.from_numpy(np.array(arrays[name]))
        module.load_state_dict(state)
        if values["device"] == "cuda" and torch.cuda.is_available():
            net.set_params(device="cuda")
            module.to("cuda")
        module.eval()
    net.history = History({"batches": []} | entry for entry in history)
    return net


def training_to_state(net: SentenceNet, course: TrainingState | None) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what only further training needs."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, parameter in net.module_.named_parameters():
        for key, value in net.optimizer_.state.get(parameter, {}).items():
            arrays[f"{name}.{key}"] = value.detach().cpu().contiguous().numpy().copy()
    if course is None:
        return {"course": None}, arrays
    arrays |= {f"{_BEST}{name}": value.cpu().numpy().copy() for name, value in course.best_weights.items()}
    return {
        "course": {
            "epoch": course.epoch,
            "batch": course.batch,
            "losses": course.losses,
            "sizes": course.sizes,
            "best_score": course.best_score,
        }
    }, arrays


def training_from_state(
    net: SentenceNet, values: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> TrainingState | None:
    """Take back what :func:`training_to_state` gave."""
    parameters = dict(net.module_.named_parameters())
    best: dict[str, Tensor] = {}
    for name, array in arrays.items():
        if name.startswith(_BEST):
            best[name.removeprefix(_BEST)] = torch.from_numpy(np.array(array))
            continue
        owner, _, key = name.rpartition(".")
        if owner not in parameters or array.shape not in ((), tuple(parameters[owner].shape)):
            raise ValueError(f"The array {name!r} does not fit the net.")
        # A step count stays on the CPU, as Adam keeps it.
        device = "cpu" if key == "step" else parameters[owner].device
        net.optimizer_.state[parameters[owner]][key] = torch.from_numpy(np.array(array)).to(device)
    return None if values["course"] is None else TrainingState(**values["course"], best_weights=best)


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
