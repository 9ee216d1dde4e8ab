"""Training with too many classes for a full softmax."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.common.memory import peak_mb, reset_peak
from benchmarks.common.timing import median_ratio, order_of_round, summarize_seconds
from sklearn_hashnlp.nn import NPLM, HierarchicalSoftmax
from sklearn_hashnlp.optim import RowwiseAdagrad
from sklearn_hashnlp.trees import huffman_tree

LARGE, MILLION = 100_000, 1_000_000
FEATURES, BATCH = 256, 512
TREE, LINEAR = "hierarchical softmax", "linear and cross entropy"
STEPS = {TREE: 100, LINEAR: 4}  # per round
WARM_STEPS = 2
MILLION_STEPS, MEASURED_LOSSES = 300, 50

Progress = Callable[[str], None]


def zipf_counts(n_classes: int) -> NDArray[np.int64]:
    """Return counts proportional to one over the rank."""
    return np.maximum(10**9 // np.arange(1, n_classes + 1), 1)


def draw_classes(counts: NDArray[np.int64], shape: tuple[int, ...], seed: int) -> Tensor:
    """Draw classes with probabilities proportional to their counts."""
    ends = np.cumsum(counts)
    draws = np.random.default_rng(seed).integers(ends[-1], size=shape)
    return torch.from_numpy(np.searchsorted(ends, draws, side="right"))


def large(n_classes: int, rounds: int, progress: Progress) -> dict[str, Any]:
    """Time training steps of both layers: forward, backward to weights and input, optimizer."""
    counts = zipf_counts(n_classes)
    torch.manual_seed(0)
    tree = HierarchicalSoftmax(huffman_tree(counts), FEATURES, sparse=True)
    linear = nn.Linear(FEATURES, n_classes)
    layers: dict[str, tuple[Callable[[Tensor, Tensor], Tensor], torch.optim.Optimizer]] = {
        TREE: (
            lambda rows, classes: tree(rows, classes)[1],
            RowwiseAdagrad(tree.parameters(), lr=0.1),
        ),
        LINEAR: (
            lambda rows, classes: functional.cross_entropy(linear(rows), classes),
            torch.optim.SGD(linear.parameters(), lr=0.1),
        ),
    }
    seconds: dict[str, list[float]] = {method: [] for method in layers}
    for round_ in range(rounds + 1):  # round 0 is a warm-up
        for method in order_of_round(list(layers), round_):
            n_steps = STEPS[method] if round_ else WARM_STEPS
            inputs = torch.randn((n_steps, BATCH, FEATURES))
            classes = draw_classes(counts, (n_steps, BATCH), seed=round_)
            taken = step_seconds(*layers[method], inputs, classes)
            if round_:
                seconds[method].append(taken)
                progress(f"round {round_}/{rounds}: {method}: {1000 * taken:.2f} ms per step")
    return {
        "classes": n_classes,
        "steps per round": STEPS,
        "seconds of a step": {
            method: summarize_seconds(measured) for method, measured in seconds.items()
        },
        "times as long": median_ratio(seconds[LINEAR], seconds[TREE]),
    }


def step_seconds(
    loss_of: Callable[[Tensor, Tensor], Tensor],
    optimizer: torch.optim.Optimizer,
    inputs: Tensor,
    classes: Tensor,
) -> float:
    """Return the mean seconds per training step."""
    start = time.perf_counter()
    for rows, targets in zip(inputs, classes, strict=True):
        optimizer.zero_grad()
        loss_of(rows.detach().requires_grad_(), targets).backward()
        optimizer.step()
    return (time.perf_counter() - start) / len(inputs)


def million(n_classes: int) -> dict[str, Any]:
    """Train a language model's network for some steps and measure the memory of this process."""
    reset_peak()
    idle, counts = peak_mb(), zipf_counts(n_classes)
    start = time.perf_counter()
    tree = huffman_tree(counts)
    tree_seconds = time.perf_counter() - start
    torch.manual_seed(0)
    model = NPLM(n_classes, output=tree, sparse=True)
    optimizer = RowwiseAdagrad(model.parameters(), lr=0.1)
    words = draw_classes(counts, (MILLION_STEPS + WARM_STEPS, BATCH, model.order), seed=0)
    losses: list[float] = []
    for step, rows in enumerate(words):
        if step == WARM_STEPS:
            start = time.perf_counter()
        optimizer.zero_grad()
        loss = model(rows[:, :-1], rows[:, -1])[1]
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    seconds = time.perf_counter() - start
    return {
        "words": n_classes,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "steps": MILLION_STEPS,
        "seconds of a step": seconds / MILLION_STEPS,
        "seconds of the tree": tree_seconds,
        "loss of the first steps": float(np.mean(losses[:MEASURED_LOSSES])),
        "loss of the last steps": float(np.mean(losses[-MEASURED_LOSSES:])),
        "idle MiB": idle,
        "peak MiB": peak_mb(),
    }
