"""HsigmoidLanguageModel and the same network with torch's softmaxes on PTB: an epoch, and the time to a perplexity."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from sklearn_hashnlp.language import HsigmoidLanguageModel
from sklearn_hashnlp.language._reader import read_language_corpus
from sklearn_hashnlp.language._trees import context_vectors
from sklearn_hashnlp.language._windows import WordWindows
from sklearn_hashnlp.trees import SoftmaxTree, cluster_tree

from .data import DataFolder, read_text
from .softmax_baselines import BATCH, LanguagePeer, Words, fused_is_faster
from .timing import seconds_of_turns, sides_of_turn, times_as_long

SIZES = {"order": 5, "embedding_dim": 64, "hidden_size": 256}
OURS = {**SIZES, "batch_size": BATCH, "dropout": 0.0}
SOFTMAX, ADAPTIVE = "softmax", "adaptive"
SOFTMAX_BATCHES = 200  # of the 1,816 of an epoch: each costs the same
LEARNING_RATES, SCHEDULES = (1e-3, 2e-3), ("constant", "linear")
TARGET_EPOCHS, MOST_EPOCHS = 2, 8
OF_SOFTMAX, OF_ADAPTIVE = 10.0, 2.0

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Corpus:
    """PTB as strings for ours, and as numbers for the peers."""

    train: list[str]
    valid: list[str]
    vocabulary: dict[str, int]
    n_classes: int
    windows: WordWindows
    train_words: Words
    valid_words: Words


def read_ptb(data: DataFolder) -> Corpus:
    train, valid = (read_text(data, "ptb", file) for file in ("train.txt", "valid.txt"))
    corpus = read_language_corpus(HsigmoidLanguageModel(**SIZES), train, valid, seed=None)
    assert corpus.valid_windows is not None
    return Corpus(
        train,
        valid,
        corpus.reader.vocabulary.number_of,
        corpus.reader.vocabulary.n_classes,
        corpus.windows,
        *(
            Words(*map(torch.from_numpy, windows.take(np.arange(len(windows)))))
            for windows in (corpus.windows, corpus.valid_windows)
        ),
    )


def epoch(ptb: Corpus, turns: int, progress: Progress) -> dict[str, Any]:
    """Time an epoch of each side, in turn; ours is the second of a training, so that nothing is compiled in it."""
    trees = make_trees(ptb, progress)
    fused = choose_adam(ptb, (ADAPTIVE, SOFTMAX), progress)
    n_batches = -(-len(ptb.windows) // BATCH)
    n_timed = min(SOFTMAX_BATCHES, n_batches)
    seconds: dict[str, list[float]] = {side: [] for side in (*trees, ADAPTIVE, SOFTMAX)}
    for turn in range(1, turns + 1):
        for side in sides_of_turn(list(seconds), turn):
            if side in trees:
                taken = second_epoch(ptb, trees[side])
            else:
                peer = make_peer(side, ptb, fused=fused[side])
                peer.train(ptb.train_words, n_batches=5)  # to warm up: Adam's moments are made in the first step
                timed = n_timed if side == SOFTMAX else n_batches
                taken = peer.train(ptb.train_words, n_batches=timed) * n_batches / timed
            seconds[side].append(taken)
            progress(f"turn {turn}/{turns}: {side}: {taken:.2f} s an epoch")
    return {
        "words": len(ptb.windows),
        "classes": ptb.n_classes,
        "batches": n_batches,
        "batches of softmax that were timed": n_timed,
        "fused Adam": fused,
        "seconds": {side: seconds_of_turns(found) for side, found in seconds.items()},
        "times as long": {
            side: {peer: times_as_long(seconds[peer], seconds[side]) for peer in (SOFTMAX, ADAPTIVE)} for side in trees
        },
    }


def make_trees(ptb: Corpus, progress: Progress) -> dict[str, SoftmaxTree | str]:
    """Name three trees for the estimator to build, and build one of its context vectors in another shape."""
    counts = np.bincount(ptb.windows.y, minlength=ptb.n_classes)
    vectors = context_vectors(ptb.windows, ptb.n_classes)
    trees: dict[str, SoftmaxTree | str] = {name: name for name in ("huffman", "binary_cluster", "cluster")}
    trees["cluster, arity 22"] = cluster_tree(counts, vectors, arity=22, random_state=0)
    progress(f"{len(ptb.windows):,} words of {ptb.n_classes:,}; trees are built")
    return trees


def second_epoch(ptb: Corpus, tree: SoftmaxTree | str) -> float:
    model = HsigmoidLanguageModel(**OURS, tree=tree, vocabulary=ptb.vocabulary, max_epochs=2, random_state=0)
    return float(model.fit(ptb.train).history_[1]["dur"])


def make_peer(output: str, ptb: Corpus, **settings: Any) -> LanguagePeer:
    return LanguagePeer(output, ptb.n_classes, **SIZES, **{"learning_rate": LEARNING_RATES[1]} | settings)


def choose_adam(ptb: Corpus, outputs: tuple[str, ...], progress: Progress) -> dict[str, bool]:
    """Tell for each output layer whether torch's fused Adam is the faster one."""
    fused = {}
    for output in outputs:
        pair = [make_peer(output, ptb, fused=choice) for choice in (False, True)]
        fused[output] = fused_is_faster(*pair, ptb.train_words)
        progress(f"{output}: {'fused' if fused[output] else 'ordinary'} Adam is faster")
    return fused


def show_epoch(found: dict[str, Any]) -> None:
    print(f"\nPTB, {found['words']:,} words of {found['classes']:,}: an epoch, seconds")
    print(f"{'':22}{'seconds':>9}{'softmax takes':>16}{'adaptive takes':>16}")
    for side, seconds in found["seconds"].items():
        times = found["times as long"].get(side)
        ratios = "" if times is None else f"{times[SOFTMAX]:10.1f} times{times[ADAPTIVE]:10.1f} times"
        print(f"{side:22}{seconds['median']:9.2f}{ratios}")
    print(
        f"Of the softmax's {found['batches']:,} batches {found['batches of softmax that were timed']:,} were timed. "
        f"Goals: {OF_SOFTMAX:g} times and {OF_ADAPTIVE:g} times."
    )


def target(ptb: Corpus, turns: int, progress: Progress) -> dict[str, Any]:
    """Train the adaptive peer for two epochs, then ours until it predicts the validation words as well; in turns.

    The clock of ours runs from strings to the trained model, with the tree; the peer's only while it trains. Validation
    counts for neither. An epoch more is a training of its own from the beginning, since the linear schedule depends on
    how many there will be.
    """
    fused = choose_adam(ptb, (ADAPTIVE,), progress)[ADAPTIVE]
    tried = []
    for schedule in SCHEDULES:
        for rate in LEARNING_RATES:
            tried.append({"learning_rate": rate, "schedule": schedule} | train_peer(ptb, rate, schedule, fused, seed=0))
            progress(f"adaptive, {rate:g}, {schedule}: perplexity {tried[-1]['perplexity']:.2f}")
    best = min(tried, key=lambda one: one["perplexity"])
    theirs, ours = [], []
    for turn in range(1, turns + 1):
        theirs.append(train_peer(ptb, best["learning_rate"], best["schedule"], fused, seed=turn))
        progress(f"turn {turn}/{turns}: adaptive: {theirs[-1]['perplexity']:.2f} in {theirs[-1]['seconds']:.1f} s")
        ours.append(reach(ptb, theirs[-1]["perplexity"], seed=turn))
        last = ours[-1][-1]
        progress(
            f"turn {turn}/{turns}: cluster tree: {last['perplexity']:.2f} after {len(ours[-1])} epochs in "
            f"{last['seconds']:.1f} s"
        )
    return {
        "tried": tried,
        "fused Adam": fused,
        "best": {key: best[key] for key in ("learning_rate", "schedule")},
        "adaptive": theirs,
        "ours": ours,
    }


def train_peer(ptb: Corpus, rate: float, schedule: str, fused: bool, seed: int) -> dict[str, float]:
    peer = make_peer(ADAPTIVE, ptb, learning_rate=rate, linear=schedule == "linear", fused=fused, seed=seed)
    seconds = peer.train(ptb.train_words, epochs=TARGET_EPOCHS)
    return {"perplexity": peer.perplexity(ptb.valid_words), "seconds": seconds}


def reach(ptb: Corpus, perplexity: float, seed: int) -> list[dict[str, float]]:
    """Train for one epoch, two, and so on, until one of the trainings ends at the perplexity or below it."""
    runs: list[dict[str, float]] = []
    while len(runs) < MOST_EPOCHS and not (runs and runs[-1]["perplexity"] <= perplexity):
        model = HsigmoidLanguageModel(**OURS, tree="cluster", max_epochs=len(runs) + 1, random_state=seed)
        start = time.perf_counter()
        model.fit(ptb.train)
        seconds = time.perf_counter() - start
        runs.append({"perplexity": model.perplexity(ptb.valid), "seconds": seconds})
    return runs


def show_target(found: dict[str, Any]) -> None:
    theirs, best = found["adaptive"], found["best"]
    print(f"\nSeconds to the validation perplexity that the adaptive softmax has after {TARGET_EPOCHS} epochs, by turn")
    seconds = "".join(f"{run['seconds']:8.1f} s to {run['perplexity']:6.2f}" for run in theirs)
    print(f"{'adaptive softmax':26}{seconds}  (learning rate {best['learning_rate']:g}, {best['schedule']})")
    ours = [runs[-1] for runs in found["ours"]]
    seconds = "".join(f"{run['seconds']:8.1f} s to {run['perplexity']:6.2f}" for run in ours)
    missed = sum(run["perplexity"] > peer["perplexity"] for run, peer in zip(ours, theirs, strict=True))
    if missed:
        verdict = f"not reached within {MOST_EPOCHS} epochs in {missed} turns"
    else:
        times = times_as_long([run["seconds"] for run in theirs], [run["seconds"] for run in ours])
        verdict = f"adaptive takes {times:.1f} times as long"
    print(f"{'cluster tree':26}{seconds}  ({verdict})")
    print("Goal: less time than the adaptive softmax. Ours from strings, with its tree; the peer's training alone.")
