"""The hash-embedding paper's table with this package's figures in it, as tables and as a picture."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sklearn_hashnlp.experiments._hash_embedding_settings import SETTINGS
from sklearn_hashnlp.experiments._parameter_claim import claim_table
from sklearn_hashnlp.experiments._published_hash_embeddings import PUBLISHED, PUBLISHED_TIMES, TITLES
from sklearn_hashnlp.experiments._recipe import Result
from sklearn_hashnlp.experiments._table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLUMNS = {
    "hash-embed-nodict": "hash, no dictionary",
    "std-embed-nodict": "standard, no dictionary",
    "hash-embed-dict": "hash, dictionary",
    "std-embed-dict": "standard, dictionary",
    "ensemble-hash-embed-dict": "ensemble, dictionary",
    "custom": "custom",
}
_PLAIN = {"dataset", "data", "device"}  # settings that are no change of an experiment

Group = tuple[str, str, str]  # the experiment, the set, and the settings as JSON


def report(results: Sequence[Result]) -> list[Table]:
    """Set results beside what was published.

    Parameters
    ----------
    results : sequence of dict
        Of the six experiments.

    Returns
    -------
    list of Table
        Accuracies; the paper's claim over seeds; times and sizes; and, where values were chosen, what was tried.
    """
    groups = _groups(results)
    tables = [_accuracies(groups), *claim_table(results), _times(groups)] if groups else []
    tried = [result for result in results if result["part"] == "choice"]
    return [*tables, _choices(tried)] if tried else tables


def plot(results: Sequence[Result], figure: Figure) -> None:
    """Draw measured accuracies beside published ones, a panel a set.

    Parameters
    ----------
    results : sequence of dict
        Of the six experiments.
    figure : Figure
        Empty.
    """
    groups = _groups(results)
    names = sorted({dataset for _, dataset, _ in groups}, key=_order)
    for ax, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        labels = []
        for (experiment, dataset, settings), found in groups.items():
            if dataset != name:
                continue
            labels.append(f"{_COLUMNS[experiment]}\n{_changes(experiment, settings)}".strip())
            place = -len(labels)
            accuracies = [100 * result["accuracy"] for result in found]
            ax.plot(accuracies, [place] * len(accuracies), "o", color="C0", alpha=0.6, label="here, a dot a seed")
            for source, marker in zip(PUBLISHED, ("s", "D"), strict=True):
                if (figure_there := source.accuracies.get(experiment, {}).get(dataset)) is not None:
                    ax.plot(figure_there, place, marker, color="C1", fillstyle="none", label=source.source)
        ax.set_yticks([-place for place in range(1, len(labels) + 1)], labels)
        ax.set_ylim(-len(labels) - 0.5, -0.5)
        ax.set_title(_title(name))
        ax.set_xlabel("test accuracy, %")
        ax.grid(axis="x", alpha=0.3)
        handles = dict(reversed(list(zip(*reversed(ax.get_legend_handles_labels()), strict=True))))
        ax.legend(handles.values(), handles.keys(), frameon=False)


def _groups(results: Iterable[Result]) -> dict[Group, list[Result]]:
    """Sort what was tested by experiment, set and settings; the seeds of each stand together."""
    groups = defaultdict(list)
    for result in results:
        if result["part"] == "test":
            settings = {name: value for name, value in result["settings"].items() if name not in _PLAIN}
            groups[result["recipe"], result["settings"]["dataset"], json.dumps(settings, sort_keys=True)].append(result)
    return {
        key: groups[key]
        for key in sorted(groups, key=lambda key: (_order(key[1]), list(_COLUMNS).index(key[0]), key[2]))
    }


def _order(dataset: str) -> tuple[int, str]:
    return (list(TITLES).index(dataset) if dataset in TITLES else len(TITLES), dataset)


def _title(dataset: str) -> str:
    return TITLES.get(dataset, dataset)


def _changes(experiment: str, settings: str) -> str:
    """Say what differs from the experiment's own settings."""
    usual = json.loads(json.dumps(vars(SETTINGS[experiment])))
    return ", ".join(
        f"{name}={_text(value)}" for name, value in json.loads(settings).items() if usual.get(name) != value
    )


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _accuracies(groups: dict[Group, list[Result]]) -> Table:
    experiments = [name for name in _COLUMNS if any(experiment == name for experiment, _, _ in groups)]
    rows, notes = [], []
    sizes = sorted(
        {(dataset, result["n_train"]) for (_, dataset, _), found in groups.items() for result in found},
        key=lambda size: (_order(size[0]), -size[1]),
    )
    for dataset, n_train in sizes:
        cells = {
            name: " / ".join(_mean_and_spread(found) for _, found in _of(groups, name, dataset, n_train))
            for name in experiments
        }
        rows.append([_title(dataset), f"here, {n_train:,} rows", *cells.values()])
        for source in PUBLISHED:
            there = [source.accuracies.get(name, {}).get(dataset) for name in experiments]
            if any(there) and (dataset, n_train) == next(size for size in sizes if size[0] == dataset):
                rows.append([_title(dataset), source.source, *("" if one is None else f"{one:.1f}" for one in there)])
    for (experiment, dataset, settings), found in groups.items():
        if changes := _changes(experiment, settings):
            notes.append(f"{experiment} on {_title(dataset)}, {_seeds(found)}, with {changes}.")
    notes.append("Mean and standard deviation over the seeds, whose number stands in brackets.")
    notes += [f"{source.source}: {source.reference}." for source in PUBLISHED]
    return Table("Test accuracy, %", ["set", "figures", *(_COLUMNS[name] for name in experiments)], rows, notes)


def _of(
    groups: dict[Group, list[Result]], experiment: str, dataset: str, n_train: int
) -> Iterator[tuple[Group, list[Result]]]:
    for key, found in groups.items():
        if key[:2] == (experiment, dataset) and found[0]["n_train"] == n_train:
            yield key, found


def _mean_and_spread(found: Sequence[Result]) -> str:
    accuracies = [100 * result["accuracy"] for result in found]
    mean = statistics.mean(accuracies)
    if len(accuracies) == 1:
        return f"{mean:.2f}"
    return f"{mean:.2f} ± {statistics.stdev(accuracies):.2f} ({len(accuracies)})"


def _seeds(found: Sequence[Result]) -> str:
    return "one seed" if len(found) == 1 else f"{len(found)} seeds"


def _times(groups: dict[Group, list[Result]]) -> Table:
    rows = []
    for (experiment, dataset, _), found in groups.items():
        a_row = statistics.median(result["seconds_a_row"] for result in found)
        there = PUBLISHED_TIMES.get((experiment, dataset))
        of_source = "" if there is None else f"{60_000 * there.minutes / there.n_rows:.1f}"
        ratio = "" if there is None else f"{60 * there.minutes / there.n_rows / a_row:.0f}"
        rows.append(
            [
                _title(dataset),
                _COLUMNS[experiment],
                f"{found[0]['n_parameters'] / 1e6:.1f}",
                f"{statistics.mean(result['epochs'] for result in found):.0f}",
                f"{a_row * found[0]['n_train']:.1f}",
                f"{1000 * a_row:.2f}",
                of_source,
                ratio,
            ]
        )
    header = ["set", "experiment", "million parameters", "epochs", "seconds", "ms a row", "ms a row, source", "ratio"]
    notes = ["Median over the seeds of counting and training together, choices apart, on a CPU."]
    if any(row[-1] for row in rows):
        notes.append(
            "The source: 397.9 minutes (hash) and 2463.5 (standard) for AG's News, 120,000 rows, on another CPU, with "
            "n-grams of 1 to 8 words by its results file."
        )
    return Table("Sizes and times", header, rows, notes)


def _choices(tried: Sequence[Result]) -> Table:
    rows = [
        [
            _title(result["settings"]["dataset"]),
            _COLUMNS[result["recipe"]],
            str(result["seed"]),
            f"{result['parameter']} = {result['value']:,}",
            f"{100 * result['accuracy']:.2f}",
            f"{result['seconds']:.0f}",
        ]
        for result in tried
    ]
    header = ["set", "experiment", "seed", "value", "accuracy, %", "seconds"]
    return Table("Values to choose from, by cross-validation on training rows", header, rows)
