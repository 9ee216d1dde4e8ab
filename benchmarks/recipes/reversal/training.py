"""Strings of random symbols, and networks that learn to reverse them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from enum import IntEnum
from time import perf_counter

import torch
from torch import Tensor, nn

from benchmarks.recipes.reversal.networks import EMBEDDING_STD, AttentionNetwork
from benchmarks.recipes.reversal.settings import ReversalSettings
from sklearn_hashnlp.nn import FullSoftmax, HierarchicalSoftmax
from sklearn_hashnlp.training._torch_scope import plain_torch, torch_seed
from sklearn_hashnlp.trees import SoftmaxTree, balanced_tree, random_tree

_MAX_GRADIENT_NORM = 5.0  # as in the reference
_GENERATION_BATCH_SIZE = 250


class Purpose(IntEnum):
    """Purpose of random numbers; each has its own sequence."""

    fixed = 0
    validation = 1
    fresh = 2
    exact_match = 3
    test = 4
    order = 5
    tree = 6
    network = 7
    other_tree = 8
    embeddings = 9


def generator_for(seed: int, purpose: Purpose, number: int = 0) -> torch.Generator:
    """Return the random number generator of one purpose."""
    import numpy as np

    state = np.random.SeedSequence([seed, purpose, number]).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(state[0]))


def draw_strings(
    n_strings: int, n_symbols: int, max_length: int, *, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Return strings of uniform lengths and symbols, padded with -1, and their reversals."""
    lengths = torch.randint(1, max_length + 1, (n_strings, 1), generator=generator)
    symbols = torch.randint(n_symbols, (n_strings, max_length), generator=generator)
    positions = torch.arange(max_length)
    mask = positions < lengths
    reversals = symbols.gather(1, (lengths - 1 - positions).clamp(min=0))
    return symbols.masked_fill(~mask, -1), reversals.masked_fill(~mask, -1)


class Trainer:
    """A network with one of the output layers, and its optimizer."""

    def __init__(self, output: str, settings: ReversalSettings, seed: int) -> None:
        n_classes = settings.n_symbols + 1  # the symbol that ends a string is one more
        network_seed = generator_for(seed, Purpose.network).initial_seed()
        with torch_seed(network_seed):
            layer = make_output(
                output, settings.decoder_size, n_classes, seed, arity=settings.arity
            )
        with torch_seed(network_seed):
            self.network = AttentionNetwork(
                n_classes,
                settings.embedding_dim,
                settings.encoder_size,
                settings.decoder_size,
                layer,
                settings.encoder_layers,
                settings.decoder_layers,
            )
            if settings.init == "glorot":
                draw_glorot(self.network)
        if settings.embeddings != "normal":
            purpose = Purpose.tree if settings.embeddings == "tree" else Purpose.other_tree
            draw_common_parts(
                self.network.embedding.weight,
                make_tree(n_classes, seed, settings.arity, purpose=purpose),
                generator=generator_for(seed, Purpose.embeddings),
            )
        # SGD sums the loss of symbols as in the reference: its learning rate is for such a loss.
        self.sums_symbols = settings.optimizer == "sgd"
        kind = torch.optim.SGD if self.sums_symbols else torch.optim.Adam
        self.optimizer = kind(self.network.parameters(), lr=settings.learning_rate, fused=True)
        self.batch_size = settings.batch_size
        self.seed = seed
        self.epochs = 0

    def train_epoch(self, source: Tensor, target: Tensor) -> float:
        """Train for one epoch, in a new random order; return the seconds it took."""
        order = torch.randperm(
            len(source), generator=generator_for(self.seed, Purpose.order, self.epochs)
        )
        self.epochs += 1
        started = perf_counter()
        with plain_torch():
            for rows in torch.split(order, self.batch_size):
                self._backward(source[rows], target[rows])
                nn.utils.clip_grad_norm_(self.network.parameters(), _MAX_GRADIENT_NORM)
                self.optimizer.step()
        return perf_counter() - started

    def warm_up(self, source: Tensor, target: Tensor) -> None:
        """Run a forward and a backward pass without an update, so that everything is loaded."""
        with plain_torch():
            self._backward(source[: self.batch_size], target[: self.batch_size])

    def _backward(self, source: Tensor, target: Tensor) -> None:
        self.optimizer.zero_grad()
        log_probs, mean_loss = self.network(source, target)
        loss = -log_probs.mean() if self.sums_symbols else mean_loss
        loss.backward()

    def loss(self, source: Tensor, target: Tensor) -> float:
        """Return the negative log-likelihood, summed over symbols and ends as in the reference."""
        with plain_torch(), torch.no_grad():
            log_probs, _ = self.network(source, target)
        return -float(log_probs.sum())

    def exact_match(self, source: Tensor, target: Tensor) -> tuple[float, float]:
        """Generate strings; return the share that is entirely correct, and the seconds it took."""
        n_correct, seconds = 0, 0.0
        with plain_torch():
            parts = (torch.split(strings, _GENERATION_BATCH_SIZE) for strings in (source, target))
            for inputs, expected in zip(*parts, strict=True):
                started = perf_counter()
                generated = self.network.generate(inputs)
                seconds += perf_counter() - started
                n_correct += sum(
                    row[row >= 0].tolist() == true[true >= 0].tolist()
                    for row, true in zip(generated, expected, strict=True)
                )
        return n_correct / len(source), seconds


@torch.no_grad()
def draw_glorot(network: AttentionNetwork) -> None:
    """Draw parameters as the reference's library: uniform, up to sqrt(6 / sum of axis sizes)."""
    for name, parameter in network.named_parameters():
        parts: Iterable[Tensor] = [parameter]
        if name.startswith(("encoder", "decoder")):
            parts = parameter.chunk(4)  # the gates of an LSTM are parameters of their own there
        elif name == "embedding.weight":
            parts = parameter  # as is each vector
        for part in parts:
            _draw(part, sum(part.shape))
    layer = network.output
    # A binary node has two scores in the reference, and here their difference.
    if isinstance(layer, HierarchicalSoftmax):
        for parameter, size in ((layer.weight, 2 + layer.in_features), (layer.bias, 2)):
            _draw(parameter, size)
            parameter.add_(_draw(torch.empty_like(parameter), size))


@torch.no_grad()
def draw_common_parts(embeddings: Tensor, tree: SoftmaxTree, *, generator: torch.Generator) -> None:
    """Draw a vector for each branch of a tree; a symbol has the sum of those on its path."""
    offsets, nodes, branches = (torch.from_numpy(array) for array in tree.paths())
    n_branches = int(branches.max()) + 1
    parts = torch.randn(tree.n_nodes * n_branches, embeddings.shape[1], generator=generator)
    depths = offsets.diff()
    symbols = torch.arange(tree.n_classes).repeat_interleave(depths)
    embeddings.zero_().index_add_(0, symbols, parts[nodes * n_branches + branches])
    embeddings.mul_(EMBEDDING_STD / depths.unsqueeze(1).sqrt())


def _draw(tensor: Tensor, size: int) -> Tensor:
    bound = math.sqrt(6 / size)
    return nn.init.uniform_(tensor, -bound, bound)


def make_output(
    output: str, in_features: int, n_classes: int, seed: int, *, arity: int = 2
) -> FullSoftmax | HierarchicalSoftmax:
    """Make an output layer: a full or a hierarchical softmax."""
    if output == "softmax":
        return FullSoftmax(in_features, n_classes)
    if output == "hsigmoid":
        return HierarchicalSoftmax(make_tree(n_classes, seed, arity), in_features)
    raise ValueError(f"An output must be 'softmax' or 'hsigmoid', got {output!r}.")


def make_tree(
    n_classes: int, seed: int, arity: int, *, purpose: Purpose = Purpose.tree
) -> SoftmaxTree:
    """Make a random binary tree, or one that is as deep everywhere."""
    # symbols are drawn independently: one order of them is as good as another
    if arity > 2:
        return balanced_tree(n_classes, arity=arity)
    return random_tree(n_classes, random_state=generator_for(seed, purpose).initial_seed() % 2**32)


def time_layers(
    layers: Mapping[str, nn.Module], *, in_features: int, n_classes: int, rows: int, repeats: int
) -> dict[str, float]:
    """Return the median seconds of each output layer's forward and backward pass, in turns."""
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(rows, in_features, generator=generator, requires_grad=True)
    classes = torch.randint(n_classes, (rows,), generator=generator)
    seconds: dict[str, list[float]] = {name: [] for name in layers}
    with plain_torch():
        for _ in range(repeats):
            for name, layer in layers.items():
                started = perf_counter()
                layer.zero_grad()
                layer(states, classes)[1].backward()
                seconds[name].append(perf_counter() - started)
    return {name: sorted(times)[repeats // 2] for name, times in seconds.items()}
