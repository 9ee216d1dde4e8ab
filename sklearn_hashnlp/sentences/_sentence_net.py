"""The skorch net of a sentence encoder, its objective, and the progress of its training."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from inspect import unwrap
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from skorch.callbacks import Callback
from torch import Tensor, nn
from torch.nn import functional

from sklearn_hashnlp.nn import CosineProximityLoss, InfoNCELoss, SimilarityBXENT, VonMisesFisherLoss
from sklearn_hashnlp.nn._sentence_losses import BlockLoss, word_blocks
from sklearn_hashnlp.nn._sentence_network import SentenceModule, make_sentence_module
from sklearn_hashnlp.sentences._paragraph_batches import ParagraphBatch
from sklearn_hashnlp.sentences._sentence_parameters import Objectives, first_and_last
from sklearn_hashnlp.training._callbacks import StepLog, callbacks_of_kind, without_kind
from sklearn_hashnlp.training._loop import Net
from sklearn_hashnlp.training._optimizers import load_optimizer
from sklearn_hashnlp.training._settings import TrainingSettings

_MAX_WORDS = 512  # of the word loss, which compares all pairs
_TABLES = "network.transformer.tables.tables.weight"  # only rows of training words are not zero
_BEST = "best."  # prefix of the names of the best weights
_WARM_UP = 0.02  # share of a training in which the learning rate rises
_COMMON = ("network.common", "network.context_common")  # a row per removed direction


@dataclass(frozen=True)
class SentenceObjective:
    """A weighted sum of losses."""

    objectives: Objectives
    seed: int  # of the sample of words

    def compute(
        self, module: SentenceModule, batch: ParagraphBatch, *, epoch: int, progress: float
    ) -> Tensor:
        """Compute the loss of a batch; ``progress`` is the share of the training that is done."""
        criterion, terms = self._criterion(), []
        transformer = module.network.transformer
        if transformer is not None and (weight := self.weight("sentence", progress)):
            # Of the trained part of the vectors alone: the spelling part would dominate the
            # similarities.
            terms.append(weight * criterion(transformer(batch.batch), batch.blocks))
        if transformer is not None and (weight := self.weight("word", progress)):
            words, blocks = self._sample_words(batch, epoch)
            if len(words):
                vectors = functional.normalize(
                    transformer.word_vectors(batch.batch.projections[words]), dim=1
                )
                terms.append(weight * criterion(vectors, blocks))
        if (
            transformer is not None
            and module.masked_head is not None
            and (weight := self.weight("masked", progress))
        ):
            encoded = transformer.encode_words(batch.batch, hidden=batch.hidden)
            word_vectors = transformer.word_vectors(batch.batch.projections)
            terms.append(
                weight * module.masked_head(encoded, word_vectors, batch.batch.words, batch.hidden)
            )
        if not terms:  # all weights are zero at this step
            terms = [
                parameter.sum() * 0.0
                for parameter in module.parameters()
                if parameter.requires_grad
            ]
        return torch.stack(terms).sum() if terms else torch.zeros(())

    def weight(self, name: str, progress: float) -> float:
        """Return the weight of a loss when that share of the training is done."""
        first, last = map(float, first_and_last(getattr(self.objectives, f"{name}_weight")))
        return first + (last - first) * progress

    def _criterion(self) -> BlockLoss:
        if self.objectives.loss == "infonce":
            return InfoNCELoss(float(self.objectives.temperature))
        others: dict[str, type[BlockLoss]] = {
            "bxent": SimilarityBXENT,
            "proximity": CosineProximityLoss,
            "vmf": VonMisesFisherLoss,
        }
        return others[self.objectives.loss]()

    def _sample_words(self, batch: ParagraphBatch, epoch: int) -> tuple[Tensor, Tensor]:
        """Sample distinct words, each in one sentence, or it would be a negative of itself."""
        words, blocks = (part.cpu().numpy() for part in word_blocks(batch.batch.words))
        order = np.random.default_rng((self.seed, epoch, batch.number)).permutation(len(words))
        _, first = np.unique(words[order], return_index=True)
        sample = order[np.sort(first)[:_MAX_WORDS]]
        device = batch.batch.words.device
        return torch.from_numpy(words[sample]).to(device), torch.from_numpy(blocks[sample]).to(
            device
        )


class SentenceNet(Net):
    """A skorch net that learns which sentences belong together, by a :class:`SentenceObjective`."""

    criterion_: SentenceObjective
    keeps_batches = False

    @property
    def n_parameters(self) -> int:
        """The number of parameters of the network, without the head of masked words."""
        return sum(parameter.numel() for parameter in self.module_.network.parameters())

    def tables(self) -> dict[str, float]:
        """Return the tables of words; their rows start at zero."""
        return {name: 0.0 for name, _ in self.module_.named_parameters() if name == _TABLES}

    def match_shapes(self, module: nn.Module, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Resize the buffers to the number of removed directions."""
        for name in _COMMON:
            n_columns = module.get_buffer(name).shape[1]
            if arrays[name].ndim != 2 or (len(arrays[name]) and arrays[name].shape[1] != n_columns):
                raise ValueError(
                    f"{name} has the shape {arrays[name].shape}, and vectors have {n_columns} "
                    "columns."
                )
            setattr(
                module.get_submodule("network"),
                name.removeprefix("network."),
                torch.zeros(arrays[name].shape),
            )

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
        loss = self.criterion_.compute(
            self.module_, batch, epoch=batch.epoch, progress=batch.progress
        )
        return loss, loss


class _Adam(torch.optim.Adam):
    """Adam that imports torch's compiler (two seconds) at its first step, not on loading."""

    # torch wraps it so that its compiler skips it
    add_param_group = unwrap(torch.optim.Optimizer.add_param_group)


def make_sentence_net(architecture: dict[str, Any], device: str) -> SentenceNet:
    """Build a net that is not initialized yet."""
    # A projection has length one, so its elements are much smaller than usual inputs of layers.
    gain = math.sqrt(architecture["transformer"]["n_features"])
    return SentenceNet(
        make_sentence_module,
        module__architecture=architecture,
        optimizer=_Adam,
        optimizer__param_groups=[("network.transformer.linear.weight", {"gain": gain})],
        device=device,
    )


def net_from_state(
    values: dict[str, Any], arrays: dict[str, NDArray[Any]], history: list[dict[str, Any]]
) -> SentenceNet:
    """Build a trained net from the state that its ``to_state`` returned."""
    return make_sentence_net(values["architecture"], "cpu").restore(
        arrays, values["device"], history
    )


@dataclass
class TrainingState:
    """Progress of a training: the content of a checkpoint besides weights and optimizer."""

    epoch: int = 0
    batch: int = 0
    losses: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    best_score: float | None = None  # of ``scoring`` so far
    best_weights: dict[str, Tensor] = field(default_factory=dict)  # with it

    def note(self, score: float, net: SentenceNet) -> None:
        """Keep the weights if the score is the best so far; NaN never is."""
        if not math.isnan(score) and (self.best_score is None or score > self.best_score):
            self.best_score, self.best_weights = score, trained_weights(net)

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return JSON values, and the best weights as arrays."""
        values = {name: value for name, value in vars(self).items() if name != "best_weights"}
        return values, {
            f"{_BEST}{name}": value.cpu().numpy().copy()
            for name, value in self.best_weights.items()
        }

    @classmethod
    def from_state(
        cls, values: dict[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> TrainingState:
        """Load the state that :meth:`to_state` returned."""
        best = {
            name.removeprefix(_BEST): torch.from_numpy(np.array(array))
            for name, array in arrays.items()
            if name.startswith(_BEST)
        }
        return cls(**values, best_weights=best)


class WarmUpAndDecay(Callback):  # type: ignore[misc]  # skorch has no types
    """Warm up the learning rate and decay it linearly to zero, or keep it constant."""

    def __init__(self, decays: bool) -> None:
        self.decays = decays

    def on_batch_begin(self, net: Any, batch: Any = None, **_: Any) -> None:
        """Set the learning rate of the next step."""
        progress = batch.progress
        factor = min(1.0, progress / _WARM_UP + 0.05) * (1 - progress) if self.decays else 1.0
        for group in net.optimizer_.param_groups:
            group["lr"] = net.lr * factor * group.get("gain", 1.0)


@dataclass(eq=False)
class RecordTraining(Callback):  # type: ignore[misc]  # skorch has no types
    """Record the progress of the training, its losses, and the scores of the model."""

    state: TrainingState
    log: list[dict[str, Any]]
    _: KW_ONLY
    every: int | None  # steps between entries of the log; None is an epoch
    scoring: Callable[[], float] | None
    show: bool

    def on_epoch_begin(self, net: Any, **_: Any) -> None:
        """Restore the batches before an interruption."""
        for loss, size in zip(self.state.losses, self.state.sizes, strict=True):
            net.history[-1]["batches"].append({"train_loss": loss, "train_batch_size": size})

    def on_batch_end(self, net: Any, batch: Any = None, training: bool = False, **_: Any) -> None:
        """Record a step."""
        state, done = self.state, net.history[-1]["batches"][-1]
        state.losses.append(done["train_loss"])
        state.sizes.append(done["train_batch_size"])
        state.batch = batch.number + 1
        if self.every is not None and state.batch % self.every == 0:
            self._add_entry(net)

    def on_epoch_end(self, net: Any, dataset_train: Any = None, **_: Any) -> None:
        """Go to the next epoch."""
        state = self.state
        if self.every is None or state.batch % self.every:
            self._add_entry(net)
        if state.batch == dataset_train.n_batches:  # else a time limit was reached
            state.epoch = state.epoch + 1
            state.batch = 0
            state.losses = []
            state.sizes = []

    def _add_entry(self, net: Any) -> None:
        state, every = self.state, self.every or len(self.state.losses)
        recent = slice(-((state.batch - 1) % every + 1), None)
        losses, sizes = state.losses[recent], state.sizes[recent]
        mean = sum(loss * size for loss, size in zip(losses, sizes, strict=True)) / sum(sizes)
        entry: dict[str, Any] = {
            "stage": "sentences",
            "epoch": state.epoch + 1,
            "step": state.batch,
        }
        entry["train_loss"] = mean
        if self.scoring is not None:
            net.module_.eval()
            entry["score"] = self.scoring()
            state.note(entry["score"], net)
        self.log.append(entry)
        if self.show:
            print(
                ", ".join(
                    f"{key} {value:.5g}" if key != "stage" else value
                    for key, value in entry.items()
                )
            )


def take_step_logs(
    settings: TrainingSettings, log: list[dict[str, Any]]
) -> tuple[TrainingSettings, int | None]:
    """Return settings without StepLog callbacks, which get the log, and the log's step interval."""
    step_logs = callbacks_of_kind(settings.callbacks, StepLog)
    for step_log in step_logs:
        step_log.log_ = log
    others = replace(settings, callbacks=without_kind(settings.callbacks, StepLog))
    return others, min((int(each.every) for each in step_logs), default=None)


def score_of(estimator: Any) -> float:
    """Return the validation score of an encoder."""
    score = estimator.scoring(estimator)
    try:
        return float(score)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{type(estimator).__name__}: scoring must return a number, higher is better; got "
            f"{score!r:.60} ({type(score).__name__})."
        ) from error


def load_weights(net: SentenceNet, weights: Mapping[str, Tensor]) -> None:
    """Load some of the weights."""
    unknown = net.module_.load_state_dict(weights, strict=False).unexpected_keys
    if unknown:
        raise ValueError(
            f"The net has no weights named {', '.join(unknown)}: the checkpoint is damaged."
        )


def trained_weights(net: SentenceNet) -> dict[str, Tensor]:
    """Copy the weights that training changes."""
    return {
        name: value.detach().clone()
        for name, value in net.module_.named_parameters()
        if value.requires_grad
    }
