"""Speed of HashingNgramVectorizer against HashingVectorizer, on the same texts in one process.

The two alternate, one thread each and then ours on two, and every matrix of ours is compared with
scikit-learn's entry by entry. Printed and written as JSON: seconds (the median of all rounds),
speedups, nanoseconds of each kernel per n-gram, and the share of a transform's time that holds the
global interpreter lock (GIL), which more threads cannot shorten.

Then a vocabulary of words and pairs of words, and their counts: CountVectorizer, LeNLP's, which is
in Rust, and FrequentNgramVectorizer with a column for each n-gram, one thread each. LeNLP splits
texts at spaces after deleting punctuation and accents; so the texts of all three are words of at
least two ASCII letters or digits in lowercase, joined by spaces, and its own normalization, which
would leave them as they are, is off. The matrices are equal up to the order of the columns, which
sums over randomly weighted rows check. FrequentNgramVectorizer identifies n-grams by a 64-bit hash
and keeps no strings.

    python -m benchmarks run bench_vectorizers --data DIR

DIR (or the variable HASHNLP_DATA) holds ag_news/train.csv with the column text. LeNLP is installed
into a temporary folder. Run it while nothing else runs.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

from benchmarks.common.benchmark import BenchmarkParser, environment, write_result
from benchmarks.common.latencies import seconds_of
from benchmarks.common.pages import table
from benchmarks.common.peer_packages import Peer, import_peer, peer_folder, peer_version
from benchmarks.common.timing import order_of_round, summarize_seconds
from sklearn_hashnlp.text import FrequentNgramVectorizer, HashingNgramVectorizer

RESULT = "vectorizers.json"
PAGE = "benchmarks.md"
LENLP = Peer("lenlp", "lenlp")
WORD = re.compile(r"[a-z0-9]{2,}")
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
    with peer_folder(LENLP, None) as folder:
        result["versions"]["lenlp"] = peer_version(LENLP, folder)
        import_peer(LENLP, folder)
        result["vocabulary"] = measure_vocabulary(
            texts, import_module("lenlp.sparse"), options.rounds
        )
    print(vocabulary(result))
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
        seconds["theirs"].append(seconds_of(lambda: theirs.transform(texts)))
        seconds["ours"].append(seconds_of(lambda: ours.transform(texts)))
        seconds["threaded"].append(seconds_of(lambda: threaded.transform(texts)))
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


def measure_vocabulary(texts: list[str], lenlp: Any, rounds: int) -> dict[str, Any]:
    """Time vectorizers with a vocabulary in turn, and check that their matrices are the same."""
    texts = [" ".join(WORD.findall(text.lower())) for text in texts]
    pairs = {"ngram_range": (1, 2)}
    vectorizers = {
        "`CountVectorizer` of scikit-learn": CountVectorizer(**pairs),
        "`CountVectorizer` of LeNLP": lenlp.CountVectorizer(**pairs, normalize=False),
        "`FrequentNgramVectorizer`": FrequentNgramVectorizer(**pairs, max_features=10**7),
    }
    weights = np.random.default_rng(0).integers(1, 2**20, len(texts)).astype(np.float64)
    sums = [
        np.sort(vectorizer.fit_transform(texts).T.astype(np.float64) @ weights)
        for vectorizer in vectorizers.values()
    ]
    for other in sums[1:]:
        np.testing.assert_array_equal(other, sums[0])
    seconds: dict[str, dict[str, list[float]]] = {
        name: {"fit_transform": [], "transform": []} for name in vectorizers
    }
    for round_ in range(rounds):
        for name in order_of_round(list(vectorizers), round_):
            for method, measured in seconds[name].items():
                call = getattr(vectorizers[name], method)
                measured.append(seconds_of(lambda call=call: call(texts)))
    return {
        "columns": len(sums[0]),
        "seconds": {
            name: {method: summarize_seconds(times) for method, times in methods.items()}
            for name, methods in seconds.items()
        },
    }


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


def vocabulary(result: dict[str, Any]) -> str:
    """Return the table of vectorizers with a vocabulary; empty if they were not measured."""
    rows = [
        [name, *(f"{methods[method]['median']:.3f} s" for method in ("fit_transform", "transform"))]
        for name, methods in result.get("vocabulary", {}).get("seconds", {}).items()
    ]
    return table(("a vocabulary of words 1-2", "`fit_transform`", "`transform`"), rows)


TABLES = {"vectorizers": rates, "vocabulary": vocabulary}
