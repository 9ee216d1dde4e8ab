"""Tables and plots of measured and published accuracies."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.figure import Figure

from benchmarks.commands.registry import get_recipe
from benchmarks.recipes.hash_embedding_report import HASH, STANDARD, claim_table, plot, report
from benchmarks.runner.settings import change_settings, settings_as_json
from benchmarks.runner.table import Table, as_markdown, as_text

# From the tables in the README of the reference, row by row.
PAPER = """
AG's News              | 92.4 | 92.0 | 91.5 | 91.7 | 92.0
Amazon Review Full     | 60.0 | 58.3 | 59.4 | 58.5 | 60.5
DBpedia                | 98.5 | 98.6 | 98.7 | 98.6 | 98.8
Yahoo! Answers         | 72.3 | 72.3 | 71.3 | 65.8 | 72.9
Yelp Review Full       | 63.8 | 62.6 | 62.6 | 61.4 | 62.9
Amazon Review Polarity | 94.4 | 94.2 | 94.7 | 93.6 | 94.7
Yelp Review Polarity   | 95.9 | 95.5 | 95.8 | 95.0 | 95.7
"""
REPRODUCTION = """
AG's News              | 92.1 | 91.9
Amazon Review Full     | 59.1 | 58.8
DBpedia                | 98.7 | 98.5
Yahoo! Answers         | 72.9 | 73.1
Yelp Review Full       | 62.5 | 62.1
Amazon Review Polarity | 94.3 | 94.2
Yelp Review Polarity   | 95.8 | 95.6
"""
SETS = {
    "ag": "AG's News",
    "amazon": "Amazon Review Full",
    "dbpedia": "DBpedia",
    "yahoo": "Yahoo! Answers",
    "yelp": "Yelp Review Full",
    "amazon-polarity": "Amazon Review Polarity",
    "yelp-polarity": "Yelp Review Polarity",
    "sogou": "Sogou News",
}
COLUMNS = {
    "hash-embed-nodict": "hash, no dictionary",
    "std-embed-nodict": "standard, no dictionary",
    "hash-embed-dict": "hash, dictionary",
    "std-embed-dict": "standard, dictionary",
    "ensemble-hash-embed-dict": "ensemble, dictionary",
}


def provenance(recipe: str, dataset: str, seed: int, changes: tuple[str, ...]) -> dict[str, Any]:
    settings = change_settings(get_recipe(recipe).settings, [f"dataset={dataset}", *changes])
    return {"recipe": recipe, "seed": seed, "settings": settings_as_json(settings)}


def measured(
    recipe: str, dataset: str = "ag", seed: int = 0, accuracy: float = 0.9, *changes: str, **more: Any
) -> dict[str, Any]:
    defaults = {"n_train": 1000, "n_parameters": 40_000_000, "epochs": 10, "seconds_per_row": 0.001}
    return provenance(recipe, dataset, seed, changes) | {"part": "test", "accuracy": accuracy} | defaults | more


def cross_validated(
    recipe: str, parameter: str, value: int, accuracy: float, *changes: str, seed: int = 0
) -> dict[str, Any]:
    values = {"parameter": parameter, "value": value, "accuracy": accuracy, "seconds": 12.4}
    return provenance(recipe, "ag", seed, changes) | {"part": "choice"} | values


def test_published_accuracies_are_printed_beside_runs_of_all_rows_alone() -> None:
    results = [measured(HASH, "ag", 0, 0.9, "n_train=500"), measured(STANDARD, "ag", 0, 0.9, "n_test=500")]
    assert [row[1] for row in report(results)[0].rows] == ["this package, 1,000 rows"]
    figure = Figure()
    plot(results, figure)
    assert {line.get_label() for line in figure.axes[0].lines} == {"this package, one dot per seed"}


def rows_of(table: Table) -> dict[tuple[str, str], dict[str, str]]:
    rows = {(row[0], row[1]): dict(zip(table.header[2:], row[2:], strict=True)) for row in table.rows}
    assert len(rows) == len(table.rows)
    return rows


def lines_of(text: str) -> dict[str, list[str]]:
    rows = [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]
    return {name: figures for name, *figures in rows}


def test_nothing_is_reported_of_nothing() -> None:
    assert report([]) == []
    figure = Figure()
    plot([], figure)
    assert figure.axes == []


def test_all_published_accuracies_are_in_their_columns() -> None:
    results = [measured(recipe, dataset) for dataset in SETS for recipe in COLUMNS]
    table = report(results)[0]
    assert list(table.header) == ["dataset", "results", *COLUMNS.values()]
    assert list(dict.fromkeys(row[0] for row in table.rows)) == list(SETS.values())
    rows = rows_of(table)
    for name, figures in lines_of(PAPER).items():
        assert list(rows[name, "paper"].values()) == figures
    for name, figures in lines_of(REPRODUCTION).items():
        assert list(rows[name, "PyTorch reproduction"].values()) == [*figures, "", "", ""]
    assert len(table.rows) == 7 * 3 + 1  # nothing was published for Sogou News
    assert all(cell == "90.00" for row in table.rows for cell in row[2:] if row[1].startswith("this package"))
    assert any("Svenstrup" in note for note in table.notes)


def test_seeds_are_averaged() -> None:
    results = [measured("hash-embed-nodict", seed=seed, accuracy=accuracy) for seed, accuracy in enumerate((0.9, 0.92))]
    results += [measured("std-embed-dict", accuracy=0.8123)]
    accuracies, times = report(results)
    measured_row = rows_of(accuracies)["AG's News", "this package, 1,000 rows"]
    assert measured_row == {"hash, no dictionary": "91.00 ± 1.41 (2)", "standard, dictionary": "81.23"}
    assert rows_of(accuracies)["AG's News", "paper"] == {"hash, no dictionary": "92.4", "standard, dictionary": "91.7"}
    assert len(times.rows) == 2
    assert not any(note.startswith("[") for note in accuracies.notes)


def test_results_of_other_settings_and_rows_have_cells_of_their_own() -> None:
    quick = ("max_epochs=2", "n_train=300")
    results = [
        measured("hash-embed-dict", "ag", 0, 0.5, *quick, n_train=300),
        measured("hash-embed-dict", "ag", 0, 0.91, "folds=1"),
        measured("hash-embed-dict", "ag", 1, 0.93, "folds=1"),
        measured("hash-embed-dict", "ag", 0, 0.9),
        measured("hash-embed-dict", "ag", 1, 0.8, n_train=2000),  # another file of the same name
        cross_validated("hash-embed-dict", "n_buckets", 500, 0.88, "folds=1"),
        measured("std-embed-dict", "ag", 0, 0.7, "folds=1"),
    ]
    for order in (results, results[::-1]):
        accuracies, times, choices = report(order)
        rows = rows_of(accuracies)
        assert list(rows) == [
            ("AG's News", "this package, 2,000 rows"),
            ("AG's News", "paper"),
            ("AG's News", "this package, 1,000 rows"),
            ("AG's News", "this package, 300 rows"),
        ]
        assert rows["AG's News", "this package, 2,000 rows"]["hash, dictionary"] == "80.00"
        assert rows["AG's News", "this package, 1,000 rows"] == {
            "hash, dictionary": "90.00 / 92.00 ± 1.41 (2) [1]",
            "standard, dictionary": "70.00 [1]",
        }
        assert rows["AG's News", "this package, 300 rows"] == {
            "hash, dictionary": "50.00 [2]",
            "standard, dictionary": "",
        }
        assert list(accuracies.notes[:2]) == ["[1] with folds=1.", "[2] with n_train=300, max_epochs=2."]
        assert [(row[1], row[2]) for row in times.rows] == [
            ("hash, dictionary", "2,000"),
            ("hash, dictionary", "1,000"),
            ("hash, dictionary [1]", "1,000"),
            ("standard, dictionary [1]", "1,000"),
            ("hash, dictionary [2]", "300"),
        ]
        assert choices.rows == [["AG's News", "hash, dictionary [1]", "0", "n_buckets = 500", "88.00", "12"]]


def test_unfinished_runs_show_what_they_have() -> None:
    results = [
        cross_validated("hash-embed-dict", "n_buckets", 500, 0.88),
        cross_validated("hash-embed-dict", "n_buckets", 10_000, 0.9),
        measured("ensemble-hash-embed-dict") | {"part": "member", "member": 0},
    ]
    (choices,) = report(results)
    assert [row[3:5] for row in choices.rows] == [["n_buckets = 500", "88.00"], ["n_buckets = 10,000", "90.00"]]
    assert report(results[2:]) == []
    figure = Figure()
    plot(results, figure)
    assert figure.axes == []


def test_times_are_reported_with_those_of_the_reference() -> None:
    results = [
        measured("hash-embed-nodict", seed=seed, seconds_per_row=seconds, epochs=epochs)
        for seed, (seconds, epochs) in enumerate([(0.001, 10), (0.002, 20), (0.9, 60)])
    ]
    results += [measured("std-embed-nodict", n_parameters=200_000_000, seconds_per_row=0.004)]
    results += [measured("hash-embed-nodict", "imdb"), measured("hash-embed-nodict", "ag", 0, 0.5, "max_epochs=2")]
    results += [measured("custom")]
    times = next(table for table in report(results) if table.title == "Sizes and times")
    rows = {(row[0], row[1]): dict(zip(times.header[2:], row[2:], strict=True)) for row in times.rows}
    # 397.9 and 2463.5 minutes for 120,000 rows
    assert rows["AG's News", "hash, no dictionary"] == {
        "rows": "1,000",
        "million parameters": "40.0",
        "epochs": "30",
        "seconds": "2.0",
        "ms per row": "2.00",
        "ms per row, reference": f"{397.9 * 60 / 120:.1f}",
        "speed-up": f"{397.9 * 60 / 120 / 2:.0f}",
    }
    standard = rows["AG's News", "standard, no dictionary"]
    assert (standard["ms per row, reference"], standard["speed-up"]) == ("1231.8", "308")
    assert standard["million parameters"] == "200.0"
    for other in (("imdb", "hash, no dictionary"), ("AG's News", "hash, no dictionary [1]"), ("AG's News", "custom")):
        assert (rows[other]["ms per row, reference"], rows[other]["speed-up"]) == ("", "")
    assert any("397.9 minutes" in note and "2463.5" in note for note in times.notes)
    alone = report([measured("hash-embed-nodict", "imdb")])[-1]
    assert not any("397.9" in note for note in alone.notes)


def test_a_claim_is_made_of_two_seeds() -> None:
    results = [measured(name, seed=seed) for name in ("hash-embed-nodict", "std-embed-nodict") for seed in (0, 1)]
    titles = [table.title for table in report(results)]
    assert titles == [
        "Test accuracy, %",
        "Hash embeddings vs. standard embeddings with five times the parameters",
        *titles[2:],
    ]
    assert len(report(results[:3])) == 2


def test_any_name_of_a_dataset_makes_a_table() -> None:
    name = "/a/folder/with a | and a very long name/" + "x" * 80
    tables = report([measured("custom", name), measured("custom", "ag")])
    assert [row[0] for row in tables[0].rows] == ["AG's News", name]
    for table in tables:
        assert len({len(line) for line in as_text(table)[1 : 2 + len(table.rows)]}) <= 2
        assert all(line.replace("\\|", "").count("|") == len(table.header) + 1 for line in as_markdown(table)[2:5])


def points(figure: Figure, panel: int) -> set[tuple[str, float, str]]:
    """Return each point of a panel: its row's label, the accuracy, and its label in the legend."""
    ax = figure.axes[panel]
    labels = figure.axes[0].get_yticklabels()  # those of the first panel are those of all
    rows = dict(zip(ax.get_yticks(), (label.get_text() for label in labels), strict=True))
    return {
        (rows[y], round(float(x), 6), str(line.get_label()))
        for line in ax.get_lines()
        for x, y in line.get_xydata()
        if y in rows
    }


def test_each_seed_is_a_dot_beside_the_published_accuracies() -> None:
    results = [measured("hash-embed-nodict", seed=seed, accuracy=0.9 + seed / 100) for seed in range(3)]
    results += [measured("std-embed-dict", "ag", 0, 0.8, "folds=1"), measured("custom", "imdb", 0, 0.7)]
    figure = Figure(layout="constrained")
    plot(results, figure)
    assert [ax.get_title() for ax in figure.axes] == ["AG's News", "imdb"]
    assert points(figure, 0) == {
        *(("hash, no dictionary", accuracy, "this package, one dot per seed") for accuracy in (90, 91, 92)),
        ("hash, no dictionary", 92.4, "paper"),
        ("hash, no dictionary", 92.1, "PyTorch reproduction"),
        ("standard, dictionary\nfolds=1", 80, "this package, one dot per seed"),
        ("standard, dictionary\nfolds=1", 91.7, "paper"),
    }
    assert points(figure, 1) == {("custom", 70, "this package, one dot per seed")}
    [legend] = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "this package, one dot per seed",
        "paper",
        "PyTorch reproduction",
    ]
    low, high = figure.axes[0].get_ylim()
    assert low > high  # the first row is the uppermost


@pytest.mark.parametrize("n_sets", [1, 3])
def test_a_picture_is_large_enough(n_sets: int) -> None:
    quick = settings_as_json(get_recipe("hash-embed-dict").quick)
    changes = [f"{name}={quick[name]}" for name in ("n_embeddings", "embedding_dim", "folds", "max_epochs", "n_train")]
    results = [measured(name, f"set{number}", 0, 0.9, *changes) for name in COLUMNS for number in range(n_sets)]
    figure = Figure(layout="constrained")
    plot(results, figure)
    figure.draw_without_rendering()  # it warns where there is no room
    assert all(ax.get_position().width * n_sets > 0.3 for ax in figure.axes)
    assert figure.get_figheight() > 0.5 * len(COLUMNS)


def claimed(recipe: str, dataset: str, seed: int, accuracy: float, **changes: Any) -> dict[str, Any]:
    settings = {"dataset": dataset, "variant": "standard" if recipe == STANDARD else "improved", "max_epochs": 300}
    size = 200_000_084 if recipe == STANDARD else 40_000_092
    measured = {"part": "test", "accuracy": accuracy, "n_train": 1000, "n_parameters": size}
    return {"recipe": recipe, "seed": seed, "settings": settings | changes, **measured}


def test_seeds_are_paired_and_sets_corrected() -> None:
    results = [claimed(HASH, "ag", seed, 0.90 + seed / 1000) for seed in (4, 3, 2, 1, 0)]
    results += [claimed(STANDARD, "ag", seed, 0.89 + seed / 1000) for seed in range(5)]
    results += [claimed(HASH, "mine", seed, 0.8) for seed in range(3)]
    results += [claimed(STANDARD, "mine", seed, accuracy) for seed, accuracy in enumerate((0.81, 0.79, 0.5))]
    (table,) = claim_table(results)
    ag, mine = table.rows
    assert ag == [
        "AG's News, 1,000 rows",
        "5",
        "90.20 ± 0.16 (40 M)",
        "89.20 ± 0.16 (200 M)",
        "+1.00",
        "+1.00 to +1.00",
        "0.062",
        "0.125",
    ]
    assert mine[:2] == ["mine, 1,000 rows", "3"]
    assert mine[4] == "+10.00"


def test_what_cannot_be_paired_is_left_out() -> None:
    assert claim_table([]) == []
    alone = [claimed(HASH, "ag", seed, 0.9) for seed in range(3)]
    assert claim_table([*alone, claimed(STANDARD, "ag", 7, 0.9), claimed(STANDARD, "ag", 0, 0.9)]) == []
    others = [claimed(STANDARD, "ag", seed, 0.9, max_epochs=2) for seed in range(3)]
    assert claim_table([*alone, *others]) == []
    tried = [claimed(STANDARD, "ag", seed, 0.9) | {"part": "choice"} for seed in range(3)]
    assert claim_table([*alone, *tried]) == []


def test_the_claim_is_tested_on_the_first_twenty_seeds() -> None:
    results = [claimed(name, "ag", seed, 0.9 if seed < 20 else 0.1) for name in (HASH, STANDARD) for seed in range(23)]
    (table,) = claim_table(results)
    assert table.rows[0][1:3] == ["20", "90.00 ± 0.00 (40 M)"]
