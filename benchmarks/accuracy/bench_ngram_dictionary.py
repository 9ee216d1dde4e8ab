"""Time and memory of a vocabulary of the most frequent 1- to 9-grams, against CountVectorizer.

FrequentNgramVectorizer counts all training rows, CountVectorizer a random sample of them that fits
in memory; on the same sample the two vocabularies are compared. Each measurement runs in a new
process, which holds the texts and has loaded everything before timing. Growth is the peak memory
minus the memory before; with the matrix, it is that of fit and transform together. Other programs
on the machine affect the seconds, not the memory.

    python -m benchmarks run bench_ngram_dictionary --data DIR
    # A test run
    python -m benchmarks run bench_ngram_dictionary --data DIR --rows 2000 --peer-rows 500
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.common.benchmark import BenchmarkParser, environment, write_result
from benchmarks.common.data import DataFolder
from benchmarks.common.memory import in_new_process, peak_mb, reset_peak, resident_mb
from sklearn_hashnlp.text import FrequentNgramVectorizer

RESULT = "ngram_dictionary.json"
SETS = ["ag_news", "imdb"]
MAX_FEATURES = 10**6
NGRAM_RANGE = (1, 9)
TOKEN_PATTERN = r"\S\S+"
PEER_ROWS = 2_500
GOAL_MIB = 8_000_000_000 / 2**20

# Variants of ours: threads, and the memory limit of fit.
OURS: dict[str, dict[str, Any]] = {
    "ours": {},
    "ours, 2 threads": {"n_jobs": 2},
    "ours, 256 MiB": {"max_memory": 2**28},
}
PEER = "CountVectorizer"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    parser.add_argument("--sets", nargs="+", default=SETS, help="default: %(default)s")
    parser.add_argument(
        "--peer-rows", type=int, default=PEER_ROWS, help="for CountVectorizer; default: %(default)s"
    )
    options, data, path = parser.read(arguments)
    measured: dict[str, dict[str, Any]] = {}
    print(
        f"{'':9}{'':28}{'texts':>8}{'n-grams':>12}{'fit s':>8}{'transform s':>13}{'fit MiB':>9}"
        f"{'both MiB':>10}"
    )
    for name in options.sets:
        few = replace(data, rows=min(options.peer_rows, data.rows or options.peer_rows))
        tasks = [(method, data) for method in OURS] + [("ours", few), (PEER, few)]
        measured[name] = {}
        for method, rows in tasks:
            one = in_new_process(measure, rows, name, method)
            measured[name][method if rows is data else f"{method}, some rows"] = one
            print(
                (
                    f"{name:9}{method:28}{one['texts']:8,}{one['n-grams']:12,}{one['fit s']:8.2f}"
                    f"{one['transform s']:13.2f}{one['fit growth MiB']:9,.0f}"
                    f"{one['growth MiB']:10,.0f}"
                ),
                flush=True,
            )
        same = (
            len(
                {
                    measured[name][f"{method}, some rows"]["digest of the counts"]
                    for method in ("ours", PEER)
                }
            )
            == 1
        )
        print(f"{name:9}the same counts as {PEER} on the same rows: {'yes' if same else 'NO'}")
    print(f"Goal: a growth of at most {GOAL_MIB:,.0f} MiB (8 GB) on all rows of imdb.")

    settings = {
        "max_features": MAX_FEATURES,
        "ngram_range": list(NGRAM_RANGE),
        "token_pattern": TOKEN_PATTERN,
    }
    packages = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy")
    write_result(path, environment(*packages) | {"settings": settings, "sets": measured})


def measure(data: DataFolder, name: str, method: str) -> dict[str, Any]:
    texts = data.train(name).texts
    vectorizer = make(method)
    vectorizer.fit_transform(texts[:20])  # loads everything used
    vectorizer = make(method)
    reset_peak()
    idle, start = resident_mb(), time.perf_counter()
    if method == PEER:
        X = vectorizer.fit_transform(texts)  # fit alone takes as long
        seconds = time.perf_counter() - start
        transform_seconds = 0.0
        growth = peak_mb() - idle
        counts = np.asarray(X.sum(axis=0, dtype=np.int64)).ravel()
    else:
        vectorizer.fit(texts)
        seconds, growth = time.perf_counter() - start, peak_mb() - idle
        X = vectorizer.transform(texts)
        transform_seconds, counts = time.perf_counter() - start - seconds, vectorizer.counts_
    return {
        "texts": len(texts),
        "n-grams": len(counts),
        "values": int(X.nnz),
        "fit s": seconds,
        "transform s": transform_seconds,
        "idle MiB": idle,
        "fit growth MiB": growth,
        "growth MiB": peak_mb() - idle,
        "matrix MiB": sum(array.nbytes for array in (X.data, X.indices, X.indptr)) / 2**20,
        # Equal for both, whichever n-grams of equal count are selected.
        "digest of the counts": sha256(np.sort(counts).tobytes()).hexdigest(),
    }


def make(method: str) -> Any:
    options = {
        "max_features": MAX_FEATURES,
        "ngram_range": NGRAM_RANGE,
        "token_pattern": TOKEN_PATTERN,
    }
    if method == PEER:
        return CountVectorizer(**options, dtype=np.float32)
    return FrequentNgramVectorizer(**options, **OURS[method])
