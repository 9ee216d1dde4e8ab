"""Speed and memory of SGNNProjector against the reference, on words and documents of AG News.

The reference implementation counts character n-grams with a CountVectorizer, its vocabulary fixed
or fitted, and projects them with 80 SparseRandomProjections of 14 columns in a FeatureUnion or, in
its second version, with one of 1120. Ours is CharNgramFeaturizer and SGNNProjector. All methods
alternate on one thread, and each round is a whole ``fit`` and ``transform``, in CPU seconds. Ours
projects equal rows once; it is also measured without that, and with project_words, which splits
texts into words and returns the projections of the distinct words, with the word ids of each text.

    python -m benchmarks run bench_sgnn --data DIR
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from benchmarks.common.benchmark import BenchmarkParser, environment, write_result
from benchmarks.common.timing import median_ratio, order_of_round, summarize_seconds
from benchmarks.speed.projection_memory import projection_memory
from benchmarks.speed.projection_pipelines import (
    EIGHTY,
    ONE,
    PIPELINES,
    WORDS_ONCE,
    fixed_vocabulary,
    run_pipeline,
)

RESULT = "sgnn_projection.json"
WORDS = (800, 8_000, 80_000)
DOCUMENTS = 2_000
GOALS = dict.fromkeys(EIGHTY, 100) | dict.fromkeys(ONE, 20)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    parser.add_argument(
        "--rounds",
        type=int,
        default=5,
        help="number of times each method is timed (default: %(default)s)",
    )
    parser.add_argument(
        "--repeats",
        type=int,
        default=3,
        help="processes per memory measurement (default: %(default)s)",
    )
    options, data, path = parser.read(arguments)
    texts = data.train("ag_news").texts
    words = " ".join(texts[: max(WORDS) // 10]).split()
    vocabulary = fixed_vocabulary()
    result = environment("sklearn-hashnlp", "scikit-learn", "numpy", "scipy")
    result |= {"vocabulary": len(vocabulary), "rounds": options.rounds, "goals": GOALS, "cases": {}}
    cases = {f"{size:,} words": words[:size] for size in WORDS if size <= len(words)}
    cases[f"{min(DOCUMENTS, len(texts)):,} documents"] = texts[:DOCUMENTS]
    for name, rows in cases.items():
        methods = (WORDS_ONCE, *PIPELINES) if "words" in name else PIPELINES
        measured = measure(methods, rows, vocabulary, options.rounds)
        measured["memory"] = projection_memory(methods, rows, vocabulary, options.repeats)
        result["cases"][name] = measured
        print(f"{name}: {measured}", flush=True)
        write_result(path, result)


def measure(
    methods: Sequence[str], rows: Sequence[str], vocabulary: Sequence[str], rounds: int
) -> dict[str, Any]:
    ours = [method for method in methods if method not in GOALS]
    for method in ours:
        run_pipeline(method, rows[:5], vocabulary)  # loads everything used
    seconds: dict[str, list[float]] = {method: [] for method in methods}
    for round_ in range(rounds):
        for method in order_of_round(methods, round_):
            start = time.process_time()
            run_pipeline(method, rows, vocabulary)
            seconds[method].append(time.process_time() - start)
    return {
        "rows": len(rows),
        "different rows": len(set(rows)),
        "seconds": {method: summarize_seconds(measured) for method, measured in seconds.items()},
        "times as long": {
            one: {method: median_ratio(seconds[method], seconds[one]) for method in GOALS}
            for one in ours
        },
    }
