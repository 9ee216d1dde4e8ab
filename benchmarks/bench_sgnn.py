"""Speed and memory of SGNNProjector beside the source's pipeline, on words and documents of AG News.

The source counts character n-grams with a CountVectorizer, its vocabulary fixed or fitted, and projects them with 80
SparseRandomProjections of 14 columns in a FeatureUnion or, in its second version, with one of 1120. Ours is
CharNgramFeaturizer and SGNNProjector. All sides take turns on one thread, and each turn is the whole of ``fit`` and
``transform``, in processor seconds. Ours projects equal rows once; a line without that stands beside it, and one of
project_words, which cuts texts into words and gives the rows of the different words, with the numbers of those in each
text.

    python benchmarks/bench_sgnn.py --data DIR
    python benchmarks/bench_sgnn.py --data DIR --rows 1000 --turns 1      (a trial; writes no JSON)
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

from common.data import add_data_options, data_folder
from common.projection_memory import projection_memory
from common.projection_pipelines import EIGHTY, ONE, SIDES, WORDS_ONCE, fixed_vocabulary, run_side
from common.results_file import add_output_option, output_path, surroundings, write_result
from common.timing import seconds_of_turns, sides_of_turn, times_as_long

RESULT = "sgnn_projection.json"
WORDS = (800, 8_000, 80_000)
DOCUMENTS = 2_000
GOALS = dict.fromkeys(EIGHTY, 100) | dict.fromkeys(ONE, 10)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_options(parser)
    parser.add_argument("--turns", type=int, default=5, help="how often each side is timed (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="processes for each memory (default: %(default)s)")
    add_output_option(parser, RESULT)
    options = parser.parse_args(arguments)
    data, path = data_folder(parser, options), output_path(options, RESULT)
    texts = data.train("ag_news").texts
    words = " ".join(texts[: max(WORDS) // 10]).split()
    vocabulary = fixed_vocabulary()
    result = surroundings("sklearn-hashnlp", "scikit-learn", "numba", "numpy", "scipy")
    result |= {"vocabulary": len(vocabulary), "turns": options.turns, "goals": GOALS, "cases": {}}
    cases = {f"{size:,} words": words[:size] for size in WORDS if size <= len(words)}
    cases[f"{min(DOCUMENTS, len(texts)):,} documents"] = texts[:DOCUMENTS]
    for name, rows in cases.items():
        sides = (WORDS_ONCE, *SIDES) if "words" in name else SIDES
        found = measure(sides, rows, vocabulary, options.turns)
        found["memory"] = projection_memory(sides, rows, vocabulary, options.repeats)
        result["cases"][name] = found
        show(name, found)
        write_result(path, result)


def measure(sides: Sequence[str], rows: Sequence[str], vocabulary: Sequence[str], turns: int) -> dict[str, Any]:
    ours = [side for side in sides if side not in GOALS]
    for side in ours:
        run_side(side, rows[:5], vocabulary)  # compiles, or loads what was compiled
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    for turn in range(turns):
        for side in sides_of_turn(sides, turn):
            start = time.process_time()
            run_side(side, rows, vocabulary)
            seconds[side].append(time.process_time() - start)
    return {
        "rows": len(rows),
        "different rows": len(set(rows)),
        "seconds": {side: seconds_of_turns(found) for side, found in seconds.items()},
        "times as long": {one: {side: times_as_long(seconds[side], seconds[one]) for side in GOALS} for one in ours},
    }


def show(name: str, found: dict[str, Any]) -> None:
    ratios = found["times as long"]
    print(f"\n{name}, {found['different rows']:,} different")
    print(f"{'':36}{'s':>9}{'MiB':>9}{'of them result':>16}")
    for side, seconds in found["seconds"].items():
        memory = found["memory"][side]
        print(f"{side:36}{seconds['median']:9.4f}{memory['growth MiB']:9.1f}{memory['result MiB']:16.1f}")
    for peer, goal in GOALS.items():
        compared = ", ".join(f"{times[peer]:.1f} times {one}" for one, times in ratios.items())
        print(f"{peer}: {compared}; goal: {goal}", flush=True)


if __name__ == "__main__":
    main()
