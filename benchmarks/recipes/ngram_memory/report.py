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
    *(
        "variant",
        "dense parameters",
        "in tables",
        "tokens trained",
        "n-grams per row, by order",
        "bits per byte",
    ),
    *("with int8 rows", f"difference from {BASE}", "95 % interval"),
)


class Difference(NamedTuple):
    """A variant's mean difference from ``hash`` over common seeds on the same processor."""

    mean: float
    half: float  # of its 95 % interval; NaN for fewer than two seeds


def group_runs(
    results: Sequence[Result],
) -> dict[tuple[str, str, int, int], dict[str, list[Result]]]:
    """Return results by unit, GPU if any, training seconds and batch rows, and then by variant."""
    groups: dict[tuple[str, str, int, int], dict[str, list[Result]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for result in results:
        settings = result["settings"]
        key = result["unit"], result.get("gpu", ""), settings["seconds"], settings["batch"]
        groups[key][result["variant"]].append(result)
    return {key: dict(variants) for key, variants in groups.items()}


def differences(variants: dict[str, list[Result]]) -> dict[str, Difference]:
    """Compare each variant with ``hash``, seed by seed and only on the same processor.

    Intervals are from the pooled spread of the differences: of the variants with tables, and of
    those without.
    """
    base = {_pair(result): result["test_bits"] for result in variants.get(BASE, [])}
    paired = {
        name: [
            result["test_bits"] - base[_pair(result)] for result in runs if _pair(result) in base
        ]
        for name, runs in variants.items()
        if name != BASE
    }
    compared: dict[str, Difference] = {}
    for has_tables in (False, True):
        group = {
            name: values
            for name, values in paired.items()
            if (variants[name][0]["n_table"] > 0) == has_tables
        }
        compared |= _pooled(group)
    return {name: compared[name] for name in paired if name in compared}


def _pair(result: Result) -> tuple[int, str]:
    return result["seed"], result["machine"]["processor"]


def _pooled(paired: dict[str, list[float]]) -> dict[str, Difference]:
    from scipy.stats import t

    several = [values for values in paired.values() if len(values) > 1]
    degrees = sum(len(values) - 1 for values in several)
    spread = (
        math.sqrt(sum(statistics.variance(v) * (len(v) - 1) for v in several) / degrees)
        if degrees
        else math.nan
    )
    factor = float(t.ppf(0.975, degrees)) * spread if degrees else math.nan
    return {
        name: Difference(
            statistics.mean(values),
            factor / math.sqrt(len(values)) if len(values) > 1 else math.nan,
        )
        for name, values in paired.items()
        if values
    }


def report(results: Sequence[Result]) -> list[Table]:
    """Make a table for each unit and time of training, the best variant first."""
    tables = []
    for (unit, gpu, seconds, _), variants in sorted(group_runs(results).items()):
        compared, rows = differences(variants), []
        for name in sorted(
            variants, key=lambda name: compared[name].mean if name in compared else 0.0
        ):
            runs, difference = variants[name], compared.get(name)
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
                    ""
                    if difference is None or math.isnan(difference.half)
                    else _interval(difference),
                ]
            )
        runs = [run for group in variants.values() for run in group]
        n_seeds, n_processors = (len({_pair(run)[index] for run in runs}) for index in (0, 1))
        notes = [
            f"{n_seeds} seeds; lower is better." if n_seeds > 1 else "One seed; lower is better."
        ]
        if n_processors > 1:
            notes.append(
                f"Runs on {n_processors} processors: differences are those of runs on the same one."
            )
        if unknown := max(run["unknown"] for run in runs):
            notes.append(
                f"{unknown:.1%} of the test words are not in the vocabulary and count as one word."
            )
        time = (
            f"{seconds} seconds of an {gpu}" if gpu else f"{seconds / 60:.0f} minutes of a thread"
        )
        columns = [column for column in zip(_HEADER, *rows, strict=True) if any(column[1:])]
        header, *cells = zip(*columns, strict=True)
        tables.append(Table(f"{unit.capitalize()}, {time}", header, cells, notes))
    return tables


def plot(results: Sequence[Result], figure: Figure) -> None:
    """Draw each variant's difference from ``hash``, a panel per unit for the largest table."""
    by_size = sorted(group_runs(results).items(), key=lambda group: len(group[1]))
    groups = {unit: variants for (unit, *_), variants in by_size if _with_tables(variants)}
    figure.set_size_inches(8.0, 4.8)
    for axes, (unit, variants) in zip(
        figure.subplots(1, len(groups), squeeze=False)[0], groups.items(), strict=True
    ):
        compared = differences(variants)
        names = _with_tables(variants)
        names.sort(key=lambda name: -compared[name].mean)
        for y, name in enumerate(names):
            one = compared[name]
            half = 0.0 if math.isnan(one.half) else one.half
            axes.errorbar(
                one.mean,
                y,
                xerr=half,
                marker="o",
                color="#0b5cad" if one.mean < 0 else "#b45309",
                capsize=3,
            )
        axes.set_yticks(range(len(names)), names)
        axes.axvline(0, color="gray", linewidth=1)
        others = [f"{name}: {one.mean:+.2f}" for name, one in compared.items() if name not in names]
        axes.set_title(
            "\n".join([unit, *(["without tables: " + ", ".join(others)] if others else [])]),
            fontsize=10,
        )
        axes.set_xlabel(f"bits per byte more than {BASE}")
        axes.grid(axis="x", alpha=0.3)


def _with_tables(variants: dict[str, list[Result]]) -> list[str]:
    """Return the variants with tables that are compared."""
    return [name for name in differences(variants) if variants[name][0]["n_table"]]


def _mean(runs: Sequence[Result], name: str) -> float:
    return float(statistics.mean(run[name] for run in runs))


def _millions(number: float) -> str:
    return f"{number / 1e6:.1f} M" if number else ""


def _interval(difference: Difference) -> str:
    return f"{difference.mean - difference.half:+.3f} to {difference.mean + difference.half:+.3f}"
