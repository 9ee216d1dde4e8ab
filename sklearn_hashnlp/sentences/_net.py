"""The skorch net of a sentence encoder: the parameters of its network and of its objective, and its training."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from inspect import unwrap
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from skorch.callbacks import Callback
from skorch.dataset import Dataset
from torch import Tensor, nn
from torch.nn import functional

from sklearn_hashnlp._clock import clock
from sklearn_hashnlp._sklearn import MAX_INTEGER, MAX_REAL, Interval, literal_options
from sklearn_hashnlp.nn import CosineProximityLoss, InfoNCELoss, SimilarityBXENT, VonMisesFisherLoss
from sklearn_hashnlp.nn._sentence_losses import BlockLoss, word_blocks
from sklearn_hashnlp.nn._sentence_network import SentenceModule, make_sentence_module
from sklearn_hashnlp.nn._word_batch import Pooling
from sklearn_hashnlp.sentences._batches import ParagraphBatch, ParagraphBatches
from sklearn_hashnlp.training._callbacks import StepLog, callbacks_of_kind
from sklearn_hashnlp.training._loop import Net
from sklearn_hashnlp.training._optimizers import load_optimizer
from sklearn_hashnlp.training._settings import Bundle, TrainingSettings

SentenceLoss: TypeAlias = Literal["bxent", "infonce", "proximity", "vmf"]
Weight: TypeAlias = float | tuple[float, float]

_WEIGHTS = ("sentence_weight", "word_weight", "masked_weight")
_MAX_KEY_BITS = 48
_MAX_WORDS = 512  # of the word loss, which compares all pairs
_TABLES = "network.transformer.tables.tables.weight"  # only rows of training words are not zero
_BEST = "best."  # prefix of the names of the best weights
_WARM_UP = 0.02  # share of a training in which the learning rate rises
_COMMON = ("network.common", "network.context_common")  # a row per removed direction


class Network(Bundle):
    """The network of the second part of sentence vectors.

    The value of the parameter ``network`` of :class:`SGNNSentenceEncoder`. The parameters are arguments of
    :class:`~sklearn_hashnlp.nn.SGNNTransformer`, which has more.

    Parameters
    ----------
    embedding_dim : int, default=128
        Dimension of the word embeddings, and so of the second part; with layers a multiple of ``n_heads``.
    n_layers : int, default=0
        Number of Transformer layers; 0 pools the word embeddings directly, which is many times as fast.
    n_heads : int, default=8
        Number of attention heads.
    feedforward_size : int, default=1024
        Hidden size of the feed-forward layers.
    pooling : {"weighted", "max", "mean", "attention"}, default="weighted"
        How word embeddings are pooled: their mean, weighted by the rarity of the words; the maximum of each dimension;
        their mean; or their mean, weighted by learned attention too.
    depths : {1, 2}, default=1
        With 2, the outputs of the middle layer are concatenated to the outputs of the last layer.

    Examples
    --------
    >>> from sklearn_hashnlp.sentences import Network, SGNNSentenceEncoder
    >>> encoder = SGNNSentenceEncoder(network=Network(n_layers=2))
    >>> encoder.set_params(network__pooling="max").network
    Network(n_layers=2, pooling='max')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "embedding_dim": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "n_layers": [Interval(Integral, 0, 100, closed="both")],
        "n_heads": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "feedforward_size": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "pooling": [literal_options(Pooling)],
        "depths": [Interval(Integral, 1, 2, closed="both")],
    }

    def __init__(
        self,
        embedding_dim: int = 128,
        n_layers: int = 0,
        n_heads: int = 8,
        feedforward_size: int = 1024,
        pooling: Pooling = "weighted",
        depths: int = 1,
    ) -> None:
        self.embedding_dim = embedding_dim
        self.n_layers = n_layers
        self.n_heads = n_heads
        self.feedforward_size = feedforward_size
        self.pooling = pooling
        self.depths = depths

    def _check(self) -> None:
        """Check constraints between fields."""
        if self.n_layers and self.embedding_dim % self.n_heads:
            raise ValueError(
                f"The 'embedding_dim' parameter of Network must be a multiple of n_heads={self.n_heads}. Got "
                f"{self.embedding_dim!r} instead."
            )
        if self.depths == 2 and self.n_layers < 2:
            raise ValueError(f"Network(depths=2) needs n_layers of at least 2. Got n_layers={self.n_layers!r}.")


class Objectives(Bundle):
    """The losses of the contrastive training of sentence vectors, and their weights.

    The value of the parameter ``objectives`` of :class:`SGNNSentenceEncoder`. A weight that is a pair of numbers fades
    linearly from the first number, at the first training step, to the second, at the last. At least one weight must be
    positive at some time.

    Parameters
    ----------
    loss : {"infonce", "bxent", "proximity", "vmf"}, default="infonce"
        Loss function of the sentences of a paragraph, and of the words of a sentence:
        :class:`~sklearn_hashnlp.nn.InfoNCELoss`, :class:`~sklearn_hashnlp.nn.SimilarityBXENT`,
        :class:`~sklearn_hashnlp.nn.CosineProximityLoss` or :class:`~sklearn_hashnlp.nn.VonMisesFisherLoss`.
    temperature : float, default=0.05
        Temperature of ``"infonce"``.
    sentence_weight : float or (float, float), default=1.0
        Weight of ``loss`` for the sentences of a paragraph.
    word_weight : float or (float, float), default=0.0
        Weight of ``loss`` for the words of a sentence.
    masked_weight : float or (float, float), default=0.0
        Weight of masked word prediction, which needs layers.

    Examples
    --------
    >>> from sklearn_hashnlp.sentences import Objectives, SGNNSentenceEncoder
    >>> encoder = SGNNSentenceEncoder(objectives=Objectives("bxent"))
    >>> encoder.set_params(objectives__word_weight=(1.0, 0.0)).objectives
    Objectives(loss='bxent', word_weight=(1.0, 0.0))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [literal_options(SentenceLoss)],
        "temperature": [Interval(Real, 0, MAX_REAL, closed="right")],
        **{name: [Interval(Real, 0, MAX_REAL, closed="both"), tuple, list] for name in _WEIGHTS},
    }

    def __init__(
        self,
        loss: SentenceLoss = "infonce",
        temperature: float = 0.05,
        sentence_weight: Weight = 1.0,
        word_weight: Weight = 0.0,
        masked_weight: Weight = 0.0,
    ) -> None:
        self.loss = loss
        self.temperature = temperature
        self.sentence_weight = sentence_weight
        self.word_weight = word_weight
        self.masked_weight = masked_weight

    def _check(self) -> None:
        """Check the pairs, and that a weight is positive."""
        for name in _WEIGHTS:
            weight = getattr(self, name)
            parts = first_and_last(weight)
            if len(parts) != 2 or not all(isinstance(part, Real) and 0 <= float(part) < math.inf for part in parts):
                raise ValueError(
                    f"The {name!r} parameter of Objectives must be a number, or (first, last), two numbers of at least "
                    f"0. Got {weight!r} instead."
                )
        if not any(any(first_and_last(getattr(self, name))) for name in _WEIGHTS):
            raise ValueError(
                f"Objectives: one of {', '.join(_WEIGHTS)} must be more than 0. To skip the second stage of training, "
                "set max_epochs=0."
            )


def first_and_last(weight: Any) -> tuple[Any, ...]:
    """Return the weights of an objective at the first and the last step; a single number is both."""
    return tuple(weight) if isinstance(weight, tuple | list) else (weight, weight)


def as_network(value: Network | str) -> Network:
    """Return the value of ``network``; "auto" is the default network."""
    return Network() if isinstance(value, str) else value


def as_objectives(value: Objectives | str) -> Objectives:
    """Return the value of ``objectives``; "auto" is the default."""
    return Objectives() if isinstance(value, str) else value


@dataclass(eq=False)
class EpochsOfParagraphs(Dataset):  # type: ignore[misc]  # skorch has no types
    """Batches of paragraphs, epoch after epoch, each in a different order."""

    make_batches: Callable[[int, int], ParagraphBatches]  # of an epoch, from a batch on
    n_sentences: int
    _: KW_ONLY
    n_epochs: int | None  # of the training; None if nothing decays
    epoch: int = 0
    first: int = 0
    n_batches: int = field(default=1, init=False)
    waited: float = field(default=0.0, init=False)  # seconds, for batches
    total: float = field(default=0.0, init=False)

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


@dataclass(frozen=True)
class SentenceObjective:
    """A weighted sum of losses."""

    objectives: Objectives
    seed: int  # of the sample of words

    def compute(self, module: SentenceModule, batch: ParagraphBatch, *, epoch: int, progress: float) -> Tensor:
        """Compute the loss of a batch; ``progress`` is the share of the training that is done."""
        criterion, terms = self._criterion(), []
        transformer = module.network.transformer
        if transformer is not None and (weight := self.weight("sentence", progress)):
            # Of the trained part of the vectors alone: the spelling part would dominate the similarities.
            terms.append(weight * criterion(transformer(batch.batch), batch.blocks))
        if transformer is not None and (weight := self.weight("word", progress)):
            words, blocks = self._sample_words(batch, epoch)
            if len(words):
                vectors = functional.normalize(transformer.word_vectors(batch.batch.projections[words]), dim=1)
                terms.append(weight * criterion(vectors, blocks))
        if transformer is not None and module.masked_head is not None and (weight := self.weight("masked", progress)):
            encoded = transformer.encode_words(batch.batch, hidden=batch.hidden)
            word_vectors = transformer.word_vectors(batch.batch.projections)
            terms.append(weight * module.masked_head(encoded, word_vectors, batch.batch.words, batch.hidden))
        if not terms:  # all weights are zero at this step
            terms = [parameter.sum() * 0.0 for parameter in module.parameters() if parameter.requires_grad]
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
        """Sample distinct words, each in one of its sentences: in two, it would be a negative of itself."""
        words, blocks = (part.cpu().numpy() for part in word_blocks(batch.batch.words))
        order = np.random.default_rng((self.seed, epoch, batch.number)).permutation(len(words))
        _, first = np.unique(words[order], return_index=True)
        sample = order[np.sort(first)[:_MAX_WORDS]]
        device = batch.batch.words.device
        return torch.from_numpy(words[sample]).to(device), torch.from_numpy(blocks[sample]).to(device)


class SentenceNet(Net):
    """A skorch net that learns which sentences belong together; its criterion is a :class:`SentenceObjective`."""

    criterion_: SentenceObjective
    keeps_batches = False

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
    return make_sentence_net(values["architecture"], "cpu").restore(arrays, values["device"], history)


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
        values = asdict(self)
        del values["best_weights"]
        return values, {f"{_BEST}{name}": value.cpu().numpy().copy() for name, value in self.best_weights.items()}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> TrainingState:
        """Load the state that :meth:`to_state` returned."""
        best = {
            name.removeprefix(_BEST): torch.from_numpy(np.array(array))
            for name, array in arrays.items()
            if name.startswith(_BEST)
        }
        return cls(**values, best_weights=best)


class WarmUpAndDecay(Callback):  # type: ignore[misc]  # skorch has no types
    """Warm up the learning rate in the first steps and decay it linearly to zero; or keep it constant."""

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
            state.epoch, state.batch, state.losses, state.sizes = state.epoch + 1, 0, [], []

    def _add_entry(self, net: Any) -> None:
        state, every = self.state, self.every or len(self.state.losses)
        recent = slice(-((state.batch - 1) % every + 1), None)
        losses, sizes = state.losses[recent], state.sizes[recent]
        mean = sum(loss * size for loss, size in zip(losses, sizes, strict=True)) / sum(sizes)
        entry: dict[str, Any] = {"stage": "sentences", "epoch": state.epoch + 1, "step": state.batch}
        entry["train_loss"] = mean
        if self.scoring is not None:
            net.module_.eval()
            entry["score"] = self.scoring()
            state.note(entry["score"], net)
        self.log.append(entry)
        if self.show:
            print(", ".join(f"{key} {value:.5g}" if key != "stage" else value for key, value in entry.items()))


def take_step_logs(settings: TrainingSettings, log: list[dict[str, Any]]) -> tuple[TrainingSettings, int | None]:
    """Return the settings without StepLog callbacks, which get the log, and the steps between its entries."""
    step_logs = callbacks_of_kind(settings.callbacks, StepLog)
    for step_log in step_logs:
        step_log.check()
        step_log.log_ = log
    others = tuple(each for each in settings.callbacks if not callbacks_of_kind([each], StepLog))
    return replace(settings, callbacks=others), min((int(each.every) for each in step_logs), default=None)


def trained_weights(net: SentenceNet) -> dict[str, Tensor]:
    """Copy the weights that training changes."""
    return {name: value.detach().clone() for name, value in net.module_.named_parameters() if value.requires_grad}


def load_trained_weights(net: SentenceNet, weights: dict[str, Tensor]) -> None:
    """Load the weights that :func:`trained_weights` returned."""
    parameters = dict(net.module_.named_parameters())
    with torch.no_grad():
        for name, value in weights.items():
            parameters[name].copy_(value)
