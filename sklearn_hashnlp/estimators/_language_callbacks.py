"""What happens around the batches and epochs of a language model's training."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from skorch.callbacks import Callback
from torch import Tensor

from sklearn_hashnlp.estimators._best_weights import RowJournal
from sklearn_hashnlp.estimators._word_windows import WordWindows
from sklearn_hashnlp.nn._rowwise_optimizer import coalesced


class SeedEpochs(Callback):  # type: ignore[misc]  # skorch has no types
    """Return every epoch's order and dropout a seed of its own, which only the training's and its number decide."""

    def __init__(self, seed: int, generator: np.random.Generator) -> None:
        self.seed = seed
        self.generator = generator

    def on_epoch_begin(self, net: Any, **_: Any) -> None:
        """Seed the generators."""
        of_order, of_dropout, of_words = np.random.SeedSequence((self.seed, len(net.history))).generate_state(3)
        self.generator.bit_generator.state = np.random.default_rng(of_order).bit_generator.state
        for layer, seed in ((net.module_.dropout, of_dropout), (net.module_.embedding_dropout, of_words)):
            if torch.device(net.device).type == "cpu":
                layer.generator = np.random.default_rng(seed)
            else:
                layer.generator = torch.Generator(net.device).manual_seed(int(seed))

    def on_train_end(self, net: Any, **_: Any) -> None:
        """Leave the module as it was."""
        net.module_.dropout.generator = net.module_.embedding_dropout.generator = None


class Plateau(Callback):  # type: ignore[misc]  # skorch has no types
    """Make the step size smaller when the validation loss no longer falls."""

    def __init__(self, patience: int, factor: float, first: int) -> None:
        self.patience = patience
        self.factor = factor
        self.first = first

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Look at the losses so far; nothing else is remembered, so that a training can be taken up again."""
        best, waited = math.inf, 0
        for entry in net.history[self.first :]:
            waited = 0 if waited >= self.patience else waited
            waited = 0 if entry["valid_loss"] < best else waited + 1
            best = min(best, entry["valid_loss"])
        if waited >= self.patience:
            for group in net.optimizer_.param_groups:
                group["lr"] *= self.factor


class StopAtBestPass(Callback):  # type: ignore[misc]  # skorch has no types
    """Stop when the validation loss has not fallen for some epochs, and end with the weights of the best epoch."""

    def __init__(self, patience: int | None, first: int, best_weights: dict[str, Tensor] | None = None) -> None:
        self.patience = patience
        self.first = first
        self.best_weights = best_weights

    def on_train_begin(self, net: Any, **_: Any) -> None:
        """Start afresh, or where an interrupted training was."""
        self._journals: dict[str, RowJournal] = {}
        self._copies: dict[str, Tensor] = dict(self.best_weights or {})
        losses = [entry["valid_loss"] for entry in net.history[self.first :]]
        self._best_loss = min(losses, default=math.inf)
        self.best_epoch_ = self.first + losses.index(self._best_loss) + 1 if losses else 0

    def on_grad_computed(self, net: Any, **_: Any) -> None:
        """Remember the rows that the optimiser is about to write."""
        if not self._copies:
            return
        for name, parameter in net.module_.named_parameters():
            if parameter.grad is not None and name not in self._copies:
                parameter.grad = coalesced(parameter.grad)  # the optimiser needs it so, too
                self._journals.setdefault(name, RowJournal(parameter)).note(parameter.grad.indices()[0])

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Compare with the best epoch."""
        loss, epoch = net.history[-1, "valid_loss"], len(net.history)
        if loss < self._best_loss:
            self._best_loss, self.best_epoch_ = loss, epoch
            self._keep(net.module_)
        elif self.patience is not None and epoch - self.best_epoch_ >= self.patience:
            raise KeyboardInterrupt  # skorch's way to end training in good order

    def on_train_end(self, net: Any, **_: Any) -> None:
        """Return to the best epoch."""
        for journal in self._journals.values():
            journal.undo()
        state = net.module_.state_dict()  # shares memory with the module
        with torch.no_grad():
            for name, value in self._copies.items():
                state[name].copy_(value)
        self._journals, self._copies = {}, {}

    def _keep(self, module: torch.nn.Module) -> None:
        for journal in self._journals.values():
            journal.forget()
        tables = {
            name
            for name, parameter in module.named_parameters()
            if parameter.grad is not None and parameter.grad.is_sparse and parameter.device.type == "cpu"
        }
        self._copies = {name: value.clone() for name, value in module.state_dict().items() if name not in tables}


class StepLog(Callback):  # type: ignore[misc]  # skorch has no types
    """Note training and validation loss every so many steps of an epoch, and print them."""

    def __init__(
        self, every: int, valid_windows: WordWindows | None, log: list[dict[str, float]], *, show: bool
    ) -> None:
        self.every = every
        self.valid_windows = valid_windows
        self.log = log
        self.show = show

    def on_epoch_begin(self, _net: Any, **_: Any) -> None:
        """Begin to count."""
        self._n_steps = self._n_words = 0
        self._sum = 0.0

    def on_batch_end(self, net: Any, batch: Any = None, training: bool = False, **_: Any) -> None:
        """Count a step."""
        if not training:
            return
        self._n_steps += 1
        self._sum += net.history[-1]["batches"][-1]["train_loss"] * len(batch[0])
        self._n_words += len(batch[0])
        if self._n_steps % self.every:
            return
        entry = {"epoch": len(net.history), "step": self._n_steps, "train_loss": self._sum / self._n_words}
        if self.valid_windows is not None:
            entry["valid_loss"] = -float(net.score_windows(self.valid_windows).mean())
        self._sum, self._n_words = 0.0, 0
        self.log.append(entry)
        if self.show:
            print(_line(entry), flush=True)


def _line(entry: dict[str, float]) -> str:
    parts = [f"epoch {entry['epoch']}, step {entry['step']}: train loss {entry['train_loss']:.4f}"]
    parts.append(f"perplexity {math.exp(min(entry['train_loss'], 700.0)):.2f}")
    if "valid_loss" in entry:
        parts.append(f"valid loss {entry['valid_loss']:.4f}")
        parts.append(f"perplexity {math.exp(min(entry['valid_loss'], 700.0)):.2f}")
    return ", ".join(parts)
