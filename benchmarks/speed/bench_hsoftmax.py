"""The hierarchical softmax against torch's softmaxes: training, large vocabularies and search.

Five parts, each of which can be run alone (--part) and is added to the same JSON; minutes are on
two cores.

epoch    PTB, 5-gram network, embedding 64, hidden 256, batches of 512. Seconds of an epoch of
         HsigmoidLanguageModel with four trees, and of the same network in a plain torch loop with
         adaptive and with full softmax. For the full softmax some batches are timed and scaled to
         an epoch. (10 minutes)
target   The same network. The adaptive softmax trains for two epochs, with the learning rate and
         schedule of the best validation perplexity; then seconds until ours, with the cluster tree,
         reaches that perplexity. (15 minutes)
large    100,000 classes, random targets by Zipf's law, 256 features, batches of 512: seconds per
         training step of the layer with a Huffman tree and RowwiseAdagrad, and of a linear layer
         with cross-entropy and SGD. (1 minute)
million  A network of 1,000,000 words with a Huffman tree, in a new process: peak memory of some
         hundred steps. (1 minute)
search   Wikipedia's 100,000 most frequent words, one epoch of training: the ten most probable next
         words of validation contexts, 256 contexts at a time, against a matrix product with all
         words and torch.topk. Before timing, every result is compared with the topk of all
         log-probabilities. (10 minutes)

    python -m benchmarks run bench_hsoftmax --data DIR
    python -m benchmarks run bench_hsoftmax --data DIR --part epoch target --rounds 5

The methods alternate in one process; each ratio is of one round, and the median ratio is reported.
Torch has as many threads as there are cores, for the baselines and wherever ours uses the threads
of torch. 40 minutes in all; run it while nothing else runs.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from typing import Any

import torch

from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import DataFolder
from benchmarks.common.memory import in_new_process
from benchmarks.language import large_vocabulary
from benchmarks.speed import softmax_speed, topk_speed

PARTS = ("epoch", "target", "large", "million", "search")
ON_TEXT = {"epoch", "target", "search"}
RESULT = "hsoftmax.json"
CONTENT = (
    "ptb/ with train.txt and valid.txt, and wikipedia/ with paragraphs.txt; "
    "large and million need none"
)
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "skorch", "torch")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT, CONTENT)
    parser.add_choices("--part", PARTS)
    parser.add_argument(
        "--rounds", type=int, default=3, help="of each method (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    data = parser.data_of(options) if ON_TEXT & set(options.part) else None
    path = parser.output_of(options)
    result = read_result(path)
    # In dense Adam the moments of rare words decay to denormal numbers, which are slow: flushing
    # them to zero favors the baselines. Threads inherit the setting from the thread that starts
    # them, so it is set before any computation.
    torch.set_flush_denormal(True)
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    env = environment(*PACKAGES) | {
        "threads of torch": torch.get_num_threads(),
        "denormal numbers": "zero",
    }
    for part in PARTS:
        if part not in options.part:
            continue
        start = time.perf_counter()
        measured = run_part(part, data, options)
        result[part] = env | measured
        write_result(path, result)
        log(f"{part}: {measured}")
        log(f"{part}: {(time.perf_counter() - start) / 60:.1f} minutes")


def run_part(part: str, data: DataFolder | None, options: argparse.Namespace) -> dict[str, Any]:
    """Run a part."""
    if part == "large":
        n_classes = at_most(large_vocabulary.LARGE, options.rows)
        return large_vocabulary.large(n_classes, options.rounds, log)
    if part == "million":
        n_classes = at_most(large_vocabulary.MILLION, options.rows)
        return in_new_process(large_vocabulary.million, n_classes)
    assert data is not None
    if part == "search":
        return topk_speed.search(data, options.rounds, log)
    ptb = softmax_speed.read_ptb(data)
    if part == "epoch":
        return softmax_speed.epoch(ptb, options.rounds, log)
    return softmax_speed.target(ptb, options.rounds, log)


def at_most(wanted: int, rows: int | None) -> int:
    return wanted if rows is None else min(wanted, rows)


def log(line: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {line}", flush=True)
