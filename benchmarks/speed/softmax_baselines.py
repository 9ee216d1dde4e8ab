"""The network of HsigmoidLanguageModel with another output layer, in a plain torch loop."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from sklearn_hashnlp.nn import NPLM

BATCH = 512
TRIED_STEPS = 20


class Words(NamedTuple):
    """A corpus as tensors, made before timing."""

    contexts: Tensor  # (n_words, order - 1), ids of the preceding words
    targets: Tensor  # (n_words,), ids of the words to predict


class LanguageBaseline:
    """A network and its optimizer, torch's Adam with dense gradients."""

    def __init__(
        self,
        output: str,
        n_classes: int,
        *,
        order: int,
        embedding_dim: int,
        hidden_size: int,
        learning_rate: float,
        linear: bool = False,
        fused: bool = False,
        seed: int = 0,
    ) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.model = NPLM(
                n_classes + 1,
                order,
                embedding_dim,
                hidden_size,
                num_classes=n_classes,
                output=output,
                sparse=False,
            )
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=learning_rate, fused=fused)
        self.learning_rate = learning_rate
        self.linear = linear

    def loss(self, contexts: Tensor, targets: Tensor) -> Tensor:
        """Return the mean loss of a batch."""
        if self.model.output == "adaptive":
            adaptive: Tensor = self.model(contexts, targets)[1]
            return adaptive
        layer = self.model.output_layer
        return functional.cross_entropy(
            functional.linear(self.model.hidden(contexts), layer.weight, layer.bias), targets
        )

    def train(self, words: Words, *, epochs: int = 1, n_batches: int | None = None) -> float:
        """Train for some epochs, or some batches of an epoch, and return the seconds."""
        start = time.perf_counter()
        self.model.train()
        n_steps, step = epochs * -(-len(words.targets) // BATCH), 0
        for _ in range(epochs):
            batches = torch.randperm(len(words.targets), generator=self.generator).split(BATCH)
            for rows in batches[:n_batches]:
                if self.linear:
                    for group in self.optimizer.param_groups:
                        group["lr"] = self.learning_rate * (1 - step / n_steps)
                self.optimizer.zero_grad()
                self.loss(words.contexts[rows], words.targets[rows]).backward()
                self.optimizer.step()
                step += 1
        return time.perf_counter() - start

    def perplexity(self, words: Words) -> float:
        """Return the perplexity of a corpus."""
        self.model.eval()
        total = 0.0
        with torch.inference_mode():
            for contexts, targets in zip(
                words.contexts.split(BATCH), words.targets.split(BATCH), strict=True
            ):
                total += float(self.loss(contexts, targets)) * len(targets)
        return math.exp(total / len(words.targets))


def fused_is_faster(plain: LanguageBaseline, fused: LanguageBaseline, words: Words) -> bool:
    """Time both implementations of Adam on a few batches, alternately after a warm-up."""
    seconds = {
        peer: [peer.train(words, n_batches=TRIED_STEPS) for _ in range(3)][1:]
        for peer in (plain, fused)
    }
    return min(seconds[fused]) < min(seconds[plain])
