"""Near-duplicate paragraphs by SGNNProjector and MinHash: recall, false positives, time and memory.

Of 20,000 distinct paragraphs of Wikipedia with more than 20 words, 2,000 get a copy in which 5, 10
or 20 % of the words are changed: eight of ten are replaced by a word drawn from all words of the
paragraphs, one is deleted, and one gets such a word after it. All texts are searched for pairs of
near-duplicates.

bits             All Hamming distances, of bits of n-grams that are weighted by TF-IDF.
MinHash          datasketch's MinHash and MinHashLSH of sets of words, or of sequences of words
                 (shingles); pairs that the index returns are kept if their signatures are similar
                 enough.
recall           Share of the copies that are found as a pair with their original.
false positives  Pairs that are found although less than half of their originals' words are the same
                 in the same order (by `difflib`). The other pairs are near-duplicates that
                 Wikipedia itself has ("natural").

The n-grams, the shingles and the thresholds are chosen on 20,000 other paragraphs for the highest
mean recall with at most one false positive per thousand paragraphs; "with 20 false positives" has
the threshold of the test paragraphs themselves, to compare the methods. Processor seconds of one
thread, each search in a new process; "twice" is both sets of paragraphs and their copies together.

    python -m benchmarks run bench_near_duplicates --data DIR
    # A test run
    python -m benchmarks run bench_near_duplicates --data DIR --rows 2000 --seeds 1
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import read_text
from benchmarks.common.memory import in_new_process
from benchmarks.common.near_duplicates import (
    CHOICES,
    PEER,
    RECALL,
    WIDEST,
    Planted,
    judge,
    measure,
    plant,
)
from benchmarks.common.pages import number, table
from benchmarks.common.peer_packages import peer_folder, peer_version

RESULT = "near_duplicates.json"
PAGE = "near_duplicates.md"
CONTENT = "wikipedia/paragraphs.txt"
PARAGRAPHS, SHORTEST = 20_000, 20
BITS, MINHASH = CHOICES
FALSE_POSITIVES = 1 / 1000  # per paragraph
SIZES = {BITS: (560, 1120, 2240), MINHASH: (128, 256)}
CHOSEN_WITH = {BITS: 1120, MINHASH: 128}
BYTES = {BITS: 1 / 8, MINHASH: 4}
VALIDATION_SEED = 1000
# Factor of the threshold: pairs up to it compare the methods at equal numbers of false positives.
FARTHER = 1.15


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT, CONTENT)
    parser.add_choices("--methods", SIZES)
    parser.add_argument(
        "--seeds", type=int, default=5, help="of copies and hash functions (default: %(default)s)"
    )
    parser.add_argument(
        "--datasketch", type=Path, help="folder to install datasketch in (default: not kept)"
    )
    options, data, path = parser.read(arguments)
    lines = [
        line
        for line in dict.fromkeys(read_text(data, "wikipedia", CONTENT[10:]))
        if line.count(" ") >= SHORTEST
    ]
    lines = [lines[i] for i in np.random.default_rng(0).permutation(len(lines))]
    n = min(PARAGRAPHS, len(lines) // 2)
    valid, test = lines[:n], lines[n : 2 * n]
    result = (
        read_result(path)
        | environment("sklearn-hashnlp", "numpy", "scikit-learn")
        | {"paragraphs": n}
    )
    with contextlib.ExitStack() as stack:
        for method in options.methods:
            folder = (
                stack.enter_context(peer_folder(PEER, options.datasketch))
                if method == MINHASH
                else None
            )
            if folder is not None:
                result["versions"][PEER.distribution] = peer_version(PEER, folder)
            result.setdefault("methods", {})[method] = compare(
                method, valid, test, options.seeds, folder
            )
            write_result(path, result)
    print(*(make(result) for make in TABLES.values()), sep="\n\n")


def compare(
    method: str, valid: list[str], test: list[str], seeds: int, folder: Path | None
) -> dict[str, Any]:
    """Choose the n-grams or shingles and thresholds on ``valid``; measure each size on ``test``."""

    def search(planted: Planted, choice: str, size: int, seed: int, widest: float) -> Any:
        return in_new_process(measure, method, planted.texts, choice, size, seed, widest, folder)

    def choose(choice: str, size: int) -> dict[str, float]:
        planted = plant(valid, VALIDATION_SEED)
        pairs, costs = search(planted, choice, size, VALIDATION_SEED, WIDEST[choice])
        return judge(planted, pairs, FALSE_POSITIVES * len(valid)) | costs

    tried = {choice: choose(choice, CHOSEN_WITH[method]) for choice in CHOICES[method]}
    best = max(tried, key=lambda choice: statistics.mean(tried[choice][name] for name in RECALL))
    print(f"{method}: {best}, of {tried}", flush=True)
    sizes: dict[str, Any] = {}
    for size in SIZES[method]:
        threshold = choose(best, size)["distance"]
        runs = {}
        for seed in range(seeds):
            planted = plant(test, seed)
            pairs, costs = search(planted, best, size, seed, FARTHER * threshold)
            equal = judge(planted, pairs, FALSE_POSITIVES * len(test))
            runs[str(seed)] = (
                judge(planted, pairs[pairs[:, 2] <= threshold]) | costs | {"equal": equal}
            )
        _, twice = search(plant(valid + test, 0), best, size, 0, threshold)
        sizes[str(size)] = {
            "bytes": int(size * BYTES[method]),
            "threshold": threshold,
            "runs": runs,
            "twice": twice,
        }
        print(f"{method}, {size}:", sizes[str(size)], flush=True)
    return {"tried": tried, "chosen": best, "sizes": sizes}


def sizes_of(result: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    sizes = [
        (method, size, one)
        for method, of in result["methods"].items()
        for size, one in of["sizes"].items()
    ]
    return [(f"{method}, {int(size):,}", one) for method, size, one in sizes]


def accuracies(result: dict[str, Any]) -> str:
    """Return the table of recall and false positives on the test paragraphs."""
    rows = []
    for name, one in sizes_of(result):
        found = [number(one["runs"], kind, 1) for kind in RECALL]
        others = [number(one["runs"], kind, 0) for kind in ("false positives", "natural")]
        equal = {seed: run["equal"] for seed, run in one["runs"].items()}
        rows.append(
            [name, *found, *others, number(equal, RECALL[-1], 1), number(equal, "natural", 0)]
        )
    allowed = f"with at most {FALSE_POSITIVES * result['paragraphs']:.0f} false positives"
    heads = [
        "",
        *RECALL,
        "false positives",
        "natural",
        f"{RECALL[-1]}, {allowed}",
        f"natural, {allowed}",
    ]
    return table(heads, rows)


def costs(result: dict[str, Any]) -> str:
    """Return the table of time and memory."""
    rows = []
    for name, one in sizes_of(result):
        row = [statistics.median(run[kind] for run in one["runs"].values()) for kind in COSTS]
        row += [one["twice"][COSTS[0]] + one["twice"][COSTS[1]], one["twice"][COSTS[2]]]
        rows.append(
            [name, f"{one['bytes']:,}", *(f"{cost:,.{0 if cost > 50 else 1}f}" for cost in row)]
        )
    heads = ("signatures, s", "search, s", "memory, MiB", "twice the texts, s", "twice, MiB")
    return table(["", "bytes per text", *heads], rows)


def choices(result: dict[str, Any]) -> str:
    """Return the table of what was tried on the validation paragraphs."""
    rows = []
    for method, of in result["methods"].items():
        for choice, one in of["tried"].items():
            cells = [f"{one[kind]:.1f}" for kind in RECALL] + [
                f"{one['natural']:,}",
                f"{one['distance']:.3f}",
            ]
            rows.append(
                [
                    f"{method}, {CHOSEN_WITH[method]:,}",
                    choice,
                    *cells,
                    f"{one[COSTS[0]] + one[COSTS[1]]:.1f}",
                ]
            )
    return table(["", "n-grams or shingles", *RECALL, "natural", "threshold", "seconds"], rows)


COSTS = ("signatures s", "search s", "MiB")
TABLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "near duplicates": accuracies,
    "cost of near duplicates": costs,
    "choices for near duplicates": choices,
}
