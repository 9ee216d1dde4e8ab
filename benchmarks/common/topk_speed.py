"""The most probable words of many: exact search in a tree, and a matrix product over all words with topk."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sklearn_hashnlp.language import HsigmoidLanguageModel
from sklearn_hashnlp.language._reader import read_language_corpus
from sklearn_hashnlp.nn import HierarchicalSoftmax

from .data import DataFolder, read_text
from .timing import seconds_of_turns, sides_of_turn, times_as_long

MODEL: dict[str, Any] = {
    "order": 5,
    "hidden_size": 256,
    "max_vocabulary": 100_000,
    "optimizer": "adam",
    "learning_rate": 0.002,
    "learning_rate_schedule": "linear",
    "max_epochs": 1,
    "random_state": 0,
}
TREES = ("huffman", "cluster")
ALL = "all words"
HELD_OUT = 100  # every hundredth paragraph
CONTEXTS, ROWS, K = 4096, 256, 10
TIE = 1e-5
GOAL_TIMES = 10.0
WORD = re.compile(r"\w+|[^\w\s]")

Progress = Callable[[str], None]


def search(data: DataFolder, turns: int, progress: Progress) -> dict[str, Any]:
    """Train a model with each tree, make sure that its search finds what it should, and time both ways in turn."""
    paragraphs = [WORD.findall(line.lower()) for line in read_text(data, "wikipedia", "paragraphs.txt")]
    held_out = paragraphs[::HELD_OUT]
    train = [words for number, words in enumerate(paragraphs) if number % HELD_OUT]
    corpus = read_language_corpus(HsigmoidLanguageModel(**MODEL), train, held_out, seed=None)
    assert corpus.valid_windows is not None
    windows = corpus.valid_windows.spread(CONTEXTS)
    contexts = torch.from_numpy(windows.take(np.arange(len(windows)))[0])
    n_classes = corpus.reader.vocabulary.n_classes
    progress(f"{len(corpus.windows):,} words of {n_classes:,} to train on, {len(contexts):,} contexts to search for")
    layers: dict[str, HierarchicalSoftmax] = {}
    inputs: dict[str, list[Tensor]] = {}
    models: dict[str, Any] = {}
    for tree in TREES:
        start = time.perf_counter()
        model = HsigmoidLanguageModel(**MODEL, tree=tree).fit(train)
        seconds = time.perf_counter() - start
        network = model.net_.module_
        with torch.no_grad():
            layers[tree], inputs[tree] = network.output_layer, list(network.hidden(contexts).split(ROWS))
        check_search(layers[tree], inputs[tree])
        models[tree] = {"seconds of fit": seconds, "perplexity of held-out words": model.perplexity(held_out)}
        progress(f"{tree}: trained in {seconds:.0f} s, perplexity {models[tree]['perplexity of held-out words']:.1f}")
    seconds_of = time_search(layers, inputs, n_classes, turns, progress)
    for tree in TREES:
        models[tree]["times as long"] = times_as_long(seconds_of[ALL], seconds_of[tree])
    return {
        "classes": n_classes,
        "contexts": len(contexts),
        "rows at a time": ROWS,
        "k": K,
        "seconds": {side: seconds_of_turns(found) for side, found in seconds_of.items()},
        "models": models,
    }


def check_search(layer: HierarchicalSoftmax, inputs: list[Tensor]) -> None:
    for rows in inputs:
        with torch.no_grad():
            log_probs = layer.log_prob(rows)
        _, classes = layer.topk(rows, K)
        if not same_but_ties(log_probs, classes):
            raise SystemExit("The search found other words than there are by all log-probabilities: they must agree.")


def same_but_ties(log_probs: Tensor, classes: Tensor, tie: float = TIE) -> bool:
    """Tell whether classes are the most probable ones of each row, where a tie may be broken in any way."""
    best = log_probs.topk(classes.shape[1], dim=1).values
    ordered = classes.sort(dim=1).values
    distinct = bool((ordered[:, 1:] != ordered[:, :-1]).all())
    return distinct and bool(((log_probs.gather(1, classes) - best).abs() <= tie).all())


def time_search(
    layers: dict[str, HierarchicalSoftmax],
    inputs: dict[str, list[Tensor]],
    n_classes: int,
    turns: int,
    progress: Progress,
) -> dict[str, list[float]]:
    """Give the seconds for all contexts of each turn; both ways start from the hidden layer."""
    weight = torch.randn((n_classes, inputs[TREES[0]][0].shape[1]))
    scores = torch.empty((ROWS, n_classes))  # made once, in favour of the product

    def score_all(rows: Tensor) -> None:
        torch.mm(rows, weight.T, out=scores[: len(rows)]).topk(K, dim=1)

    ways: dict[str, tuple[Callable[[Tensor], Any], list[Tensor]]] = {
        tree: (lambda rows, layer=layer: layer.topk(rows, K), inputs[tree]) for tree, layer in layers.items()
    }
    ways[ALL] = (score_all, inputs[TREES[0]])
    seconds: dict[str, list[float]] = {side: [] for side in ways}
    for turn in range(turns + 1):  # turn 0 warms up
        for side in sides_of_turn(list(ways), turn):
            find, batches = ways[side]
            start = time.perf_counter()
            with torch.inference_mode():
                for rows in batches:
                    find(rows)
            taken = time.perf_counter() - start
            if turn:
                seconds[side].append(taken)
                progress(f"turn {turn}/{turns}: {side}: {taken:.3f} s")
    return seconds


def show_search(found: dict[str, Any]) -> None:
    print(f"\nThe {found['k']} most probable of {found['classes']:,} words, {found['rows at a time']} rows at a time")
    print(f"{'':12}{'contexts/s':>12}{'perplexity':>12}{'all words take':>20}")
    for side, seconds in found["seconds"].items():
        model = found["models"].get(side)
        rest = (
            ""
            if model is None
            else f"{model['perplexity of held-out words']:12.1f}{model['times as long']:14.1f} times"
        )
        print(f"{side:12}{found['contexts'] / seconds['median']:12,.0f}{rest}")
    print(f"Goal: {GOAL_TIMES:g} times. Every answer was that of all log-probabilities.")
