"""The hierarchical softmax beside torch's full and adaptive softmax: training, large vocabularies and search.

Five parts, each of which can be run alone (--part) and is added to the same JSON; the minutes are those of two cores.

epoch    PTB, 5-gram network, embedding 64, hidden 256, batches of 512. Seconds of an epoch of HsigmoidLanguageModel
         with four trees, and of the same network in a plain torch loop with adaptive and with full softmax. Of the full
         softmax some batches are timed and scaled to an epoch. (10 minutes)
target   The same network. The adaptive softmax trains for two epochs, at the learning rate and schedule that validation
         finds best; then seconds until ours, with the cluster tree, has a validation perplexity as low as that.
         (15 minutes)
large    100,000 classes, random targets by Zipf's law, 256 features, batches of 512: seconds of a training step of the
         layer with Huffman's tree and RowwiseAdagrad, and of a linear layer with cross entropy and SGD. (1 minute)
million  A network of 1,000,000 words with Huffman's tree, in a process of its own: peak memory of some hundred steps.
         (1 minute)
search   Wikipedia's 100,000 most frequent words, one epoch of training: the ten most probable words of held-out
         contexts, 256 contexts at a time, beside a matrix product of all words' size and torch.topk. Before the clock
         starts every answer is compared with that of all log-probabilities. (10 minutes)

    python benchmarks/bench_hsoftmax.py --data DIR
    python benchmarks/bench_hsoftmax.py --data DIR --part epoch target --turns 5
    python benchmarks/bench_hsoftmax.py --data DIR --rows 2000 --turns 1             (a trial; writes no JSON)

The sides take turns in one process; ratios are of the same turn, and what counts is their median. Torch has as many
threads as there are cores, for the peers and wherever ours takes its number from torch. 40 minutes in all; run it with
nothing else running.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from common import large_vocabulary, softmax_speed, topk_speed
from common.data import DataFolder, data_folder
from common.results_file import add_output_option, output_path, read_result, surroundings, write_result

PARTS = ("epoch", "target", "large", "million", "search")
ON_TEXT = {"epoch", "target", "search"}
RESULT = "hsoftmax.json"
PACKAGES = ("sklearn-hashnlp", "numpy", "numba", "scikit-learn", "scipy", "skorch", "torch")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.worker is not None:
        print(json.dumps(large_vocabulary.million(options.worker)))
        return
    data = data_folder(parser, options) if ON_TEXT & set(options.part) else None
    path = output_path(options, RESULT)
    result = read_result(path)
    # Dense Adam lets the moments of rare words fade into numbers that processors are slow with: they are to be zeros,
    # in favour of the peers. Threads take this from the one that makes them, so it comes before anything is computed.
    torch.set_flush_denormal(True)
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    place = surroundings(*PACKAGES) | {"threads of torch": torch.get_num_threads(), "denormal numbers": "zero"}
    for part in PARTS:
        if part not in options.part:
            continue
        start = time.perf_counter()
        found, show = run_part(part, data, options)
        result[part] = place | found
        write_result(path, result)
        show(found)
        say(f"{part}: {(time.perf_counter() - start) / 60:.1f} minutes")
    if path is not None:
        print(f"Written: {path}")


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("HASHNLP_DATA"),
        help="folder that holds ptb/ with train.txt and valid.txt, and wikipedia/ with paragraphs.txt; large and "
        "million need none (default: the variable HASHNLP_DATA)",
    )
    parser.add_argument(
        "--rows",
        type=int,
        help="a random choice of so many lines of each file, and so many classes, only: to try the script out",
    )
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS), help="default: all")
    parser.add_argument("--turns", type=int, default=3, help="of each side (default: %(default)s)")
    parser.add_argument("--worker", type=int, metavar="CLASSES", help=argparse.SUPPRESS)
    add_output_option(parser, RESULT)
    return parser


def run_part(part: str, data: DataFolder | None, options: argparse.Namespace) -> tuple[dict[str, Any], Any]:
    """Give what a part finds, and what prints it."""
    if part == "large":
        n_classes = at_most(large_vocabulary.LARGE, options.rows)
        return large_vocabulary.large(n_classes, options.turns, say), large_vocabulary.show_large
    if part == "million":
        return in_a_process(at_most(large_vocabulary.MILLION, options.rows)), large_vocabulary.show_million
    assert data is not None
    if part == "search":
        return topk_speed.search(data, options.turns, say), topk_speed.show_search
    ptb = softmax_speed.read_ptb(data)
    if part == "epoch":
        return softmax_speed.epoch(ptb, options.turns, say), softmax_speed.show_epoch
    return softmax_speed.target(ptb, options.turns, say), softmax_speed.show_target


def at_most(wanted: int, rows: int | None) -> int:
    return wanted if rows is None else min(wanted, rows)


def in_a_process(n_classes: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--worker", str(n_classes)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def say(line: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {line}", flush=True)


if __name__ == "__main__":
    main()
