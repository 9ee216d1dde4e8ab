"""The skorch net inside SGNNSentenceEncoder."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from inspect import unwrap
from typing import Any

import torch
from numpy.typing import NDArray
from skorch.callbacks import PassthroughScoring
from skorch.dataset import Dataset
from torch import Tensor, nn

from sklearn_hashnlp._clock import clock
from sklearn_hashnlp.nn._sentence_network import make_sentence_module
from sklearn_hashnlp.sentences._batches import ParagraphBatch, ParagraphBatches
from sklearn_hashnlp.sentences._bundles import as_network, as_objectives, first_and_last
from sklearn_hashnlp.sentences._objective import SentenceObjective
from sklearn_hashnlp.training._callbacks import EpochClock, EpochLog
from sklearn_hashnlp.training._loop import Net
from sklearn_hashnlp.training._optimizers import load_optimizer

_MAX_KEY_BITS = 48
_TABLES = "network.transformer.tables.tables.weight"  # only rows of training words are not zero
_COMMON = ("network.common", "network.context_common")  # a row per removed direction


class EpochsOfParagraphs(Dataset):  # type: ignore[misc]  # skorch has no types
    """Batches of paragraphs, epoch after epoch, each in a different order."""

    def __init__(
        self,
        make_batches: Callable[[int, int], ParagraphBatches],  # of an epoch, from a batch on
        n_sentences: int,
        *,
        n_epochs: int | None,  # of the training; None if nothing decays
        epoch: int = 0,
        first: int = 0,
    ) -> None:
        self.make_batches = make_batches
        self.n_sentences = n_sentences
        self.n_epochs = n_epochs
        self.epoch, self.first = epoch, first
        self.n_batches = 1
        self.waited = self.total = 0.0

    def __len__(self) -> int:
        return self.n_sentences

    def __iter__(self) -> Iterator[ParagraphBatch]:
        batches = self.make_batches(self.epoch, self.first)
        self.n_batches = self.first + len(batches)
        started = clock()
        try:
            for batch in batches:
                yield batch._replace(epoch=self.epoch, progress=self._progress(batch.number))
        finally:
            self.waited += batches.waited
            self.total += clock() - started
        self.epoch, self.first = self.epoch + 1, 0

    def _progress(self, number: int) -> float:
        return 1.0 if self.n_epochs is None else min(1.0, (self.epoch + number / self.n_batches) / self.n_epochs)


class SentenceNet(Net):
    """A skorch net that learns which sentences belong together; its criterion is a :class:`SentenceObjective`."""

    criterion_: SentenceObjective
    keeps_batches = False

    @property
    def _default_callbacks(self) -> list[tuple[str, Any]]:
        return [
            ("epoch_timer", EpochClock()),
            ("train_loss", PassthroughScoring("train_loss", on_train=True)),
            ("print_log", EpochLog(keys_ignored=["train_loss_best"])),
        ]

    def tables(self) -> dict[str, float]:
        """Return the tables of words; their rows start at zero."""
        return {name: 0.0 for name, _ in self.module_.named_parameters() if name == _TABLES}

    def match_shapes(self, module: nn.Module, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Resize the buffers to the number of removed directions."""
        for name in _COMMON:
            n_columns = module.get_buffer(name).shape[1]
            if arrays[name].ndim != 2 or (len(arrays[name]) and arrays[name].shape[1] != n_columns):
                raise ValueError(f"{name} has the shape {arrays[name].shape}, and vectors have {n_columns} columns.")
            setattr(module.get_submodule("network"), name.removeprefix("network."), torch.zeros(arrays[name].shape))

    def get_iterator(self, dataset: Any, training: bool = False) -> Any:
        """Return the dataset, which iterates over the batches of an epoch each time."""
        return dataset

    def load_training_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Load the state of torch's Adam."""
        load_optimizer(self.module_, self.optimizer_, arrays)

    def n_rows(self, batch: ParagraphBatch) -> int:
        """Return the weight of a batch in the mean loss of an epoch."""
        return len(batch.blocks)

    def batch_loss(self, batch: ParagraphBatch) -> tuple[Tensor, Tensor]:
        """Compute the objective of a batch."""
        batch = batch.to(self.device)
        loss = self.criterion_.compute(self.module_, batch, epoch=batch.epoch, progress=batch.progress)
        return loss, loss


class _Adam(torch.optim.Adam):
    """Adam that imports torch's compiler at its first step, not when a model is loaded: that takes two seconds."""

    add_param_group = unwrap(torch.optim.Optimizer.add_param_group)  # torch wraps it so that its compiler skips it


def sentence_architecture(estimator: Any) -> dict[str, Any]:
    """Return the sizes and options of the network of an estimator, as JSON values."""
    network, weight = as_network(estimator.network), estimator.context_weight
    predicts_masked_words = weight != 0 and any(first_and_last(as_objectives(estimator.objectives).masked_weight))
    return {
        "transformer": {
            "n_features": int(estimator.n_projections) * int(estimator.n_bits),
            "embedding_dim": int(network.embedding_dim),
            "n_layers": int(network.n_layers),
            "n_heads": int(network.n_heads),
            "feedforward_size": int(network.feedforward_size),
            "pooling": network.pooling,
            "depths": int(network.depths),
            "n_tables": int(estimator.n_tables),
            "table_bits": int(estimator.table_bits),
            "key_bits": _key_bits(estimator),
            "init": estimator.init,
        },
        "projection_dim": int(estimator.projection_dim),
        "context_weight": weight if weight == "auto" else float(weight),
        "masked_words": bool(predicts_masked_words),
    }


def _key_bits(estimator: Any) -> int | None:
    """Return the number of bits of a projection that select a row of a table; with enough, words have separate rows."""
    if not estimator.n_tables:
        return None
    available = int(estimator.n_projections) * int(estimator.n_bits) // int(estimator.n_tables)
    return max(int(estimator.table_bits), min(_MAX_KEY_BITS, available))


def make_sentence_net(architecture: dict[str, Any], device: str) -> SentenceNet:
    """Build a net that is not initialized yet."""
    # A projection has length one, so its elements are much smaller than usual inputs of layers.
    gain = math.sqrt(architecture["transformer"]["n_features"])
    return SentenceNet(
        make_sentence_module,
        module__architecture=architecture,
        criterion=nn.Identity,
        optimizer=_Adam,
        optimizer__param_groups=[("network.transformer.linear.weight", {"gain": gain})],
        train_split=None,
        verbose=0,
        device=device,
    )


def net_from_state(
    values: dict[str, Any], arrays: dict[str, NDArray[Any]], history: list[dict[str, Any]]
) -> SentenceNet:
    """Build a trained net from the state that its ``to_state`` returned."""
    net = make_sentence_net(values["architecture"], "cpu")
    net.restore(arrays, values["device"], history)
    return net
