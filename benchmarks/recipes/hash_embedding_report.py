"""Tables and plots of the hash-embedding experiments, with the published results."""

from __future__ import annotations

import json
import statistics
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.recipes.comparison import TITLES, dataset_and_rows, mean_and_deviation
from benchmarks.recipes.hash_embedding_settings import DATASETS, SETTINGS, HashEmbeddingSettings
from benchmarks.runner.recipe import Result
from benchmarks.runner.settings import format_changes, same_settings
from benchmarks.runner.statistics import MAX_PAIRS, compare_paired, holm_correction
from benchmarks.runner.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Published(NamedTuple):
    """Published test accuracies, in percent."""

    name: str  # in tables
    reference: str
    accuracies: dict[str, dict[str, float]]  # by experiment and dataset


def _by_dataset(*accuracies: float) -> dict[str, float]:
    return dict(zip(DATASETS, accuracies, strict=True))


PUBLISHED = (
    Published(
        "paper",
        "Svenstrup, Hansen and Winther (2017), table 2",
        {
            "hash-embed-nodict": _by_dataset(92.4, 60.0, 98.5, 72.3, 63.8, 94.4, 95.9),
            "std-embed-nodict": _by_dataset(92.0, 58.3, 98.6, 72.3, 62.6, 94.2, 95.5),
            "hash-embed-dict": _by_dataset(91.5, 59.4, 98.7, 71.3, 62.6, 94.7, 95.8),
            "std-embed-dict": _by_dataset(91.7, 58.5, 98.6, 65.8, 61.4, 93.6, 95.0),
            "ensemble-hash-embed-dict": _by_dataset(92.0, 60.5, 98.8, 72.9, 62.9, 94.7, 95.7),
        },
    ),
    Published(
        "PyTorch reproduction",
        "https://github.com/YannDubs/Hash-Embeddings, section Results",
        {
            "hash-embed-nodict": _by_dataset(92.1, 59.1, 98.7, 72.9, 62.5, 94.3, 95.8),
            "std-embed-nodict": _by_dataset(91.9, 58.8, 98.5, 73.1, 62.1, 94.2, 95.6),
        },
    ),
)


class PublishedTime(NamedTuple):
    """Published training time on a CPU, and the rows of the training file."""

    minutes: float
    n_rows: int


# Of AG's News, from results.txt of the PyTorch reproduction: 1,782 batches of 64 rows per epoch,
# and 5 % of the 120,000 rows for validation. By the parameters printed there, its n-grams had 1 to
# 8 words, not the 1 to 2 of its table, so the time is compared with results of the same n-grams.
PUBLISHED_TIMES = {("custom", "ag", "ngram_range=1,8"): PublishedTime(397.9, 120_000)}

_COLUMNS = {
    "hash-embed-nodict": "hash, no dictionary",
    "std-embed-nodict": "standard, no dictionary",
    "hash-embed-dict": "hash, dictionary",
    "std-embed-dict": "standard, dictionary",
    "ensemble-hash-embed-dict": "ensemble, dictionary",
    "custom": "custom",
}


class Group(NamedTuple):
    """Return the settings that results share which differ in their seed only."""

    recipe: str
    dataset: str
    n_train: int
    changes: str  # of the default settings


Groups = dict[Group, list[Result]]


def report(results: Sequence[Result]) -> list[Table]:
    """Make the tables of published and measured results."""
    groups, marks = _groups(results), _footnote_marks(results)
    tables = (
        [_accuracies(groups, marks), *claim_table(results), _times(groups, marks)] if groups else []
    )
    grid = [result for result in results if result["part"] == "choice"]
    return [*tables, _grid_search(grid, marks)] if grid else tables


def plot(results: Sequence[Result], figure: Figure) -> None:
    """Draw measured and published accuracies, one panel per dataset."""
    groups = _groups(results)
    names = sorted({group.dataset for group in groups}, key=_order)
    # A row per experiment and settings, the same in all panels.
    labels = list(dict.fromkeys(_label(group) for group in groups))
    n_lines = max((label.count("\n") + 1 for label in labels), default=1)
    figure.set_size_inches(3 + 2.6 * max(len(names), 1), 2 + len(labels) * (0.3 + 0.17 * n_lines))
    handles: dict[str, Any] = {}
    axes = figure.subplots(1, len(names), sharey=True, squeeze=False)[0] if names else []
    for ax, name in zip(axes, names, strict=True):
        for group, members in groups.items():
            if group.dataset != name:
                continue
            row = labels.index(_label(group))
            accuracies = [100 * result["accuracy"] for result in members]
            # Points are moved apart, so that none covers another.
            heights = [row + 0.07 * (i - (len(accuracies) - 1) / 2) for i in range(len(accuracies))]
            ax.plot(
                accuracies,
                heights,
                "o",
                color="C0",
                alpha=0.6,
                label="this package, one dot per seed",
            )
            for published, marker in (
                zip(PUBLISHED, ("s", "D"), strict=True) if _all_rows(members) else ()
            ):
                if (accuracy := published.accuracies.get(group.recipe, {}).get(name)) is not None:
                    ax.plot(
                        accuracy, row, marker, color="C1", fillstyle="none", label=published.name
                    )
        ax.margins(x=0.1)
        ax.set_yticks(range(len(labels)), labels)
        ax.set_ylim(len(labels) - 0.5, -0.5)
        ax.set_title(_title(name))
        ax.set_xlabel("test accuracy, %")
        ax.grid(axis="x", alpha=0.3)
        handles |= {
            label: handle for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
        }
    if handles:
        # In a frame, so that its markers are not taken for results.
        figure.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles)
        )


def _label(group: Group) -> str:
    return "\n".join([_COLUMNS[group.recipe], *textwrap.wrap(group.changes, 36)])


def _groups(results: Iterable[Result]) -> Groups:
    """Group the test results that differ in their seed only."""
    groups = defaultdict(list)
    for result in results:
        if result["part"] == "test":
            group = Group(
                result["recipe"], result["settings"]["dataset"], result["n_train"], _changes(result)
            )
            groups[group].append(result)
    order = list(_COLUMNS)
    return {
        group: groups[group]
        for group in sorted(
            groups,
            key=lambda one: (
                _order(one.dataset),
                -one.n_train,
                order.index(one.recipe),
                one.changes,
            ),
        )
    }


def _footnote_marks(results: Iterable[Result]) -> dict[str, str]:
    """Return a footnote mark for each change of settings."""
    changes = sorted({_changes(result) for result in results} - {""})
    return {"": "", **{change: f" [{number}]" for number, change in enumerate(changes, 1)}}


def _order(dataset: str) -> tuple[int, str]:
    return (list(TITLES).index(dataset) if dataset in TITLES else len(TITLES), dataset)


def _title(dataset: str) -> str:
    return TITLES.get(dataset, dataset)


def _changes(result: Result) -> str:
    return format_changes(result["settings"], SETTINGS[result["recipe"]])


def _accuracies(groups: Groups, marks: dict[str, str]) -> Table:
    recipes = [name for name in _COLUMNS if any(group.recipe == name for group in groups)]
    rows: list[list[str]] = []
    sizes = list(dict.fromkeys((group.dataset, group.n_train) for group in groups))
    for dataset, n_train in sizes:
        cells = {
            name: " / ".join(
                f"{_mean_and_deviation(members)}{marks[group.changes]}"
                for group, members in groups.items()
                if (group.recipe, group.dataset, group.n_train) == (name, dataset, n_train)
            )
            for name in recipes
        }
        is_first = all(row[0] != _title(dataset) for row in rows)
        rows.append([_title(dataset), f"this package, {n_train:,} rows", *cells.values()])
        whole = {
            group.recipe
            for group, members in groups.items()
            if group.dataset == dataset and _all_rows(members)
        }
        for published in PUBLISHED if is_first else ():
            accuracies = [
                published.accuracies.get(name, {}).get(dataset) if name in whole else None
                for name in recipes
            ]
            if any(accuracies):
                formatted = (
                    "" if accuracy is None else f"{accuracy:.1f}" for accuracy in accuracies
                )
                rows.append([_title(dataset), published.name, *formatted])
    notes = [f"{mark.strip()} with {changes}." for changes, mark in marks.items() if changes]
    notes.append("Mean ± standard deviation over seeds; the number of seeds is in brackets.")
    notes += [f"{published.name}: {published.reference}." for published in PUBLISHED]
    return Table(
        "Test accuracy, %",
        ["dataset", "results", *(_COLUMNS[name] for name in recipes)],
        rows,
        notes,
    )


def _all_rows(results: Sequence[Result]) -> bool:
    """Return whether results are of all rows, as the published figures of the whole set are."""
    return same_settings(results[0]["settings"], HashEmbeddingSettings(), ("n_train", "n_test"))


def _mean_and_deviation(results: Sequence[Result]) -> str:
    seeds = f" ({len(results)})" if len(results) > 1 else ""
    return mean_and_deviation([result["accuracy"] for result in results]) + seeds


def _times(groups: Groups, marks: dict[str, str]) -> Table:
    rows = []
    for group, members in groups.items():
        per_row = statistics.median(result["seconds_per_row"] for result in members)
        published = PUBLISHED_TIMES.get((group.recipe, group.dataset, group.changes))
        reference = (
            "" if published is None else f"{60_000 * published.minutes / published.n_rows:.1f}"
        )
        speed_up = (
            ""
            if published is None
            else f"{60 * published.minutes / published.n_rows / per_row:.0f}"
        )
        rows.append(
            [
                _title(group.dataset),
                _COLUMNS[group.recipe] + marks[group.changes],
                f"{group.n_train:,}",
                f"{members[0]['n_parameters'] / 1e6:.1f}",
                f"{statistics.mean(result['epochs'] for result in members):.0f}",
                f"{per_row * group.n_train:.1f}",
                f"{1000 * per_row:.2f}",
                reference,
                speed_up,
            ]
        )
    header = [
        "dataset",
        "experiment",
        "rows",
        "million parameters",
        "epochs",
        "seconds",
        "ms per row",
    ]
    header += ["ms per row, reference", "speed-up"]
    devices = sorted(
        {result.get("device", "cpu") for members in groups.values() for result in members}
    )
    notes = [
        "Median over seeds of counting and training, without the grid search, on: "
        f"{', '.join(devices)}."
    ]
    if any(row[-1] for row in rows):
        notes.append(
            "Reference: the PyTorch reproduction, 397.9 minutes for hash embeddings of AG's News, "
            "120,000 rows, on another CPU, with n-grams of 1 to 8 words according to its results "
            "file. It is compared with the experiment that has the same n-grams. (Standard "
            "embeddings took 2463.5 minutes.)"
        )
    return Table("Sizes and times", header, rows, notes)


def _grid_search(results: Sequence[Result], marks: dict[str, str]) -> Table:
    rows = [
        [
            _title(result["settings"]["dataset"]),
            _COLUMNS[result["recipe"]] + marks[_changes(result)],
            str(result["seed"]),
            f"{result['parameter']} = {result['value']:,}",
            f"{100 * result['accuracy']:.2f}",
            f"{result['seconds']:.0f}",
        ]
        for result in results
    ]
    header = ["dataset", "experiment", "seed", "value", "accuracy, %", "seconds"]
    return Table("Grid search by cross-validation on training rows", header, rows)


HASH, STANDARD = "hash-embed-nodict", "std-embed-nodict"


def claim_table(results: Sequence[Result]) -> list[Table]:
    """Compare hash embeddings with standard embeddings of five times the parameters."""
    tests: dict[tuple[str, str], dict[str, dict[int, Result]]] = defaultdict(
        lambda: {HASH: {}, STANDARD: {}}
    )
    for result in results:
        if result["part"] == "test" and result["recipe"] in (HASH, STANDARD):
            settings = {
                name: value for name, value in result["settings"].items() if name != "variant"
            }
            key = dataset_and_rows(result), json.dumps(settings, sort_keys=True)
            tests[key][result["recipe"]][result["seed"]] = result
    pairs = [
        (
            name,
            {
                seed: (test[HASH][seed], test[STANDARD][seed])
                for seed in test[HASH]
                if seed in test[STANDARD]
            },
        )
        for (name, _), test in tests.items()
    ]
    return compare_sizes(
        "Hash embeddings vs. standard embeddings with five times the parameters", pairs
    )


def compare_sizes(
    title: str, datasets: Iterable[tuple[str, Mapping[int, tuple[Result, Result]]]]
) -> list[Table]:
    """Compare hash embeddings with standard embeddings on each dataset, seed by seed."""
    rows = []
    p_values = []
    n_seeds = 0
    for name, pairs in datasets:
        if len(pairs) < 2:
            continue
        both = list(zip(*(pairs[seed] for seed in sorted(pairs)[:MAX_PAIRS]), strict=True))
        accuracies = [[100 * result["accuracy"] for result in results] for results in both]
        (compared,) = compare_paired(
            dict(zip((HASH, STANDARD), accuracies, strict=True)), [(HASH, STANDARD)]
        )
        p_values.append(compared.p_value)
        n_seeds = max(n_seeds, len(both[0]))
        rows.append(
            [
                name,
                str(len(both[0])),
                *(
                    f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"
                    f" ({results[0]['n_parameters'] / 1e6:.0f} M)"
                    for values, results in zip(accuracies, both, strict=True)
                ),
                f"{compared.difference:+.2f}",
                f"{compared.low:+.2f} to {compared.high:+.2f}",
                f"{compared.p_value:.3f}",
            ]
        )
    if not rows:
        return []
    rows = [
        [*row, f"{corrected:.3f}"]
        for row, corrected in zip(rows, holm_correction(p_values), strict=True)
    ]
    header = [
        "dataset",
        "seeds",
        "hash, %",
        "standard, %",
        "difference",
        "95 % CI",
        "p",
        "p (Holm)",
    ]
    notes = [
        "Mean ± standard deviation of the test accuracy over seeds, and the number of parameters "
        "in millions. The differences are paired by seed: Student's confidence interval, p of the "
        "exact permutation test (sign flips), corrected for the number of datasets by Holm's "
        f"method. With {n_seeds} seeds p cannot be less than {2 ** (1 - n_seeds):.2g}."
    ]
    return [Table(title, header, rows, notes)]
