"""The first step of each trainer in float64: plain formulas of the losses and of the optimizers."""

import copy
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from tests.oracles.bags import locate_ids

Weights = dict[str, Tensor]
VARIANTS = ("improved", "paper", "standard")


class Update(NamedTuple):
    """A weight after its first step, and how far rounding in float32 may lead from it."""

    weight: Tensor
    tolerance: Tensor


def first_update(
    weight: Tensor,
    gradient: Tensor,
    *,
    optimizer: str,
    lr: float,
    eps: float,
    by_row: bool,
    n_terms: int,
) -> Update:
    """Update a weight by a gradient that is a sum of about ``n_terms`` numbers."""
    size: Tensor | float = 1.0
    # Adam's moments, corrected for their bias, are at first the gradient and its square
    if optimizer != "sgd":
        squares = gradient.square()
        if by_row:
            squares = (
                squares.flatten(1)
                .mean(dim=1)
                .view(-1, *[1] * (squares.dim() - 1))
                .expand_as(gradient)
            )
        size = squares.sqrt() + eps
    rounding = torch.finfo(torch.float32).eps
    tolerance = 2 * rounding * weight.abs() + lr * n_terms * rounding * gradient.abs().max() / size
    return Update(weight - lr * gradient / size, tolerance)


def documents(weights: Weights, batch: Any, bag: Any) -> Tensor:
    """Return the vectors of documents: sums of hash embeddings, divided by their norms."""
    counts, owners = (
        batch.weights.double(),
        torch.from_numpy(np.repeat(np.arange(len(batch)), batch.offsets.diff())),
    )
    variant, n_slots = VARIANTS.index(bag.variant), len(bag.pool)
    located = locate_ids(
        batch.ids.numpy(), variant, bag.num_hashes, bag.num_embeddings, n_slots, bag.seed
    )
    rows, slots = (torch.from_numpy(array) for array in located)
    importance = (
        weights["bag.importance"][rows] if "bag.importance" in weights else torch.ones_like(slots)
    )
    each = counts[:, None] * importance
    parts = each[:, :, None] * weights["bag.pool"][slots]
    vectors = parts.flatten(1) if bag.aggregation == "concat" else parts.sum(dim=1)
    if bag.append_weight and "bag.importance" in weights:
        vectors = torch.cat([vectors, each], dim=1)
    total = torch.zeros(len(batch), vectors.shape[1], dtype=torch.float64).index_add(
        0, owners, vectors
    )
    if bag.normalize is None:
        return total
    sizes = each.abs() if bag.normalize == "l1" else each.square()
    norms = torch.zeros(len(batch), dtype=torch.float64).index_add(0, owners, sizes.mean(dim=1))
    return total / (norms if bag.normalize == "l1" else norms.sqrt())[:, None]


def perceptron(weights: Weights, rows: Tensor, module: Any) -> Tensor:
    """Return the scores of dense rows: standardization, then linear layers with rectifiers in
    between.
    """
    x = (rows.double() - rows.double().mean(dim=0)) / rows.double().var(
        dim=0, correction=0
    ).mean().sqrt()
    layers = sorted(
        {name.rpartition(".")[0] for name in weights}, key=lambda name: int(name.split(".")[1])
    )
    for layer in layers:
        x = (x.relu() if layer != layers[0] else x) @ weights[f"{layer}.weight"].T + weights[
            f"{layer}.bias"
        ]
    return x


def language_loss(weights: Weights, context: Tensor, target: Tensor, module: Any) -> Tensor:
    """Return the mean loss of windows: embeddings end to end, a hidden layer with tanh, and an
    output layer.
    """
    x = weights["embedding.weight"][context.long()].flatten(1)
    hidden = torch.tanh(x @ weights["hidden_layer.weight"].T + weights["hidden_layer.bias"])
    output = module.output_layer
    own = {
        name.removeprefix("output_layer."): w
        for name, w in weights.items()
        if name.startswith("output_layer.")
    }
    if hasattr(output, "tree"):
        return tree_losses(own, hidden, target, output.tree).mean()
    if hasattr(output, "layer"):  # torch's own adaptive softmax
        with torch.no_grad():
            layer = copy.deepcopy(output.layer).double()
        return torch.func.functional_call(
            layer,
            {name.removeprefix("layer."): w for name, w in own.items()},
            (hidden, target.long()),
        ).loss
    return functional.cross_entropy(hidden @ own["weight"].T + own["bias"], target.long())


def tree_losses(weights: Weights, hidden: Tensor, target: Tensor, tree: Any) -> Tensor:
    """Return the negative log-likelihood of a class for each row: the sum over the decisions on its
    path.
    """
    bounds, losses = list(pairwise(tree.score_offsets.tolist())), []
    for x, label in zip(hidden, target.tolist(), strict=True):
        loss = x.new_zeros(())
        for node, branch in zip(*tree.path(label), strict=True):
            own = slice(*bounds[node])
            scores = weights["weight"][own] @ x + weights["bias"][own]
            scores = torch.cat([scores.new_zeros(1), scores]) if len(scores) == 1 else scores
            loss = loss - scores.log_softmax(dim=0)[branch]
        losses.append(loss)
    return torch.stack(losses)


LOSSES = {
    "softmax": lambda scores, targets: functional.cross_entropy(scores, targets, reduction="none"),
    "ova": lambda scores, targets: functional.softplus(-_signs(scores, targets) * scores).sum(
        dim=1
    ),
    "hinge": lambda scores, targets: (
        (1 - _signs(scores, targets) * scores).relu().square().sum(dim=1)
    ),
}


def _signs(scores: Tensor, targets: Tensor) -> Tensor:
    return 2.0 * functional.one_hot(targets, scores.shape[1]) - 1
