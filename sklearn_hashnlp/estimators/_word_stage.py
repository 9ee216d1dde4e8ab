"""What a sentence encoder learns of words before it learns of sentences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sklearn_hashnlp.estimators._cached_projections import CachedProjections
from sklearn_hashnlp.nn import RowwiseAdagrad, SGNNTransformer

_BATCH = 512
_STEP_OF_TABLES, _STEP_OF_LINEAR = 0.05, 1e-3
_POWER = 0.5  # of a word's count, for how often it is drawn


def learn_words(
    transformer: SGNNTransformer,
    projections: CachedProjections,
    numbers: NDArray[np.int64],
    targets: NDArray[np.float32],
    counts: NDArray[np.int64],
    *,
    n_epochs: int,
    seed: int,
    verbose: int = 0,
) -> list[float]:
    """Let word vectors become what the company of the words says, by least squares.

    Words are drawn, with replacement, by the root of how often they occur. The matrix W starts anew as zero: what
    spelling says of a word's use is learned, too.

    Parameters
    ----------
    transformer : SGNNTransformer
        Its linear layer and its tables learn.
    projections : CachedProjections
        Of all words.
    numbers : ndarray of int64 of shape (n_words,)
        Which of them are to be learned.
    targets : ndarray of float32 of shape (n_words, width)
        Unit vectors, which are learned at the length sqrt(width).
    counts : ndarray of int64 of shape (n_words,)
        How often each word occurs.
    n_epochs : int
        As many words are drawn as there are, so many times.
    seed : int
        Of the draws.
    verbose : int, default=0
        With 1 or more, a line an epoch is printed.

    Returns
    -------
    list of float
        The mean squared distance of each epoch, as a share of the targets' squared length.
    """
    generator = np.random.default_rng(seed)
    share = counts.astype(np.float64) ** _POWER
    share /= share.sum()
    scale = math.sqrt(transformer.width)
    torch.nn.init.zeros_(transformer.linear.weight)
    linear = torch.optim.Adam([transformer.linear.weight], lr=_STEP_OF_LINEAR * scale)
    optimizers: list[Any] = [linear]
    if transformer.tables is not None:
        transformer.tables.requires_grad_(True)
        optimizers.append(RowwiseAdagrad(transformer.tables.parameters(), lr=_STEP_OF_TABLES * scale))
    steps = [optimizer.param_groups[0]["lr"] for optimizer in optimizers]
    outputs = torch.from_numpy(targets)
    device = transformer.linear.weight.device
    distances = []
    for epoch in range(n_epochs):
        total = n_drawn = 0.0
        for optimizer, step in zip(optimizers, steps, strict=True):
            optimizer.param_groups[0]["lr"] = step * (1 - epoch / n_epochs)
        drawn = torch.from_numpy(generator.choice(len(share), size=len(share), p=share))
        for words in torch.split(drawn, _BATCH):
            rows = projections.rows(numbers[words.numpy()])
            vectors = transformer.word_vectors(torch.from_numpy(rows).to(device))
            loss = (vectors / scale - outputs[words].to(device)).square().sum(dim=1).mean()
            for optimizer in optimizers:
                optimizer.zero_grad()
            torch.autograd.backward(loss)
            for optimizer in optimizers:
                optimizer.step()
            total, n_drawn = total + loss.item() * len(words), n_drawn + len(words)
        distances.append(total / n_drawn)
        if verbose:
            print(f"words, epoch {epoch + 1} of {n_epochs}: {distances[-1]:.4f} of the targets is not reached")
    if transformer.tables is not None:
        transformer.tables.requires_grad_(False)
    return distances
