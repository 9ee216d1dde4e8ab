"""Tables of embeddings and classifiers that were trained on the same rows with the same seeds."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.runner.recipe import Result
from benchmarks.runner.settings import STDLIB, format_changes
from benchmarks.runner.statistics import MAX_PAIRS, compare_paired
from benchmarks.runner.table import Table

TITLES = {
    "ag": "AG's News",
    "amazon": "Amazon Review Full",
    "dbpedia": "DBpedia",
    "yahoo": "Yahoo! Answers",
    "yelp": "Yelp Review Full",
    "amazon-polarity": "Amazon Review Polarity",
    "yelp-polarity": "Yelp Review Polarity",
    "sogou": "Sogou News",
    STDLIB: "docstrings of Python's standard library",
}
METRICS = {"accuracy": "Test accuracy", "train_accuracy": "Training accuracy"}
Group = dict[str, list[Result]]  # name of an embedding or classifier -> results, sorted by seed


def dataset_and_rows(result: Result) -> str:
    """Return the title of the dataset of a result and the number of its training rows."""
    dataset = result["settings"]["dataset"]
    return f"{TITLES.get(dataset, dataset)}, {result['n_train']:,} rows"


def group_results(
    results: Iterable[Result], default: Any, names: Sequence[str] = ()
) -> dict[str, Group]:
    """Group results by dataset, rows and settings, except for the settings ``names``."""
    groups: dict[str, Group] = defaultdict(lambda: defaultdict(list))
    for result in sorted(results, key=lambda result: result["seed"]):
        settings = {key: value for key, value in result["settings"].items() if key not in names}
        changes = format_changes(settings, default)
        groups[f"{dataset_and_rows(result)}{', ' if changes else ''}{changes}"][
            result["embedding"]
        ].append(result)
    return groups


def comparison_tables(title: str, group: Group) -> list[Table]:
    """Return the table of means, and a table of differences from the first for each metric."""
    return [
        _means(title, group),
        *(table for metric in METRICS for table in _differences(title, group, metric)),
    ]


def mean_and_deviation(values: Sequence[float]) -> str:
    """Format shares as percent: the mean, and with several seeds the standard deviation."""
    percent = [100 * value for value in values]
    deviation = f" ± {statistics.stdev(percent):.2f}" if len(percent) > 1 else ""
    return f"{statistics.mean(percent):.2f}{deviation}"


def _means(title: str, group: Group) -> Table:
    header = [
        "embedding",
        "million parameters",
        "seeds",
        "training, %",
        "test, %",
        "epochs",
        "seconds",
    ]
    rows = [
        [
            name,
            f"{results[0]['n_parameters'] / 1e6:.3g}" if results[0]["n_parameters"] else "",
            str(len(results)),
            mean_and_deviation([result["train_accuracy"] for result in results]),
            mean_and_deviation([result["accuracy"] for result in results]),
            f"{statistics.mean(result['epochs'] for result in results):.0f}"
            if results[0]["epochs"]
            else "",
            f"{statistics.median(result['fit_seconds'] for result in results):.1f}",
        ]
        for name, results in group.items()
    ]
    notes = [
        "Mean ± standard deviation over seeds; the median of the seconds. Training accuracy is "
        "measured under n-gram dropout."
    ]
    return Table(f"Accuracy: {title}", header, rows, notes)


def _differences(title: str, group: Group, metric: str) -> list[Table]:
    """Compare the first with each other one, over the seeds that all have."""
    by_seed = {
        name: {result["seed"]: result[metric] for result in results}
        for name, results in group.items()
    }
    seeds = sorted(set.intersection(*map(set, by_seed.values())))[:MAX_PAIRS]
    if len(seeds) < 2 or len(by_seed) < 2:
        return []
    first, *others = by_seed
    compared = compare_paired(
        {name: [100 * values[seed] for seed in seeds] for name, values in by_seed.items()},
        [(first, other) for other in others],
    )
    rows = [
        [
            one.second,
            f"{one.difference:+.2f}",
            f"{one.low:+.2f} to {one.high:+.2f}",
            f"{one.p_value:.3f}",
            f"{one.corrected_p_value:.3f}",
        ]
        for one in compared
    ]
    notes = [
        f"Paired over {len(seeds)} seeds: Student's confidence interval of the mean difference; p "
        "of the exact permutation test (sign flips), corrected for these comparisons by Holm's "
        "method."
    ]
    header = [f"{first} vs.", "difference, points", "95 % CI", "p", "p (Holm)"]
    return [Table(f"{METRICS[metric]}, differences: {title}", header, rows, notes)]
