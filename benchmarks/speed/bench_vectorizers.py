"""Speed of HashingNgramVectorizer against HashingVectorizer, on the same texts in one process.

The two alternate, one thread each and then ours on two, and every matrix of ours is compared with
scikit-learn's entry by entry. Printed and written as JSON: seconds (the median of all rounds),
speedups, nanoseconds of each kernel per n-gram, and the share of a transform's time that holds the
global interpreter lock (GIL), which more threads cannot shorten.

    python -m benchmarks run bench_vectorizers --data DIR

DIR (or the variable HASHNLP_DATA) holds ag_news/train.csv with the column text. Run it while
nothing else runs.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

from benchmarks.common.benchmark import BenchmarkParser, environment, write_result
from benchmarks.common.pages import table
from sklearn_hashnlp.text import HashingNgramVectorizer

RESULT = "vectorizers.json"
PAGE = "benchmarks.md"
CASES: list[tuple[str, dict[str, Any], float, float]] = [
    ("words 1-2", {"ngram_range": (1, 2)}, 25.0, 1.6),
    ("characters 1-4", {"analyzer": "char", "ngram_range": (1, 4)}, 45.0, 1.7),
    ("char_wb 3-5", {"analyzer": "char_wb", "ngram_range": (3, 5)}, 35.0, 1.7),
]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT, "ag_news/")
    parser.add_argument(
        "--rounds", type=int, default=7, help="number of times each method is timed"
    )
    options, data, path = parser.read(arguments)
    texts = data.train("ag_news").texts
    result = environment("sklearn-hashnlp", "scikit-learn", "numpy", "scipy")
    result["data"] = {
        "name": "AG News, training rows",
        "texts": len(texts),
        "characters": sum(map(len, texts)),
    }
    n_megabytes = sum(len(text.encode()) for text in texts) / 1e6
    result["cases"] = {}
    print(
        f"{'':16}{'sklearn s':>10}{'ours s':>9}{'ratio':>7}{'(goal)':>8}{'2 threads s':>13}"
        f"{'gain':>6}"
    )
    for name, parameters, goal, goal_of_two in CASES:
        measured = measure(texts, parameters, options.rounds)
        rates = {
            f"{key[:-2]}, MB/s": n_megabytes / value
            for key, value in measured.items()
            if key.endswith(" s")
        }
        result["cases"][name] = (
            measured | rates | {"goal": goal, "goal of two threads": goal_of_two}
        )
        print(
            f"{name:16}{measured['scikit-learn s']:10.3f}{measured['ours s']:9.3f}"
            f"{measured['ratio']:7.1f}{goal:8.0f}{measured['two threads s']:13.3f}"
            f"{measured['two threads gain']:6.2f}"
        )
    write_result(path, result)
    print("Goals: the ratio in brackets, and a gain of 1.6 on words and 1.7 on characters.")


def measure(texts: list[str], parameters: dict[str, Any], rounds: int) -> dict[str, Any]:
    theirs = HashingVectorizer(**parameters)
    ours = HashingNgramVectorizer(**parameters)
    threaded = HashingNgramVectorizer(n_jobs=2, **parameters)
    expected = theirs.transform(texts)  # warm-up: not timed
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
    return {
        "parameters": {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in parameters.items()
        },
        "entries": n_entries,
        "n-grams": n_ngrams,
        "scikit-learn s": typical["theirs"],
        "ours s": typical["ours"],
        "two threads s": typical["threaded"],
        "ratio": typical["theirs"] / typical["ours"],
        "two threads gain": typical["ours"] / typical["threaded"],
        "all seconds": seconds,
    }


def timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def rates(result: dict[str, Any]) -> str:
    """Return the table of speeds."""
    heads = (
        "n-grams",
        "scikit-learn",
        "one thread",
        "speedup",
        "two threads",
        "speedup",
        "one thread, MB/s",
    )
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


TABLES = {"vectorizers": rates}
