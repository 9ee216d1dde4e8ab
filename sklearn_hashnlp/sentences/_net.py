"""The skorch net inside SGNNSentenceEncoder."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any, ClassVar

import numpy as np
import torch
from skorch.callbacks import EpochTimer, PassthroughScoring, PrintLog
from skorch.dataset import Dataset as SkorchDataset
from skorch.utils import TeeGenerator
from torch import nn

from sklearn_hashnlp.nn._sentence_network import make_sentence_module
from sklearn_hashnlp.sentences._batches import ParagraphBatch, ParagraphBatches
from sklearn_hashnlp.sentences._objective import SentenceObjective
from sklearn_hashnlp.training._net import Net
from sklearn_hashnlp.training._torch_scope import torch_seed

_WARM_UP = 0.02  # share of a training in which the step size rises


class EpochsOfParagraphs(SkorchDataset):  # type: ignore[misc]  # skorch has no types
    """Batches of paragraphs, epoch after epoch, each in an order of its own."""

    def __init__(
        self, make_batches: Callable[[int, int], ParagraphBatches], n_sentences: int, *, epoch: int = 0, first: int = 0
    ) -> None:
        self.make_batches = make_batches
        self.n_sentences = n_sentences
        self.epoch, self.first = epoch, first
        self.n_batches = 1
        self.waited = self.total = 0.0

    def __len__(self) -> int:
        return self.n_sentences

    def __iter__(self) -> Iterator[ParagraphBatch]:
        batches = self.make_batches(self.epoch, self.first)
        self.n_batches = self.first + len(batches)
        started = time.perf_counter()
        try:
            yield from batches
        finally:
            self.waited += batches.waited
            self.total += time.perf_counter() - started
        self.epoch, self.first = self.epoch + 1, 0


class SentenceNet(Net):
    """A skorch net that learns which sentences belong together."""

    divergence: ClassVar[str] = (
        "The training diverged: the loss is infinite or not a number. Set a smaller learning_rate."
    )
    objective: SentenceObjective  # what it learns by; set for each training, as are the others
    paragraphs: EpochsOfParagraphs  # what it learns from
    n_epochs = 1
    decays = True

    @property
    def _default_callbacks(self) -> list[tuple[str, Any]]:
        return [
            ("epoch_timer", EpochTimer()),
            ("train_loss", PassthroughScoring("train_loss", on_train=True)),
            ("print_log", PrintLog(keys_ignored=["train_loss_best"])),
        ]

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Drop what was noted for each batch of the epoch before."""
        super().on_epoch_begin(net, **kwargs)
        for entry in self.history[-2:-1]:
            entry["batches"] = []

    def get_iterator(self, dataset: Any, training: bool = False) -> Any:
        """Return what goes through the batches of an epoch each time."""
        return dataset

    def n_rows(self, batch: ParagraphBatch) -> int:
        """Return how much a batch counts in the mean loss of an epoch."""
        return len(batch.blocks)

    def progress(self, batch: ParagraphBatch) -> float:
        """Return how much of the training is done before a batch."""
        if not self.decays:
            return 1.0
        return min(1.0, (self.paragraphs.epoch + batch.number / self.paragraphs.n_batches) / self.n_epochs)

    def train_step(self, batch: ParagraphBatch, **fit_params: Any) -> dict[str, Any]:
        """Learn from one batch."""
        if not self.module_.training:
            self._set_training(True)
        epoch, progress = self.paragraphs.epoch, self.progress(batch)
        factor = min(1.0, progress / _WARM_UP + 0.05) * (1 - progress) if self.decays else 1.0
        for group in self.optimizer_.param_groups:
            group["lr"] = self.lr * factor * group.get("gain", 1.0)
        batch = batch.to(self.device)
        self.optimizer_.zero_grad()
        with self._dropout_seed(epoch, batch.number):
            loss = self.objective.measure(self.module_, batch, epoch=epoch, progress=progress)
        torch.autograd.backward(loss)
        for hook in self.hooks("on_grad_computed"):
            hook(self, named_parameters=TeeGenerator(self.get_all_learnable_params()), batch=batch, training=True)
        self.optimizer_.step()
        return {"loss": loss, "y_pred": loss}

    def _dropout_seed(self, epoch: int, number: int) -> Any:
        """Let a step's dropout depend on nothing but its place in the training."""
        if not any(isinstance(layer, nn.Dropout) and layer.p > 0 for layer in self.module_.modules()):
            return nullcontext()
        seed = np.random.SeedSequence((self.objective.seed, epoch, number)).generate_state(1)[0]
        return torch_seed(int(seed), self.device)


def make_sentence_net(architecture: dict[str, Any], device: str) -> SentenceNet:
    """Make a net that is not initialised yet."""
    # A projection has length one, and its elements are so much smaller than what layers read.
    gain = math.sqrt(architecture["transformer"]["n_features"])
    return SentenceNet(
        make_sentence_module,
        module__architecture=architecture,
        criterion=nn.Identity,
        optimizer=torch.optim.Adam,
        optimizer__param_groups=[("network.transformer.linear.weight", {"gain": gain})],
        train_split=None,
        verbose=0,
        device=device,
    )
