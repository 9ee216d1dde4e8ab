"""The hash-embedding paper's table with this package's figures in it, as tables and as a picture."""

from __future__ import annotations

import json
import statistics
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sklearn_hashnlp.experiments._recipe import Result
from sklearn_hashnlp.experiments._settings import changes_as_text
from sklearn_hashnlp.experiments._table import Table
from sklearn_hashnlp.experiments.recipes._hash_embedding_settings import SETTINGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Published(NamedTuple):
    """Test accuracies in percent, of one source."""

    source: str  # what it is called in tables
    reference: str  # where the figures stand
    accuracies: dict[str, dict[str, float]]  # by experiment and set


TITLES = {
    "ag": "AG's News",
    "amazon": "Amazon Review Full",
    "dbpedia": "DBpedia",
    "yahoo": "Yahoo! Answers",
    "yelp": "Yelp Review Full",
    "amazon-polarity": "Amazon Review Polarity",
    "yelp-polarity": "Yelp Review Polarity",
    "sogou": "Sogou News",
}

_SETS = ("ag", "amazon", "dbpedia", "yahoo", "yelp", "amazon-polarity", "yelp-polarity")


def _by_set(*figures: float) -> dict[str, float]:
    return dict(zip(_SETS, figures, strict=True))


PUBLISHED = (
    Published(
        "paper",
        "Svenstrup, Hansen and Winther (2017), table 2",
        {
            "hash-embed-nodict": _by_set(92.4, 60.0, 98.5, 72.3, 63.8, 94.4, 95.9),
            "std-embed-nodict": _by_set(92.0, 58.3, 98.6, 72.3, 62.6, 94.2, 95.5),
            "hash-embed-dict": _by_set(91.5, 59.4, 98.7, 71.3, 62.6, 94.7, 95.8),
            "std-embed-dict": _by_set(91.7, 58.5, 98.6, 65.8, 61.4, 93.6, 95.0),
            "ensemble-hash-embed-dict": _by_set(92.0, 60.5, 98.8, 72.9, 62.9, 94.7, 95.7),
        },
    ),
    Published(
        "PyTorch reproduction",
        "https://github.com/YannDubs/Hash-Embeddings, section Results",
        {
            "hash-embed-nodict": _by_set(92.1, 59.1, 98.7, 72.9, 62.5, 94.3, 95.8),
            "std-embed-nodict": _by_set(91.9, 58.8, 98.5, 73.1, 62.1, 94.2, 95.6),
        },
    ),
)


class PublishedTime(NamedTuple):
    """A training time that was published: minutes on a CPU, and the rows of the training file."""

    minutes: float
    n_rows: int


# Of AG's News, from results.txt of the PyTorch reproduction: 1,782 batches of 64 rows an epoch, and 5 % of 120,000 rows
# held out. Its n-grams had 1 to 8 words, by the parameters printed there, and not the 1 to 2 of its table.
PUBLISHED_TIMES = {
    ("hash-embed-nodict", "ag"): PublishedTime(397.9, 120_000),
    ("std-embed-nodict", "ag"): PublishedTime(2463.5, 120_000),
}

_COLUMNS = {
    "hash-embed-nodict": "hash, no dictionary",
    "std-embed-nodict": "standard, no dictionary",
    "hash-embed-dict": "hash, dictionary",
    "std-embed-dict": "standard, dictionary",
    "ensemble-hash-embed-dict": "ensemble, dictionary",
    "custom": "custom",
}


class Group(NamedTuple):
    """What results share that differ in their seeds alone."""

    recipe: str
    dataset: str
    n_train: int
    changes: str  # of the experiment's own settings


Groups = dict[Group, list[Result]]


def report(results: Sequence[Result]) -> list[Table]:
    """Set results beside what was published."""
    groups, marks = _groups(results), _marks(results)
    tables = [_accuracies(groups, marks), *claim_table(results), _times(groups, marks)] if groups else []
    tried = [result for result in results if result["part"] == "choice"]
    return [*tables, _choices(tried, marks)] if tried else tables


def plot(results: Sequence[Result], figure: Figure) -> None:
    """Draw measured accuracies beside published ones, a panel a set."""
    groups = _groups(results)
    names = sorted({group.dataset for group in groups}, key=_order)
    most = max((sum(group.dataset == name for group in groups) for name in names), default=0)
    figure.set_size_inches(1 + 5 * max(len(names), 1), 2 + 0.6 * most)
    for place, name in enumerate(names):
        ax = figure.add_subplot(1, len(names), place + 1)
        labels = []
        for group, found in groups.items():
            if group.dataset != name:
                continue
            labels.append("\n".join([_COLUMNS[group.recipe], *textwrap.wrap(group.changes, 36)]))
            row = len(labels) - 1
            accuracies = [100 * result["accuracy"] for result in found]
            ax.plot(accuracies, [row] * len(accuracies), "o", color="C0", alpha=0.6, label="here, a dot a seed")
            for source, marker in zip(PUBLISHED, ("s", "D"), strict=True):
                if (published := source.accuracies.get(group.recipe, {}).get(name)) is not None:
                    ax.plot(published, row, marker, color="C1", fillstyle="none", label=source.source)
        ax.set_yticks(range(len(labels)), labels)
        ax.set_ylim(len(labels) - 0.5, -0.5)
        ax.set_title(_title(name))
        ax.set_xlabel("test accuracy, %")
        ax.grid(axis="x", alpha=0.3)
        handles = {label: handle for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
        ax.legend(handles.values(), handles.keys(), frameon=False)


def _groups(results: Iterable[Result]) -> Groups:
    """Put together the tests that differ in their seeds alone."""
    groups = defaultdict(list)
    for result in results:
        if result["part"] == "test":
            group = Group(result["recipe"], result["settings"]["dataset"], result["n_train"], _changes(result))
            groups[group].append(result)
    order = list(_COLUMNS)
    return {
        group: groups[group]
        for group in sorted(
            groups, key=lambda one: (_order(one.dataset), -one.n_train, order.index(one.recipe), one.changes)
        )
    }


def _marks(results: Iterable[Result]) -> dict[str, str]:
    """Return each change of settings a number, so that tables need not repeat it."""
    changes = sorted({_changes(result) for result in results} - {""})
    return {"": "", **{change: f" [{number}]" for number, change in enumerate(changes, 1)}}


def _order(dataset: str) -> tuple[int, str]:
    return (list(TITLES).index(dataset) if dataset in TITLES else len(TITLES), dataset)


def _title(dataset: str) -> str:
    return TITLES.get(dataset, dataset)


def _changes(result: Result) -> str:
    return changes_as_text(result["settings"], SETTINGS[result["recipe"]])


def _accuracies(groups: Groups, marks: dict[str, str]) -> Table:
    recipes = [name for name in _COLUMNS if any(group.recipe == name for group in groups)]
    rows: list[list[str]] = []
    sizes = list(dict.fromkeys((group.dataset, group.n_train) for group in groups))
    for dataset, n_train in sizes:
        cells = {
            name: " / ".join(
                f"{_mean_and_spread(found)}{marks[group.changes]}"
                for group, found in groups.items()
                if (group.recipe, group.dataset, group.n_train) == (name, dataset, n_train)
            )
            for name in recipes
        }
        is_first = all(row[0] != _title(dataset) for row in rows)
        rows.append([_title(dataset), f"here, {n_train:,} rows", *cells.values()])
        for source in PUBLISHED if is_first else ():
            there = [source.accuracies.get(name, {}).get(dataset) for name in recipes]
            if any(there):
                rows.append([_title(dataset), source.source, *("" if one is None else f"{one:.1f}" for one in there)])
    notes = [f"{mark.strip()} with {changes}." for changes, mark in marks.items() if changes]
    notes.append("Mean and standard deviation over the seeds, whose number stands in brackets.")
    notes += [f"{source.source}: {source.reference}." for source in PUBLISHED]
    return Table("Test accuracy, %", ["set", "figures", *(_COLUMNS[name] for name in recipes)], rows, notes)


def _mean_and_spread(found: Sequence[Result]) -> str:
    accuracies = [100 * result["accuracy"] for result in found]
    mean = statistics.mean(accuracies)
    if len(accuracies) == 1:
        return f"{mean:.2f}"
    return f"{mean:.2f} ± {statistics.stdev(accuracies):.2f} ({len(accuracies)})"


def _times(groups: Groups, marks: dict[str, str]) -> Table:
    rows = []
    for group, found in groups.items():
        a_row = statistics.median(result["seconds_a_row"] for result in found)
        there = None if group.changes else PUBLISHED_TIMES.get((group.recipe, group.dataset))
        of_source = "" if there is None else f"{60_000 * there.minutes / there.n_rows:.1f}"
        ratio = "" if there is None else f"{60 * there.minutes / there.n_rows / a_row:.0f}"
        rows.append(
            [
                _title(group.dataset),
                _COLUMNS[group.recipe] + marks[group.changes],
                f"{group.n_train:,}",
                f"{found[0]['n_parameters'] / 1e6:.1f}",
                f"{statistics.mean(result['epochs'] for result in found):.0f}",
                f"{a_row * group.n_train:.1f}",
                f"{1000 * a_row:.2f}",
                of_source,
                ratio,
            ]
        )
    header = ["set", "experiment", "rows", "million parameters", "epochs", "seconds", "ms a row"]
    header += ["ms a row, source", "times as fast"]
    devices = sorted({result.get("device", "cpu") for found in groups.values() for result in found})
    notes = [f"Median over the seeds of counting and training together, choices apart, on: {', '.join(devices)}."]
    if any(row[-1] for row in rows):
        notes.append(
            "The source: 397.9 minutes (hash) and 2463.5 (standard) for AG's News, 120,000 rows, on another CPU, with "
            "n-grams of 1 to 8 words by its results file."
        )
    return Table("Sizes and times", header, rows, notes)


def _choices(tried: Sequence[Result], marks: dict[str, str]) -> Table:
    rows = [
        [
            _title(result["settings"]["dataset"]),
            _COLUMNS[result["recipe"]] + marks[_changes(result)],
            str(result["seed"]),
            f"{result['parameter']} = {result['value']:,}",
            f"{100 * result['accuracy']:.2f}",
            f"{result['seconds']:.0f}",
        ]
        for result in tried
    ]
    header = ["set", "experiment", "seed", "value", "accuracy, %", "seconds"]
    return Table("Values to choose from, by cross-validation on training rows", header, rows)


HASH, STANDARD = "hash-embed-nodict", "std-embed-nodict"


def claim_table(results: Sequence[Result]) -> list[Table]:
    """Compare hash embeddings with standard ones of five times the parameters, in the source's experiments."""
    tests: dict[tuple[str, str], dict[str, dict[int, Result]]] = defaultdict(lambda: {HASH: {}, STANDARD: {}})
    for result in results:
        if result["part"] == "test" and result["recipe"] in (HASH, STANDARD):
            settings = {name: value for name, value in result["settings"].items() if name != "variant"}
            key = set_and_rows(result), json.dumps(settings, sort_keys=True)
            tests[key][result["recipe"]][result["seed"]] = result
    pairs = [
        (name, {seed: (found[HASH][seed], found[STANDARD][seed]) for seed in found[HASH] if seed in found[STANDARD]})
        for (name, _), found in tests.items()
    ]
    return compare_sizes("Hash embeddings against standard ones of five times the parameters", pairs)


def set_and_rows(result: Result) -> str:
    """Name the set of a result and the number of its training rows."""
    dataset = result["settings"]["dataset"]
    return f"{TITLES.get(dataset, dataset)}, {result['n_train']:,} rows"


def compare_sizes(title: str, sets: Iterable[tuple[str, Mapping[int, tuple[Result, Result]]]]) -> list[Table]:
    """Compare hash embeddings with standard ones, seed by seed."""
    from sklearn_hashnlp.experiments._statistics import MOST_PAIRS, compare_paired, holm_correction

    rows, p_values, n_seeds = [], [], 0
    for name, pairs in sets:
        if len(pairs) < 2:
            continue
        both = list(zip(*(pairs[seed] for seed in sorted(pairs)[:MOST_PAIRS]), strict=True))
        accuracies = [[100 * result["accuracy"] for result in results] for results in both]
        (compared,) = compare_paired(dict(zip((HASH, STANDARD), accuracies, strict=True)))
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
    rows = [[*row, f"{corrected:.3f}"] for row, corrected in zip(rows, holm_correction(p_values), strict=True)]
    header = ["set", "seeds", "hash, %", "standard, %", "difference", "95 % interval", "p", "p, corrected"]
    notes = [
        "Test accuracy, mean and standard deviation over the seeds, and the million parameters; the difference seed by "
        "seed with Student's interval, p by all flips of the differences' signs, corrected for the sets by Holm's "
        f"method. With {n_seeds} seeds p cannot be less than {2 ** (1 - n_seeds):.2g}."
    ]
    return [Table(title, header, rows, notes)]
