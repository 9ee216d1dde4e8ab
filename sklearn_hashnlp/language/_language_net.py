"""The network of a language model as a skorch net, its word windows, and trees over its words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import isqrt
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array, diags_array, hstack
from sklearn.utils.extmath import randomized_svd
from skorch.callbacks import Callback
from threadpoolctl import threadpool_limits
from torch import Tensor

from sklearn_hashnlp import trees
from sklearn_hashnlp.language._tokenizer import WordWindows
from sklearn_hashnlp.nn import NPLM, HashEmbedding
from sklearn_hashnlp.nn._layers import SeededDropout, SteadyLinear
from sklearn_hashnlp.nn._word_embeddings import ProjectedEmbedding
from sklearn_hashnlp.nn.ngrams._ngram_word_table import NgramWordTable
from sklearn_hashnlp.optim import RowwiseAdagrad
from sklearn_hashnlp.training._batches import Batches, Dataset
from sklearn_hashnlp.training._callbacks import format_perplexity, perplexity
from sklearn_hashnlp.training._loop import Net, stored_tree
from sklearn_hashnlp.training._optimizer_state import OptimizerName
from sklearn_hashnlp.training._optimizers import read_state
from sklearn_hashnlp.trees import SoftmaxTree
from sklearn_hashnlp.trees._tree_builders import ClassTree, named_tree

_OWN_KEYS = (
    "hashed_words",
    "projected_words",
    "ngram_rows",
    "hash_seed",
)  # all other keys of an architecture are arguments of NPLM
SCORE_ROWS = 1024
# training has diverged if the loss exceeds the first loss by this factor and this term
_RISES = 1.4, math.log(3)
HIDDEN_BIAS = "hidden_layer.bias"
DIRECT = "output_layer.direct"
_SINGLE = (HIDDEN_BIAS, DIRECT)  # with their own learning rate
_TABLES = {DIRECT, "embedding.ngrams.weight"}  # with few trained rows
_PROJECTION = "embedding.linear.weight"
# chosen empirically: the step of a word also moves the vectors of all other words
_PROJECTION_FACTOR = 1 / 3
# Damps gradients of single words: without it, the first steps of rare words and nodes are too long.
DAMPING = 15


def make_nplm(architecture: dict[str, Any], tree: Any) -> NPLM:
    """Build the network of an architecture."""
    hashed, projected = architecture["hashed_words"], architecture["projected_words"]
    embedding: HashEmbedding | ProjectedEmbedding | NgramWordTable | None = None
    if hashed is not None:
        embedding = HashEmbedding(**hashed, append_weight=False, sparse=True)
    elif projected is not None:
        n_features = projected["n_projections"] * projected["n_bits"]
        embedding = ProjectedEmbedding(n_features, architecture["embedding_dim"])
    elif architecture["ngram_rows"] is not None:
        names = "num_words", "embedding_dim", "ngram_rows", "padding_id", "hash_seed"
        embedding = NgramWordTable(*(architecture[name] for name in names))
    arguments = {name: value for name, value in architecture.items() if name not in _OWN_KEYS}
    if isinstance(arguments["direct_connections"], list):
        arguments["direct_connections"] = [
            *arguments["direct_connections"],
            architecture["hash_seed"],
        ]
    if tree is not None:
        arguments["output"] = tree
    network = NPLM(**arguments, embedding=embedding, sparse=True)
    # the tree kernel computes each row separately anyway
    network.hidden_layer = SteadyLinear(network.hidden_layer)
    if isinstance(embedding, ProjectedEmbedding):
        embedding.linear = SteadyLinear(embedding.linear)
    return network


class WindowDataset(Dataset):
    """Word windows as a dataset; skorch passes ``y=None``."""

    def __init__(self, windows: WordWindows, y: None = None) -> None:
        self.windows = windows

    def __len__(self) -> int:
        return len(self.windows)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        row = range(len(self))[index]  # supports negative indices and raises IndexError
        context, target = self.take(np.array([row]))
        return context[0], target[0]

    @property
    def X(self) -> WordWindows:  # type: ignore[override]  # noqa: N802 - skorch's name
        """The windows."""
        return self.windows

    @property
    def y(self) -> NDArray[np.int32]:
        """Ids of the words to predict, of shape (n_windows,)."""
        return self.windows.y

    def take(self, rows: NDArray[np.int64] | slice) -> tuple[Tensor, Tensor]:
        """Gather the contexts and targets of some windows as tensors."""
        context, target = self.windows.take(
            np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        )
        return torch.from_numpy(context), torch.from_numpy(target)

    def on_device(self, device: torch.device) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
        """Copy the words to a device, and return the function that gathers windows there."""
        windows = self.windows
        inputs = torch.from_numpy(windows.inputs).to(device)
        targets = (
            inputs
            if windows.targets is windows.inputs
            else torch.from_numpy(windows.targets).to(device)
        )
        codes = None if windows.codes is None else torch.from_numpy(windows.codes).to(device)
        positions = torch.from_numpy(windows.positions).to(device)
        back = torch.arange(-windows.n_context, 0, device=device)

        def gather(rows: Tensor) -> tuple[Tensor, Tensor]:
            ends = positions[rows].long()
            context = inputs[ends.unsqueeze(1) + back].long()
            if windows.far.n_words and not windows.far.across_sentences:
                is_before_start = (context == windows.start).flip(1).cumsum(1).flip(1) > 0
                context.masked_fill_(is_before_start, windows.start)
            return context if codes is None else codes[context], targets[ends].long()

        return gather


class LanguageNet(Net):
    """A skorch net that predicts the next word."""

    keeps_batches = False
    has_sparse_gradients = True
    eps: ClassVar[float] = DAMPING
    validation: ClassVar[str] = "Pass X_valid to fit, or set early_stopping='valid_loss'."
    divergence: ClassVar[str] = "The training diverged. Set a smaller learning_rate."
    _sample: WordWindows | None = None  # training windows that are checked for divergence
    _first_loss: float  # their loss before the first step

    def _metric_callbacks(self) -> list[tuple[str, Any]]:
        return [("perplexity", Perplexities())]

    def tables(self) -> dict[str, float]:
        """Return the tables of hashed n-grams, with rows that start at zero."""
        return {name: 0.0 for name, _ in self.module_.named_parameters() if name in _TABLES}

    @contextmanager
    def watched(self, windows: WordWindows) -> Iterator[None]:
        """Raise an error if training makes the loss of these windows far higher than before."""
        self._sample = windows.evenly_spaced(SCORE_ROWS)
        self._first_loss = -float(self.score_windows(self._sample).mean())
        try:
            yield
            self._check_divergence()
        finally:
            self._sample = None

    def check_loss(self, loss: float) -> None:
        """Check the sample if the mean loss of many batches is high."""
        if self._sample is not None and loss > self._highest_loss():
            self._check_divergence()

    def _check_divergence(self) -> None:
        assert self._sample is not None, "only called while training is watched"
        loss = -float(self.score_windows(self._sample).mean())
        if not loss <= self._highest_loss():
            raise ValueError(
                f"{self.divergence} The perplexity of the training sentences is "
                f"{format_perplexity(loss)}; it was {format_perplexity(self._first_loss)} before "
                "the first step."
            )

    def _highest_loss(self) -> float:
        factor, term = _RISES
        return max(factor * self._first_loss, self._first_loss + term)

    def infer(self, x: Tensor) -> Tensor:
        """Return the log-probabilities of all words, for skorch's callbacks."""
        log_probs: Tensor = self.module_.log_prob(x.to(self.device))
        return log_probs

    def batch_loss(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Compute the mean loss of a batch, and the log-probabilities of its words."""
        log_probs, loss = self.module_(*batch)
        return loss, log_probs

    def validation_step(self, batch: Any, **_: Any) -> dict[str, Any]:
        """Compute the loss of a batch."""
        if self.module_.training:
            self._set_training(False)
        with torch.no_grad():
            loss, log_probs = self.batch_loss(batch)
        return {"loss": loss, "y_pred": log_probs}

    def score_windows(self, windows: WordWindows | WindowDataset) -> NDArray[np.float64]:
        """Return the log-probability of every window's last word."""
        self.module_.eval()
        batches = Batches(self.get_dataset(windows), SCORE_ROWS, device=self.device)
        with torch.inference_mode():
            log_probs = [self.batch_loss(batch)[1].double().cpu().numpy() for batch in batches]
        return np.concatenate([np.empty(0), *log_probs])

    def parameter_groups(
        self, name: OptimizerName, learning_rate: float, eps: float, factors: Mapping[str, float]
    ) -> list[dict[str, Any]]:
        """Return matrices, parameters with their own learning rate, and biases without decay."""
        parameters = dict(self.module_.named_parameters())
        others = {key: parameter for key, parameter in parameters.items() if key not in _SINGLE}
        groups: list[dict[str, Any]] = [
            {"params": [part for part in others.values() if part.dim() > 1]}
        ]
        groups += [
            {"params": [parameters[key]], "lr": learning_rate * factors.get(key, 1.0)}
            | ({"weight_decay": 0.0} if key == HIDDEN_BIAS else {})
            for key in _SINGLE
            if key in parameters
        ]
        # The projection reads n signs of +-1 / sqrt(n).
        if name == "adagrad" and _PROJECTION in parameters:
            weight = parameters[_PROJECTION]
            groups[0]["params"] = [part for part in groups[0]["params"] if part is not weight]
            root = math.sqrt(weight.shape[1])
            groups.append(
                {
                    "params": [weight],
                    "lr": learning_rate * _PROJECTION_FACTOR / root,
                    "eps": eps / root,
                }
            )
        biases = [part for part in others.values() if part.dim() == 1]
        return [*groups, {"params": biases, "weight_decay": 0.0}]

    def to_training_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the state of the optimizer, with the trained rows of each parameter only."""
        return read_state(self.module_, self.optimizer_).to_training_state(
            dict(self.module_.named_parameters())
        )


class Perplexities(Callback):  # type: ignore[misc]  # skorch has no types
    """Record the perplexities of every epoch."""

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Record the exponentials of the losses."""
        for prefix in ("train", "valid"):
            if f"{prefix}_loss" in net.history[-1]:
                loss = net.history[-1, f"{prefix}_loss"]
                net.history.record(f"{prefix}_perplexity", perplexity(loss))


def make_language_net(architecture: dict[str, Any], tree: Any, device: str) -> LanguageNet:
    """Build a net that is not initialized yet."""
    return LanguageNet(
        make_nplm,
        module__architecture=architecture,
        module__tree=tree,
        optimizer=RowwiseAdagrad,
        dataset=WindowDataset,
        iterator_valid__batch_size=SCORE_ROWS,
        device=device,
    )


def net_from_state(
    values: dict[str, Any], arrays: dict[str, NDArray[Any]], history: list[dict[str, Any]]
) -> LanguageNet:
    """Build a trained net from its ``to_state``."""
    net = make_language_net(values["architecture"], stored_tree(arrays), "cpu")
    return net.restore(arrays, values["device"], history)


@dataclass(eq=False, repr=False)
class SeedEpochs(Callback):  # type: ignore[misc]  # skorch has no types
    """Seed the order and dropout of every epoch by the training's seed and the epoch's number."""

    seed: int

    def on_epoch_begin(self, net: Any, **_: Any) -> None:
        """Seed the generators."""
        layers = _dropout_layers(net)
        order_seed, *seeds = np.random.SeedSequence((self.seed, len(net.history))).generate_state(
            1 + len(layers)
        )
        net.iterator_train__generator.bit_generator.state = np.random.default_rng(
            order_seed
        ).bit_generator.state
        for layer, seed in zip(layers, seeds, strict=True):
            if net.device_type == "cpu":
                layer.generator = np.random.default_rng(seed)
            else:
                layer.generator = torch.Generator(net.device).manual_seed(int(seed))

    def on_train_end(self, net: Any, **_: Any) -> None:
        """Remove the generators."""
        for layer in _dropout_layers(net):
            layer.generator = None


def _dropout_layers(net: Any) -> list[SeededDropout]:
    module = net.module_
    layers = [module.dropout, module.embedding_dropout, module.word_dropout]
    return (
        [*layers, module.embedding.dropout]
        if isinstance(module.embedding, NgramWordTable)
        else layers
    )


# "cluster" and "binary_cluster" use co-occurrence vectors, "learned" the hidden states of a small
# network.
WordTree: TypeAlias = Literal[ClassTree, "learned", "cluster", "binary_cluster"]
_HIDDEN_ROWS = 4096  # windows per batch of hidden states
_MAX_CONTEXT_WORDS = 2000  # columns for each distance: only the most frequent words
_BLOCK_SIZE = 2**22  # windows that are counted at once
_MIN_VARIANCE = 1e-3  # of hidden states before one word, relative to the mean variance


def language_tree(
    tree: SoftmaxTree | WordTree,
    windows: WordWindows,
    n_classes: int,
    *,
    seed: int,
    caller: str,
) -> SoftmaxTree:
    """Build a tree over the words that can be predicted by its name, or check a given tree."""
    if isinstance(tree, SoftmaxTree):
        if tree.n_classes != n_classes:
            raise ValueError(
                f"{caller}: the tree has {tree.n_classes} classes, and {n_classes} words can be "
                "predicted: all of vocabulary_ but '<s>'. Fix the words by vocabulary and build "
                "the tree over them."
            )
        return tree
    assert tree != "learned", "learned in fit"
    counts = np.bincount(windows.y, minlength=n_classes)
    if tree == "cluster" or tree == "binary_cluster":
        vectors = cooccurrence_vectors(windows, n_classes, seed=seed)
        if tree == "cluster":
            return word_clusters(counts, vectors, seed=seed)
        return trees.cluster_tree(counts, vectors, random_state=seed)
    return named_tree(tree, counts, seed=seed)


def word_clusters(
    counts: NDArray[np.intp], vectors: NDArray[np.float32], *, seed: int
) -> SoftmaxTree:
    """Build a tree of about 1.5 sqrt(V) clusters, the smallest with the most frequent words."""
    # A second level of clusters saves a tenth of the time, but raises the validation perplexity on
    # the Penn Treebank by 1.7 %.
    return trees.cluster_tree(
        counts,
        vectors,
        arity=(max(2, 3 * isqrt(len(counts)) // 2),),
        balance="cost",
        random_state=seed,
    )


def cooccurrence_vectors(
    windows: WordWindows, n_classes: int, *, n_components: int = 100, seed: int = 0
) -> NDArray[np.float32]:
    """Compute word vectors with at most n_components by Hellinger PCA (Lebret & Collobert 2014)."""
    counts = np.bincount(windows.y, minlength=n_classes)
    blocks = []
    for distance in range(1, windows.order):
        pairs = _count_pairs(windows, n_classes, distance)
        pairs.data = np.sqrt(pairs.data / distance)  # closer context words have a larger weight
        blocks.append(pairs)
    rows = hstack(blocks, format="csr")
    total = np.maximum(counts, 1) * sum(1 / distance for distance in range(1, windows.order))
    rows = csr_array(diags_array(1 / np.sqrt(total)) @ rows)
    n_components = min(n_components, min(rows.shape))
    # the order of summation depends on the number of threads
    with threadpool_limits(1, user_api="blas"):
        left, singular_values, _ = randomized_svd(
            rows.astype(np.float32), n_components, n_iter=4, random_state=seed
        )
    vectors: NDArray[np.float32] = (left * singular_values).astype(np.float32)
    return vectors


def _count_pairs(windows: WordWindows, n_classes: int, distance: int) -> csr_array:
    """Count the pairs of a word and a frequent word ``distance`` words before it."""
    ids = windows.targets  # contexts may hold hashes, targets are always word ids
    counts = np.bincount(ids[windows.positions - distance])
    columns = np.full(len(counts), -1, dtype=np.int64)
    frequent = np.argsort(-counts, kind="stable")[:_MAX_CONTEXT_WORDS]
    columns[frequent] = np.arange(len(frequent))
    total = csr_array((n_classes, len(frequent)), dtype=np.float64)
    for start in range(0, len(windows), _BLOCK_SIZE):
        ends = windows.positions[start : start + _BLOCK_SIZE]
        columns_before = columns[ids[ends - distance]]
        mask = columns_before >= 0
        ones = np.ones(int(mask.sum()))
        total = total + csr_array(
            (ones, (ids[ends][mask], columns_before[mask])), shape=total.shape
        )
    return csr_array(total)


def learned_tree(
    net: LanguageNet, windows: WordWindows, n_classes: int, *, seed: int
) -> SoftmaxTree:
    """Build a tree that clusters words by the hidden states of a network."""
    counts = np.bincount(windows.y, minlength=n_classes)
    return word_clusters(counts, discriminant_vectors(net, windows, n_classes), seed=seed)


def discriminant_vectors(
    net: LanguageNet, windows: WordWindows, n_classes: int
) -> NDArray[np.float32]:
    """Compute mean hidden states before words, shrunk if rare, in linear discriminant space."""
    counts = np.bincount(windows.y, minlength=n_classes)
    shares = counts / counts.sum()
    # the order of summation depends on the number of threads
    with threadpool_limits(1, user_api="blas"):
        means, total = _hidden_moments(net, windows, n_classes)
        between = (means * shares[:, np.newaxis]).T @ means
        within = total - between
        within += np.eye(len(within)) * max(_MIN_VARIANCE * np.trace(within) / len(within), 1e-12)
        values, axes = eigh(between, within)
        # The variance between classes, without that of the error of their means
        variances = np.maximum(values - n_classes / counts.sum(), 0.0)
        shrinkage = variances / (variances + 1 / np.maximum(counts, 1)[:, np.newaxis])
        vectors: NDArray[np.float32] = (means @ axes * shrinkage).astype(np.float32)
    return vectors


def mean_hidden_states(
    net: LanguageNet, windows: WordWindows, n_classes: int
) -> NDArray[np.float32]:
    """Compute the mean hidden state before each word, minus the overall mean; zeros if absent."""
    return _hidden_moments(net, windows, n_classes)[0].astype(np.float32)


def _hidden_moments(
    net: LanguageNet, windows: WordWindows, n_classes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the centered mean hidden state before each word, and the covariance of all states."""
    module = net.module_.eval()
    counts = np.bincount(windows.y, minlength=n_classes)[:, np.newaxis]
    sums, products = 0.0, 0.0
    with torch.inference_mode():
        for context, target in Batches(WindowDataset(windows), _HIDDEN_ROWS, device=net.device):
            hidden = module.hidden(context).cpu().numpy().astype(np.float64)
            entries = np.ones(len(hidden)), (target.cpu().numpy(), np.arange(len(hidden)))
            sums = sums + csr_array(entries, shape=(n_classes, len(hidden))) @ hidden
            products = products + hidden.T @ hidden
    average = np.sum(sums, axis=0) / counts.sum()
    means = np.where(counts > 0, sums / np.maximum(counts, 1) - average, 0.0)
    return means, products / counts.sum() - np.outer(average, average)
