"""Strings of random symbols, and networks that learn to reverse them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from enum import IntEnum

import torch
from torch import Tensor, nn

from sklearn_hashnlp.nn import AttentionSeq2Seq, FullSoftmax, HierarchicalSoftmax
from sklearn_hashnlp.training._torch_scope import plain_torch, torch_seed
from sklearn_hashnlp.trees import random_tree

_LARGEST_GRADIENT = 5.0
_GENERATED_AT_A_TIME = 250


class Purpose(IntEnum):
    """What strings are drawn for, or an order is; each has a sequence of random numbers of its own."""

    fixed = 0
    validation = 1
    fresh = 2
    watch = 3
    test = 4
    order = 5
    tree = 6
    network = 7


def generator_for(seed: int, purpose: Purpose, number: int = 0) -> torch.Generator:
    """Make the generator of random numbers of one purpose."""
    import numpy as np

    state = np.random.SeedSequence([seed, purpose, number]).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(state[0]))


def draw_strings(
    n_strings: int, n_symbols: int, max_length: int, *, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Draw strings of equally probable lengths and symbols."""
    lengths = torch.randint(1, max_length + 1, (n_strings, 1), generator=generator)
    symbols = torch.randint(n_symbols, (n_strings, max_length), generator=generator)
    places = torch.arange(max_length)
    there = places < lengths
    backwards = symbols.gather(1, (lengths - 1 - places).clamp(min=0))
    return symbols.masked_fill(~there, -1), backwards.masked_fill(~there, -1)


class Learner:
    """A network and its optimiser."""

    def __init__(
        self,
        output: str,
        *,
        n_symbols: int,
        embedding_dim: int,
        encoder_size: int,
        decoder_size: int,
        learning_rate: float,
        batch_size: int,
        seed: int,
    ) -> None:
        n_classes = n_symbols + 1  # the symbol that ends a string is one more
        network_seed = generator_for(seed, Purpose.network).initial_seed()
        with torch_seed(network_seed):
            layer = make_output(output, decoder_size, n_classes, seed)
        with torch_seed(network_seed):
            self.network = AttentionSeq2Seq(n_classes, embedding_dim, encoder_size, decoder_size, output=layer)
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=learning_rate, fused=True)
        self.batch_size = batch_size
        self.seed = seed
        self.passes = 0

    def learn(self, source: Tensor, target: Tensor) -> float:
        """Pass over strings once, in an order of its own for each pass."""
        order = torch.randperm(len(source), generator=generator_for(self.seed, Purpose.order, self.passes))
        self.passes += 1
        started = time.perf_counter()
        with plain_torch():
            for rows in torch.split(order, self.batch_size):
                self._differentiate(source[rows], target[rows])
                nn.utils.clip_grad_norm_(self.network.parameters(), _LARGEST_GRADIENT)
                self.optimiser.step()
        return time.perf_counter() - started

    def warm_up(self, source: Tensor, target: Tensor) -> None:
        """Let everything compile that compiles at its first call, and learn nothing."""
        with plain_torch():
            self._differentiate(source[: self.batch_size], target[: self.batch_size])

    def _differentiate(self, source: Tensor, target: Tensor) -> None:
        self.optimiser.zero_grad()
        self.network(source, target)[1].backward()

    def loss(self, source: Tensor, target: Tensor) -> float:
        """Add up the negative log-likelihood of all symbols of all strings, ends included, as the source does."""
        with plain_torch(), torch.no_grad():
            log_probs, _ = self.network(source, target)
        return -float(log_probs.sum())

    def exact_match(self, source: Tensor, target: Tensor) -> tuple[float, float]:
        """Generate strings, and count those that are right from the first symbol to the end."""
        n_right, seconds = 0, 0.0
        with plain_torch():
            parts = (torch.split(strings, _GENERATED_AT_A_TIME) for strings in (source, target))
            for some, wanted in zip(*parts, strict=True):
                started = time.perf_counter()
                found = self.network.generate(some)
                seconds += time.perf_counter() - started
                n_right += sum(
                    row[row >= 0].tolist() == true[true >= 0].tolist() for row, true in zip(found, wanted, strict=True)
                )
        return n_right / len(source), seconds


def make_output(output: str, in_features: int, n_classes: int, seed: int) -> FullSoftmax | HierarchicalSoftmax:
    """Make an output layer."""
    if output == "softmax":
        return FullSoftmax(in_features, n_classes)
    if output == "hsigmoid":
        tree_seed = generator_for(seed, Purpose.tree).initial_seed() % 2**32
        return HierarchicalSoftmax(random_tree(n_classes, random_state=tree_seed), in_features)
    raise ValueError(f"An output must be 'softmax' or 'hsigmoid', got {output!r}.")


def time_layers(
    layers: Mapping[str, nn.Module], *, in_features: int, n_classes: int, rows: int, repeats: int
) -> dict[str, float]:
    """Compute a training step of output layers alone, there and back, in turns."""
    drawn = torch.Generator().manual_seed(0)
    states = torch.randn(rows, in_features, generator=drawn, requires_grad=True)
    classes = torch.randint(n_classes, (rows,), generator=drawn)
    seconds: dict[str, list[float]] = {name: [] for name in layers}
    with plain_torch():
        for _ in range(repeats):
            for name, layer in layers.items():
                started = time.perf_counter()
                layer.zero_grad()
                layer(states, classes)[1].backward()
                seconds[name].append(time.perf_counter() - started)
    return {name: sorted(times)[repeats // 2] for name, times in seconds.items()}
