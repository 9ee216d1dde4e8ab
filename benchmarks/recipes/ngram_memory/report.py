"""Tables and plot of the experiment on hashed n-grams."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.runner.recipe import Result
from benchmarks.runner.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BASE = "hash"
_HEADER = (
    *("variant", "dense parameters", "in tables", "tokens trained", "n-grams per row, by order", "bits per byte"),
    *("with int8 rows", f"difference from {BASE}", "95 % interval"),
)


class Difference(NamedTuple):
    """The mean difference of a variant from ``hash``, over the seeds that both have."""

    mean: float
    half: float  # of its 95 % interval; NaN for fewer than two seeds
    n_seeds: int


def group_runs(results: Sequence[Result]) -> dict[tuple[str, int], dict[str, list[Result]]]:
    """Return the results by unit and seconds of training, and then by variant."""
    groups: dict[tuple[str, int], dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        groups[result["unit"], result["settings"]["seconds"]][result["variant"]].append(result)
    return {key: dict(variants) for key, variants in groups.items()}


def differences(variants: dict[str, list[Result]]) -> dict[str, Difference]:
    """Compare each variant with ``hash`` seed by seed; intervals are from the pooled spread of all differences."""
    from scipy.stats import t

    base = {result["seed"]: result["test_bits"] for result in variants.get(BASE, [])}
    paired = {
        name: [result["test_bits"] - base[result["seed"]] for result in runs if result["seed"] in base]
        for name, runs in variants.items()
        if name != BASE
    }
    several = [values for values in paired.values() if len(values) > 1]
    degrees = sum(len(values) - 1 for values in several)
    pooled = math.sqrt(sum(statistics.variance(v) * (len(v) - 1) for v in several) / degrees) if degrees else math.nan
    return {
        name: Difference(
            statistics.mean(values),
            float(t.ppf(0.975, degrees)) * pooled / math.sqrt(len(values)) if degrees and len(values) > 1 else math.nan,
            len(values),
        )
        for name, values in paired.items()
        if values
    }


def report(results: Sequence[Result]) -> list[Table]:
    """Make a table for each unit and processor time."""
    tables = []
    for (unit, seconds), variants in sorted(group_runs(results).items()):
        compared = differences(variants)
        rows = []
        for name, runs in variants.items():
            difference = compared.get(name)
            rows.append(
                [
                    name,
                    _millions(runs[0]["n_dense"]),
                    _millions(runs[0]["n_table"]),
                    _millions(_mean(runs, "tokens")),
                    ", ".join(f"{ratio:.2g}" for ratio in runs[0].get("ngrams_per_row", ())),
                    f"{_mean(runs, 'test_bits'):.3f}",
                    f"{_mean(runs, 'test_bits_int8'):.3f}" if "test_bits_int8" in runs[0] else "",
                    "" if difference is None else f"{difference.mean:+.3f}",
                    "" if difference is None or math.isnan(difference.half) else _interval(difference),
                ]
            )
        n_seeds = max(map(len, variants.values()))
        notes = [f"{n_seeds} seeds; lower is better." if n_seeds > 1 else "One seed; lower is better."]
        if unknown := max(run["unknown"] for runs in variants.values() for run in runs):
            notes.append(f"{unknown:.1%} of the test words are not in the vocabulary and count as one word.")
        tables.append(Table(f"{unit.capitalize()}, {seconds / 60:.0f} minutes", _HEADER, rows, notes))
    return tables


def plot(results: Sequence[Result], figure: Figure) -> None:
    """Draw the difference from ``hash`` of each variant, a panel for each unit."""
    groups = {
        unit: differences(variants)
        for (unit, seconds), variants in sorted(group_runs(results).items())
        if seconds == min(seconds for _, seconds in group_runs(results))
    }
    figure.set_size_inches(8.0, 6.4)
    panels = figure.subplots(1, max(len(groups), 1), squeeze=False)[0]
    for axes, (unit, compared) in zip(panels, groups.items(), strict=False):
        names = sorted(compared, key=lambda name: -compared[name].mean)
        for y, name in enumerate(names):
            one = compared[name]
            half = 0.0 if math.isnan(one.half) else one.half
            axes.errorbar(one.mean, y, xerr=half, marker="o", color="#0b5cad" if one.mean < 0 else "#b45309", capsize=3)
        axes.set_yticks(range(len(names)), names)
        axes.axvline(0, color="gray", linewidth=1)
        axes.set_xscale("symlog", linthresh=0.05)
        axes.set(title=unit, xlabel=f"bits per byte more than {BASE}")
        axes.grid(axis="x", alpha=0.3)


def _mean(runs: Sequence[Result], name: str) -> float:
    return float(statistics.mean(run[name] for run in runs))


def _millions(number: float) -> str:
    return f"{number / 1e6:.1f} M" if number else ""


def _interval(difference: Difference) -> str:
    return f"{difference.mean - difference.half:+.3f} to {difference.mean + difference.half:+.3f}"
