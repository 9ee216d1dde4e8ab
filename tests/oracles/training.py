"""The training of a classifier as a plain loop over batches."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from sklearn_hashnlp.optim import RowwiseAdagrad, RowwiseAdam

OPTIMIZERS: dict[str, Callable[..., Any]] = {
    "adagrad": lambda parameters, lr, k: RowwiseAdagrad(parameters, lr=lr, eps=1e-4 / k),
    "adam": lambda parameters, lr, _: RowwiseAdam(parameters, lr=lr),
}


def train_by_hand(
    module,
    rows,
    *,
    optimizer: str,
    schedule: str,
    epochs: int,
    batch_size: int,
    lr: float,
    seed: int = 0,
) -> list[float]:
    """Train a bag of hash embeddings, with a pool of zeros, and its head by softmax; return the
    loss of each epoch.
    """
    hidden = len(module.head) > 1
    bag = module.bag
    make = OPTIMIZERS[optimizer]
    share = 0.1 if hidden and optimizer == "adagrad" else 1.0
    parts = [
        (make([bag.importance], lr, bag.num_hashes), 1.0),
        (make([bag.pool], lr, 1), 1 / bag.num_hashes),
        (make(module.head.parameters(), lr, 1), share),
    ]
    n_steps = epochs * -(-len(rows) // batch_size)
    generator = np.random.default_rng(seed)
    step = 0
    result = []
    module.train()
    for _ in range(epochs):
        order = np.arange(len(rows))
        generator.shuffle(order)
        losses = []
        for start in range(0, len(rows), batch_size):
            part, targets = rows.take(order[start : start + batch_size])
            scores = module(part.ids, part.offsets, part.weights)
            each = -scores.log_softmax(dim=1)[torch.arange(len(targets)), targets]
            loss = (each if part.row_weights is None else each * part.row_weights).mean()
            for part_optimizer, factor in parts:
                decay = 1 - step / n_steps if schedule == "linear" else 1
                part_optimizer.param_groups[0]["lr"] = lr * factor * decay
                part_optimizer.zero_grad()
            loss.backward()
            for part_optimizer, _ in parts:
                part_optimizer.step()
            losses.append((loss.item(), len(targets)))
            step += 1
        values, sizes = zip(*losses, strict=True)
        result.append(float(np.average(values, weights=sizes)))
    return result
