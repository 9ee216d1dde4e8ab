"""A language model's net and words as JSON values and arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from skorch.history import History

from sklearn_hashnlp.estimators._language_net import LanguageNet, make_language_net
from sklearn_hashnlp.estimators._model_state import pack_table, unpack_table
from sklearn_hashnlp.estimators._training import plain_torch, torch_seed
from sklearn_hashnlp.trees import SoftmaxTree

_STARTS_AT_ZERO = "output_layer.direct"  # a table of which few rows are trained


def net_to_state(net: LanguageNet) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what :func:`net_from_state` needs to make a net again."""
    parameters = net.get_params_for("module")
    arrays: dict[str, NDArray[Any]] = {}
    for name, tensor in net.module_.state_dict().items():
        array = tensor.detach().cpu().contiguous().numpy()
        arrays |= pack_table(name, array, 0.0) if name == _STARTS_AT_ZERO else {name: array.copy()}
    if parameters["tree"] is not None:
        arrays |= {f"tree.{name}": array for name, array in parameters["tree"].to_arrays().items()}
    return {"architecture": parameters["architecture"], "device": torch.device(net.device).type}, arrays


def net_from_state(
    values: dict[str, Any], arrays: dict[str, NDArray[Any]], history: list[dict[str, Any]]
) -> LanguageNet:
    """Make a trained net again."""
    tree = None
    if values["architecture"]["output"] == "hsigmoid":
        tree = SoftmaxTree.from_arrays({name: arrays[f"tree.{name}"] for name in ("children", "offsets")})
    with plain_torch():
        net = make_language_net(values["architecture"], tree, "cpu")
        with torch_seed(0):  # what is drawn is overwritten; the user's generator stays where it is
            net.initialize()
        load_weights(net, arrays)
        if values["device"] == "cuda" and torch.cuda.is_available():
            net.set_params(device="cuda")
            net.module_.to("cuda")
        net.module_.eval()
    net.history = History({"batches": []} | entry for entry in history)
    return net


def load_weights(net: LanguageNet, arrays: dict[str, NDArray[Any]]) -> None:
    """Write stored weights over those of a net."""
    module = net.module_
    state: dict[str, Any] = {}
    for name, tensor in module.state_dict().items():
        if name == _STARTS_AT_ZERO:
            table = np.zeros(tensor.shape, dtype=np.float32)
            unpack_table(name, arrays, table)
            state[name] = torch.from_numpy(table)
        else:
            state[name] = torch.from_numpy(np.array(arrays[name]))
    module.load_state_dict(state)
