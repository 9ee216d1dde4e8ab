"""HsigmoidLanguageModel against torch's softmaxes on PTB: epoch time, time to a perplexity."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from benchmarks.common.data import DataFolder, read_text
from benchmarks.common.timing import median_ratio, order_of_round, summarize_seconds
from benchmarks.speed.softmax_baselines import BATCH, LanguageBaseline, Words, fused_is_faster
from sklearn_hashnlp.language import HsigmoidLanguageModel, LanguageSchedule
from sklearn_hashnlp.language._language_net import cooccurrence_vectors
from sklearn_hashnlp.language._tokenizer import WordWindows, read_training_data
from sklearn_hashnlp.trees import SoftmaxTree, cluster_tree

SIZES = {"order": 5, "embedding_dim": 64, "hidden_size": 256}
OURS = {
    **SIZES,
    "batch_size": BATCH,
    "regularization": None,
    "schedule": LanguageSchedule(warmup_steps=0),
}
SOFTMAX, ADAPTIVE = "softmax", "adaptive"
SOFTMAX_BATCHES = 200  # of the 1,816 of an epoch: all take the same time
LEARNING_RATES, SCHEDULES = (1e-3, 2e-3), ("constant", "linear")
TARGET_EPOCHS, MAX_EPOCHS = 2, 8

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Corpus:
    """PTB as strings for ours, and as word ids for the baselines."""

    train: list[str]
    valid: list[str]
    vocabulary: dict[str, int]
    n_classes: int
    windows: WordWindows
    train_words: Words
    valid_words: Words


def read_ptb(data: DataFolder) -> Corpus:
    train, valid = (read_text(data, "ptb", file) for file in ("train.txt", "valid.txt"))
    corpus = read_training_data(HsigmoidLanguageModel(**SIZES), train, valid)
    assert corpus.valid_windows is not None
    return Corpus(
        train,
        valid,
        corpus.tokenizer.vocabulary.word_to_id,
        corpus.tokenizer.vocabulary.n_classes,
        corpus.windows,
        *(
            Words(*map(torch.from_numpy, windows.take(np.arange(len(windows)))))
            for windows in (corpus.windows, corpus.valid_windows)
        ),
    )


def epoch(ptb: Corpus, rounds: int, progress: Progress) -> dict[str, Any]:
    """Time an epoch of each method, alternately; ours is the second, without compilation."""
    trees = make_trees(ptb, progress)
    fused = choose_adam(ptb, (ADAPTIVE, SOFTMAX), progress)
    n_batches = -(-len(ptb.windows) // BATCH)
    n_timed = min(SOFTMAX_BATCHES, n_batches)
    seconds: dict[str, list[float]] = {method: [] for method in (*trees, ADAPTIVE, SOFTMAX)}
    for round_ in range(1, rounds + 1):
        for method in order_of_round(list(seconds), round_):
            if method in trees:
                taken = second_epoch(ptb, trees[method])
            else:
                baseline = make_baseline(method, ptb, fused=fused[method])
                # warm-up: Adam allocates its moments in the first step
                baseline.train(ptb.train_words, n_batches=5)
                timed = n_timed if method == SOFTMAX else n_batches
                taken = baseline.train(ptb.train_words, n_batches=timed) * n_batches / timed
            seconds[method].append(taken)
            progress(f"round {round_}/{rounds}: {method}: {taken:.2f} s per epoch")
    return {
        "words": len(ptb.windows),
        "classes": ptb.n_classes,
        "batches": n_batches,
        "batches of softmax that were timed": n_timed,
        "fused Adam": fused,
        "seconds": {method: summarize_seconds(measured) for method, measured in seconds.items()},
        "times as long": {
            method: {
                peer: median_ratio(seconds[peer], seconds[method]) for peer in (SOFTMAX, ADAPTIVE)
            }
            for method in trees
        },
    }


def make_trees(ptb: Corpus, progress: Progress) -> dict[str, SoftmaxTree | str]:
    """Return three trees by name, and a cluster tree of the same vectors with another arity."""
    counts = np.bincount(ptb.windows.y, minlength=ptb.n_classes)
    vectors = cooccurrence_vectors(ptb.windows, ptb.n_classes)
    trees: dict[str, SoftmaxTree | str] = {
        name: name for name in ("huffman", "binary_cluster", "cluster")
    }
    trees["cluster, arity 22"] = cluster_tree(counts, vectors, arity=22, random_state=0)
    progress(f"{len(ptb.windows):,} words of {ptb.n_classes:,}; trees built")
    return trees


def second_epoch(ptb: Corpus, tree: SoftmaxTree | str) -> float:
    model = HsigmoidLanguageModel(
        **OURS, tree=tree, vocabulary=ptb.vocabulary, max_epochs=2, random_state=0
    )
    return float(model.fit(ptb.train).history_[1]["dur"])


def make_baseline(output: str, ptb: Corpus, **settings: Any) -> LanguageBaseline:
    return LanguageBaseline(
        output, ptb.n_classes, **SIZES, **{"learning_rate": LEARNING_RATES[1]} | settings
    )


def choose_adam(ptb: Corpus, outputs: tuple[str, ...], progress: Progress) -> dict[str, bool]:
    """Check for each output layer whether torch's fused Adam is faster."""
    fused = {}
    for output in outputs:
        plain, faster = (make_baseline(output, ptb, fused=choice) for choice in (False, True))
        fused[output] = fused_is_faster(plain, faster, ptb.train_words)
        progress(f"{output}: {'fused' if fused[output] else 'default'} Adam is faster")
    return fused


def target(ptb: Corpus, rounds: int, progress: Progress) -> dict[str, Any]:
    """Train adaptive softmax for two epochs, then ours, tree included, to the same perplexity."""
    fused = choose_adam(ptb, (ADAPTIVE,), progress)[ADAPTIVE]
    trials: list[dict[str, Any]] = []
    for schedule in SCHEDULES:
        for rate in LEARNING_RATES:
            trials.append(
                {"learning_rate": rate, "schedule": schedule}
                | train_baseline(ptb, rate, schedule, fused, seed=0)
            )
            progress(f"adaptive, {rate:g}, {schedule}: perplexity {trials[-1]['perplexity']:.2f}")
    best = min(trials, key=lambda one: one["perplexity"])
    theirs, ours = [], []
    for round_ in range(1, rounds + 1):
        theirs.append(
            train_baseline(ptb, best["learning_rate"], best["schedule"], fused, seed=round_)
        )
        progress(
            f"round {round_}/{rounds}: adaptive: {theirs[-1]['perplexity']:.2f} in "
            f"{theirs[-1]['seconds']:.1f} s"
        )
        ours.append(reach(ptb, theirs[-1]["perplexity"], seed=round_))
        last = ours[-1][-1]
        progress(
            f"round {round_}/{rounds}: cluster tree: {last['perplexity']:.2f} after "
            f"{len(ours[-1])} epochs in {last['seconds']:.1f} s"
        )
    return {
        "tried": trials,
        "fused Adam": fused,
        "best": {key: best[key] for key in ("learning_rate", "schedule")},
        "adaptive": theirs,
        "ours": ours,
    }


def train_baseline(
    ptb: Corpus, rate: float, schedule: str, fused: bool, seed: int
) -> dict[str, float]:
    baseline = make_baseline(
        ADAPTIVE, ptb, learning_rate=rate, linear=schedule == "linear", fused=fused, seed=seed
    )
    seconds = baseline.train(ptb.train_words, epochs=TARGET_EPOCHS)
    return {"perplexity": baseline.perplexity(ptb.valid_words), "seconds": seconds}


def reach(ptb: Corpus, perplexity: float, seed: int) -> list[dict[str, float]]:
    """Train for one epoch, for two, and so on, until a training reaches the perplexity."""
    runs: list[dict[str, float]] = []
    while len(runs) < MAX_EPOCHS and not (runs and runs[-1]["perplexity"] <= perplexity):
        model = HsigmoidLanguageModel(
            **OURS, tree="cluster", max_epochs=len(runs) + 1, random_state=seed
        )
        start = time.perf_counter()
        model.fit(ptb.train)
        seconds = time.perf_counter() - start
        runs.append({"perplexity": model.perplexity(ptb.valid), "seconds": seconds})
    return runs
