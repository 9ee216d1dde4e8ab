"""Training with so many classes that a full softmax is out of the question."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from sklearn_hashnlp.nn import NPLM, HierarchicalSoftmax
from sklearn_hashnlp.optim import RowwiseAdagrad
from sklearn_hashnlp.trees import huffman_tree

from .memory import forget_peak, peak_mb
from .timing import seconds_of_turns, sides_of_turn, times_as_long

LARGE, MILLION = 100_000, 1_000_000
FEATURES, BATCH = 256, 512
TREE, LINEAR = "hierarchical softmax", "linear and cross entropy"
STEPS = {TREE: 100, LINEAR: 4}  # a turn
WARM_STEPS = 2
MILLION_STEPS, MEASURED_LOSSES = 300, 50
GOAL_TIMES, GOAL_MIB = 50.0, 4096

Progress = Callable[[str], None]


def zipf_counts(n_classes: int) -> NDArray[np.int64]:
    """Give counts that fall as one over the rank."""
    return np.maximum(10**9 // np.arange(1, n_classes + 1), 1)


def draw_classes(counts: NDArray[np.int64], shape: tuple[int, ...], seed: int) -> Tensor:
    """Draw classes with the probabilities that the counts have."""
    ends = np.cumsum(counts)
    draws = np.random.default_rng(seed).integers(ends[-1], size=shape)
    return torch.from_numpy(np.searchsorted(ends, draws, side="right"))


def large(n_classes: int, turns: int, progress: Progress) -> dict[str, Any]:
    """Time steps of both layers: forward, backward to the weights and to the input, and the optimiser."""
    counts = zipf_counts(n_classes)
    torch.manual_seed(0)
    tree = HierarchicalSoftmax(huffman_tree(counts), FEATURES, sparse=True)
    linear = nn.Linear(FEATURES, n_classes)
    layers: dict[str, tuple[Callable[[Tensor, Tensor], Tensor], torch.optim.Optimizer]] = {
        TREE: (lambda rows, classes: tree(rows, classes)[1], RowwiseAdagrad(tree.parameters(), lr=0.1)),
        LINEAR: (
            lambda rows, classes: functional.cross_entropy(linear(rows), classes),
            torch.optim.SGD(linear.parameters(), lr=0.1),
        ),
    }
    seconds: dict[str, list[float]] = {side: [] for side in layers}
    for turn in range(turns + 1):  # turn 0 warms both sides up
        for side in sides_of_turn(list(layers), turn):
            n_steps = STEPS[side] if turn else WARM_STEPS
            inputs = torch.randn((n_steps, BATCH, FEATURES))
            classes = draw_classes(counts, (n_steps, BATCH), seed=turn)
            taken = step_seconds(*layers[side], inputs, classes)
            if turn:
                seconds[side].append(taken)
                progress(f"turn {turn}/{turns}: {side}: {1000 * taken:.2f} ms a step")
    return {
        "classes": n_classes,
        "steps a turn": STEPS,
        "seconds of a step": {side: seconds_of_turns(found) for side, found in seconds.items()},
        "times as long": times_as_long(seconds[LINEAR], seconds[TREE]),
    }


def step_seconds(
    loss_of: Callable[[Tensor, Tensor], Tensor], optimizer: torch.optim.Optimizer, inputs: Tensor, classes: Tensor
) -> float:
    """Give the mean seconds of a training step."""
    start = time.perf_counter()
    for rows, targets in zip(inputs, classes, strict=True):
        optimizer.zero_grad()
        loss_of(rows.detach().requires_grad_(), targets).backward()
        optimizer.step()
    return (time.perf_counter() - start) / len(inputs)


def show_large(found: dict[str, Any]) -> None:
    print(f"\nA training step with {found['classes']:,} classes, {BATCH} rows of {FEATURES}")
    for side, seconds in found["seconds of a step"].items():
        print(f"{side:26}{1000 * seconds['median']:10.2f} ms")
    print(f"The softmax takes {found['times as long']:.1f} times as long; goal: {GOAL_TIMES:g} times.")


def million(n_classes: int) -> dict[str, Any]:
    """Train a language model's network for some steps; of this process nothing else is to be known."""
    forget_peak()
    idle, counts = peak_mb(), zipf_counts(n_classes)
    start = time.perf_counter()
    tree = huffman_tree(counts)
    tree_seconds = time.perf_counter() - start
    torch.manual_seed(0)
    model = NPLM(n_classes, tree=tree, sparse=True)
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


def show_million(found: dict[str, Any]) -> None:
    print(f"\nA network of {found['words']:,} words, {found['parameters']:,} parameters, {found['steps']:,} steps")
    print(f"seconds to build the tree {found['seconds of the tree']:.2f}, of a step {found['seconds of a step']:.4f}")
    first, last = found["loss of the first steps"], found["loss of the last steps"]
    print(f"loss of the first {MEASURED_LOSSES} steps {first:.2f}, of the last {last:.2f}")
    print(f"peak {found['peak MiB']:,.0f} MiB (idle {found['idle MiB']:,.0f}); goal: less than {GOAL_MIB:,} MiB")
