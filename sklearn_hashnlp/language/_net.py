"""The skorch net of a language model, and its state."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from skorch.callbacks import Callback, EpochTimer, PassthroughScoring, PrintLog
from skorch.history import History
from skorch.utils import TeeGenerator
from torch import Tensor, nn

from sklearn_hashnlp.language._batches import WindowBatches, WindowDataset
from sklearn_hashnlp.language._network import make_nplm
from sklearn_hashnlp.language._windows import WordWindows
from sklearn_hashnlp.optim import RowwiseAdagrad
from sklearn_hashnlp.training._net import Net
from sklearn_hashnlp.training._state import pack_table, unpack_table
from sklearn_hashnlp.training._torch_scope import plain_torch, torch_seed
from sklearn_hashnlp.trees import SoftmaxTree

SCORE_ROWS = 1024


class LanguageNet(Net):
    """A skorch net that predicts words from the words before."""

    divergence: ClassVar[str] = (
        "The training diverged: the loss is infinite or not a number. Set a smaller learning_rate."
    )

    @property
    def _default_callbacks(self) -> list[tuple[str, Any]]:
        return [
            ("epoch_timer", EpochTimer()),
            ("train_loss", PassthroughScoring("train_loss", on_train=True)),
            ("valid_loss", PassthroughScoring("valid_loss")),
            ("perplexity", Perplexities()),
            ("print_log", PrintLog(keys_ignored=["train_loss_best", "valid_loss_best"])),
        ]

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Drop what was noted for each batch of the epoch before: of a large corpus that would fill the memory."""
        super().on_epoch_begin(net, **kwargs)
        for entry in self.history[-2:-1]:
            entry["batches"] = []

    def infer(self, x: Tensor) -> Tensor:
        """Return the log-probabilities of all words, for skorch's callbacks."""
        log_probs: Tensor = self.module_.log_prob(x.to(self.device))
        return log_probs

    def train_step(self, batch: Any, **fit_params: Any) -> dict[str, Any]:
        """Learn from one batch."""
        context, target = batch
        if not self.module_.training:
            self._set_training(True)
        self.optimizer_.zero_grad()
        log_probs, loss = self.module_(context, target)
        torch.autograd.backward(loss)
        for hook in self.hooks("on_grad_computed"):
            hook(self, named_parameters=TeeGenerator(self.get_all_learnable_params()), batch=batch, training=True)
        self.optimizer_.step()
        return {"loss": loss, "y_pred": log_probs}

    def validation_step(self, batch: Any, **fit_params: Any) -> dict[str, Any]:
        """Compute the loss of one batch."""
        if self.module_.training:
            self._set_training(False)
        with torch.no_grad():
            log_probs, loss = self.module_(*batch)
        return {"loss": loss, "y_pred": log_probs}

    def score_windows(self, windows: WordWindows | WindowDataset) -> NDArray[np.float64]:
        """Return the log-probability of every window's last word."""
        self.module_.eval()
        found = [np.empty(0)]
        with torch.inference_mode():
            for context, target in WindowBatches(self.get_dataset(windows), SCORE_ROWS, device=self.device):
                found.append(self.module_(context, target)[0].double().cpu().numpy())
        return np.concatenate(found)


class Perplexities(Callback):  # type: ignore[misc]  # skorch has no types
    """Note the perplexities of every epoch: the exponentials of its losses."""

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Note them."""
        for prefix in ("train", "valid"):
            if f"{prefix}_loss" in net.history[-1]:
                loss = net.history[-1, f"{prefix}_loss"]
                net.history.record(f"{prefix}_perplexity", math.exp(min(loss, 700.0)))


def make_language_net(architecture: dict[str, Any], tree: Any, device: str) -> LanguageNet:
    """Make a net that is not initialised yet."""
    return LanguageNet(
        make_nplm,
        module__architecture=architecture,
        module__tree=tree,
        criterion=nn.Identity,
        optimizer=RowwiseAdagrad,
        dataset=WindowDataset,
        iterator_train=WindowBatches,
        iterator_valid=WindowBatches,
        iterator_valid__batch_size=SCORE_ROWS,
        train_split=None,
        verbose=0,
        device=device,
    )


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
