"""Speed of HashingNgramVectorizer against scikit-learn's HashingVectorizer, on the same texts in one process.

The two alternate, one thread each and then ours on two, and every matrix of ours is compared with scikit-learn's entry
by entry. Printed and written as JSON: seconds (the median of all rounds), speedups, nanoseconds of each kernel per
n-gram, and the share of a transform's time that holds the global interpreter lock (GIL), which more threads cannot
shorten.

    python -m benchmarks run bench_vectorizers --data DIR

DIR (or the variable HASHNLP_DATA) holds ag_news/train.csv with the column text. Run it while nothing else runs.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

from benchmarks.common.benchmark import BenchmarkParser, environment, write_result
from benchmarks.common.pages import table
from sklearn_hashnlp.kernels.ngrams import _count_ngrams, _hash_ngrams
from sklearn_hashnlp.kernels.strings import _join_lines, _units
from sklearn_hashnlp.text import HashingNgramVectorizer

RESULT = "vectorizers.json"
PAGE = "benchmarks.md"
CASES: list[tuple[str, dict[str, Any], float, float]] = [
    ("words 1-2", {"ngram_range": (1, 2)}, 25.0, 1.6),
    ("characters 1-4", {"analyzer": "char", "ngram_range": (1, 4)}, 45.0, 1.7),
    ("char_wb 3-5", {"analyzer": "char_wb", "ngram_range": (3, 5)}, 35.0, 1.7),
]

# The kernels that run without the global interpreter lock.
KERNELS = [
    (_join_lines, "_measure", "join"),
    (_join_lines, "_join", "join"),
    (_units, "split_words", "split"),
    (_units, "split_characters", "split"),
    (_units, "split_word_characters", "split"),
    (_hash_ngrams, "_hash_ngrams", "hash"),
    (_count_ngrams, "_count", "count"),
]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT, "ag_news/")
    parser.add_argument("--rounds", type=int, default=7, help="number of times each method is timed")
    options, data, path = parser.read(arguments)
    texts = data.train("ag_news").texts
    result = environment("sklearn-hashnlp", "scikit-learn", "numba", "numpy", "scipy")
    result["data"] = {"name": "AG News, training rows", "texts": len(texts), "characters": sum(map(len, texts))}
    n_megabytes = sum(len(text.encode()) for text in texts) / 1e6
    result["cases"] = {}
    print(
        f"{'':16}{'sklearn s':>10}{'ours s':>9}{'ratio':>7}{'(goal)':>8}{'2 threads s':>13}{'gain':>6}{'lock held':>11}"
    )
    for name, parameters, goal, goal_of_two in CASES:
        measured = measure(texts, parameters, options.rounds)
        rates = {f"{key[:-2]}, MB/s": n_megabytes / value for key, value in measured.items() if key.endswith(" s")}
        result["cases"][name] = measured | rates | {"goal": goal, "goal of two threads": goal_of_two}
        print(
            f"{name:16}{measured['scikit-learn s']:10.3f}{measured['ours s']:9.3f}{measured['ratio']:7.1f}{goal:8.0f}"
            f"{measured['two threads s']:13.3f}{measured['two threads gain']:6.2f}{measured['lock held']:11.1%}"
        )
    write_result(path, result)
    print("Goals: the ratio in brackets, and a gain of 1.6 on words and 1.7 on characters.")


def measure(texts: list[str], parameters: dict[str, Any], rounds: int) -> dict[str, Any]:
    theirs = HashingVectorizer(**parameters)
    ours = HashingNgramVectorizer(**parameters)
    threaded = HashingNgramVectorizer(n_jobs=2, **parameters)
    expected = theirs.transform(texts)  # warm-up: not timed, and the kernels are compiled
    for vectorizer in (ours, threaded):
        X = vectorizer.transform(texts)
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(X, part), getattr(expected, part))
    n_entries = int(expected.nnz)
    plain = HashingVectorizer(**parameters | {"norm": None, "alternate_sign": False})
    n_ngrams = int(plain.transform(texts).sum(dtype=np.float64))
    del expected, X
    seconds: dict[str, list[float]] = {"theirs": [], "ours": [], "threaded": []}
    for _ in range(rounds):
        seconds["theirs"].append(timed(lambda: theirs.transform(texts)))
        seconds["ours"].append(timed(lambda: ours.transform(texts)))
        seconds["threaded"].append(timed(lambda: threaded.transform(texts)))
    typical = {method: statistics.median(measured) for method, measured in seconds.items()}
    held, kernels = lock_held(ours, texts)
    return {
        "parameters": {key: list(value) if isinstance(value, tuple) else value for key, value in parameters.items()},
        "entries": n_entries,
        "n-grams": n_ngrams,
        "scikit-learn s": typical["theirs"],
        "ours s": typical["ours"],
        "two threads s": typical["threaded"],
        "ratio": typical["theirs"] / typical["ours"],
        "two threads gain": typical["ours"] / typical["threaded"],
        "lock held": held,
        "ns per n-gram": {stage: 1e9 * spent / n_ngrams for stage, spent in kernels.items()},
        "all seconds": seconds,
    }


def timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def lock_held(vectorizer: HashingNgramVectorizer, texts: list[str]) -> tuple[float, dict[str, float]]:
    """Return the share of time outside the kernels, and the seconds of the kernels.

    The share is an upper bound of the time that holds the interpreter lock.
    """
    inside: dict[str, float] = defaultdict(float)

    def watched(kernel: Callable[..., Any], stage: str, *arguments: Any) -> Any:
        start = time.perf_counter()
        try:
            return kernel(*arguments)
        finally:
            inside[stage] += time.perf_counter() - start

    runs = []
    for _ in range(5):
        inside.clear()
        patches = [
            patch.object(module, name, partial(watched, getattr(module, name), stage))
            for module, name, stage in KERNELS
        ]
        for one in patches:
            one.start()
        try:
            total = timed(lambda: vectorizer.transform(texts))
        finally:
            for one in patches:
                one.stop()
        runs.append((1 - sum(inside.values()) / total, dict(inside)))
    share, kernels = sorted(runs, key=lambda run: run[0])[len(runs) // 2]
    return share, kernels


def rates(result: dict[str, Any]) -> str:
    """Return the table of speeds."""
    heads = ("n-grams", "scikit-learn", "one thread", "speedup", "two threads", "speedup", "one thread, MB/s")
    return table(
        heads,
        [
            [
                name,
                f"{case['scikit-learn s']:.2f} s",
                f"{case['ours s']:.3f} s",
                f"{case['ratio']:.1f}",
                f"{case['two threads s']:.3f} s",
                f"{case['two threads gain']:.2f}",
                f"{case['ours, MB/s']:.0f}",
            ]
            for name, case in result["cases"].items()
        ],
    )


def stages(result: dict[str, Any]) -> str:
    """Return the table of the nanoseconds of each kernel per n-gram."""
    names = ("join", "split", "hash", "count")
    cases = result["cases"].items()
    return table(
        ("n-grams", "number", *(f"{name}, ns" for name in names)),
        [
            [name, f"{case['n-grams']:,}", *(f"{case['ns per n-gram'][key]:.2f}" for key in names)]
            for name, case in cases
        ],
    )


TABLES = {"vectorizers": rates, "vectorizer stages": stages}
