"""The most probable of many words: exact tree search against a matrix product and topk."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.common.data import DataFolder, read_text
from benchmarks.common.timing import median_ratio, order_of_round, summarize_seconds
from sklearn_hashnlp.language import HsigmoidLanguageModel, LanguageSchedule, Regularization
from sklearn_hashnlp.language._tokenizer import read_training_data
from sklearn_hashnlp.nn import HierarchicalSoftmax

MODEL: dict[str, Any] = {
    "order": 5,
    "hidden_size": 256,
    "max_features": 100_000,
    "batch_size": 512,
    "regularization": Regularization(0.25, 0.0, max_grad_norm=None),
    "optimizer": "adam",
    "learning_rate": 0.002,
    "schedule": LanguageSchedule(warmup_steps=0),
    "max_epochs": 1,
    "random_state": 0,
}
TREES = ("huffman", "cluster")
ALL = "all words"
VALID_EVERY = 100  # every hundredth paragraph
CONTEXTS = 4096
ROWS = 256
K = 10
TIE = 1e-5
WORD = re.compile(r"\w+|[^\w\s]")

Progress = Callable[[str], None]


def search(data: DataFolder, rounds: int, progress: Progress) -> dict[str, Any]:
    """Train a model with each tree, check its search results, and time both methods alternately."""
    paragraphs = [
        WORD.findall(line.lower()) for line in read_text(data, "wikipedia", "paragraphs.txt")
    ]
    valid = paragraphs[::VALID_EVERY]
    train = [words for number, words in enumerate(paragraphs) if number % VALID_EVERY]
    corpus = read_training_data(HsigmoidLanguageModel(**MODEL), train, valid)
    assert corpus.valid_windows is not None
    windows = corpus.valid_windows.evenly_spaced(CONTEXTS)
    contexts = torch.from_numpy(windows.take(np.arange(len(windows)))[0])
    n_classes = corpus.tokenizer.vocabulary.n_classes
    progress(
        f"{len(corpus.windows):,} training words, vocabulary of {n_classes:,}, {len(contexts):,} "
        "contexts to search"
    )
    layers: dict[str, HierarchicalSoftmax] = {}
    inputs: dict[str, list[Tensor]] = {}
    models: dict[str, Any] = {}
    for tree in TREES:
        start = time.perf_counter()
        model = HsigmoidLanguageModel(**MODEL, tree=tree).fit(train)
        seconds = time.perf_counter() - start
        network = model.net_.module_
        with torch.no_grad():
            layers[tree], inputs[tree] = (
                network.output_layer,
                list(network.hidden(contexts).split(ROWS)),
            )
        check_search(layers[tree], inputs[tree])
        models[tree] = {
            "seconds of fit": seconds,
            "perplexity of held-out words": model.perplexity(valid),
        }
        progress(
            f"{tree}: trained in {seconds:.0f} s, perplexity "
            f"{models[tree]['perplexity of held-out words']:.1f}"
        )
    seconds_of = time_search(layers, inputs, n_classes, rounds, progress)
    for tree in TREES:
        models[tree]["times as long"] = median_ratio(seconds_of[ALL], seconds_of[tree])
    return {
        "classes": n_classes,
        "contexts": len(contexts),
        "rows at a time": ROWS,
        "k": K,
        "seconds": {method: summarize_seconds(measured) for method, measured in seconds_of.items()},
        "models": models,
    }


def check_search(layer: HierarchicalSoftmax, inputs: list[Tensor]) -> None:
    for rows in inputs:
        with torch.no_grad():
            log_probs = layer.log_prob(rows)
        _, classes = layer.topk(rows, K)
        if not same_but_ties(log_probs, classes):
            raise SystemExit(
                "The tree search and the topk of all log-probabilities differ: they must agree."
            )


def same_but_ties(log_probs: Tensor, classes: Tensor, tie: float = TIE) -> bool:
    """Check whether classes are the most probable ones of each row, with ties broken in any way."""
    best = log_probs.topk(classes.shape[1], dim=1).values
    ordered = classes.sort(dim=1).values
    distinct = bool((ordered[:, 1:] != ordered[:, :-1]).all())
    return distinct and bool(((log_probs.gather(1, classes) - best).abs() <= tie).all())


def time_search(
    layers: dict[str, HierarchicalSoftmax],
    inputs: dict[str, list[Tensor]],
    n_classes: int,
    rounds: int,
    progress: Progress,
) -> dict[str, list[float]]:
    """Return the seconds of each round for all contexts, starting from the hidden layer."""
    weight = torch.randn((n_classes, inputs[TREES[0]][0].shape[1]))
    scores = torch.empty((ROWS, n_classes))  # allocated once, which favors the product

    def score_all(rows: Tensor) -> None:
        torch.mm(rows, weight.T, out=scores[: len(rows)]).topk(K, dim=1)

    methods: dict[str, tuple[Callable[[Tensor], Any], list[Tensor]]] = {
        tree: (lambda rows, layer=layer: layer.topk(rows, K), inputs[tree])
        for tree, layer in layers.items()
    }
    methods[ALL] = (score_all, inputs[TREES[0]])
    seconds: dict[str, list[float]] = {method: [] for method in methods}
    for round_ in range(rounds + 1):  # round 0 warms up
        for method in order_of_round(list(methods), round_):
            search_batch, batches = methods[method]
            start = time.perf_counter()
            with torch.inference_mode():
                for rows in batches:
                    search_batch(rows)
            taken = time.perf_counter() - start
            if round_:
                seconds[method].append(taken)
                progress(f"round {round_}/{rounds}: {method}: {taken:.3f} s")
    return seconds
