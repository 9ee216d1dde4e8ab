"""The report of recipes that have none of their own: means over seeds."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from benchmarks.runner.settings import format_setting, group_by_settings
from benchmarks.runner.table import Table

Result = dict[str, Any]

# What `run_recipe` adds to each result.
PROVENANCE = ("recipe", "seed", "settings", "step", "date", "commit", "machine", "versions")


def mean_table(results: Sequence[Result]) -> list[Table]:
    """Make a table per recipe: mean and standard deviation over seeds of all numbers in results."""
    by_recipe: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        by_recipe[result["recipe"]].append(result)
    return [_table(name, group) for name, group in by_recipe.items()]


def _table(name: str, results: Sequence[Result]) -> Table:
    keys = dict.fromkeys(key for result in results for key in result if key not in PROVENANCE)
    texts = [
        key
        for key in keys
        if all(isinstance(result.get(key, ""), (str, bool)) for result in results)
    ]
    numbers = [
        key
        for key in keys
        if key not in texts and all(_is_number(result.get(key, 0)) for result in results)
    ]
    by_settings = group_by_settings(results)
    rows = []
    for settings, group in by_settings:
        steps: dict[int, list[Result]] = defaultdict(list)
        for result in group:
            steps[result.get("step", 0)].append(result)
        for _, members in sorted(steps.items()):
            cells = [format_setting(members[0].get(key, "")) for key in texts]
            cells += [
                _mean([result[key] for result in members if key in result]) for key in numbers
            ]
            rows.append([*([settings] if len(by_settings) > 1 else []), *cells, str(len(members))])
    header = [*(["settings"] if len(by_settings) > 1 else []), *texts, *numbers, "seeds"]
    return Table(name, header, rows, ["Mean ± standard deviation over seeds."])


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _mean(values: Sequence[float]) -> str:
    if len(set(values)) == 1 and isinstance(values[0], int):
        return f"{values[0]:,}"
    if not values:
        return ""
    mean = f"{statistics.mean(values):.4g}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.2g}"
