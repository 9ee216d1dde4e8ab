"""Tables of measured and published accuracies, and plots in which everything can be read."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from matplotlib.figure import Figure

from benchmarks.commands.registry import RECIPES, get_recipe
from benchmarks.commands.report import make_plots
from benchmarks.recipes.hash_embedding_report import HASH, STANDARD, claim_table, report
from benchmarks.runner.settings import change_settings, settings_as_json
from benchmarks.runner.table import Table
from tests.plotting.readable import assert_readable


def provenance(recipe: str, dataset: str, seed: int, changes: tuple[str, ...]) -> dict[str, Any]:
    settings = change_settings(get_recipe(recipe).settings, [f"dataset={dataset}", *changes])
    return {"recipe": recipe, "seed": seed, "settings": settings_as_json(settings)}


def measured(
    recipe: str,
    dataset: str = "ag",
    seed: int = 0,
    accuracy: float = 0.9,
    *changes: str,
    **more: Any,
) -> dict[str, Any]:
    defaults = {"n_train": 1000, "n_parameters": 40_000_000, "epochs": 10, "seconds_per_row": 0.001}
    return (
        provenance(recipe, dataset, seed, changes)
        | {"part": "test", "accuracy": accuracy}
        | defaults
        | more
    )


def cross_validated(
    recipe: str, parameter: str, value: int, accuracy: float, *changes: str, seed: int = 0
) -> dict[str, Any]:
    values = {"parameter": parameter, "value": value, "accuracy": accuracy, "seconds": 12.4}
    return provenance(recipe, "ag", seed, changes) | {"part": "choice"} | values


def rows_of(table: Table) -> dict[tuple[str, str], dict[str, str]]:
    rows = {
        (row[0], row[1]): dict(zip(table.header[2:], row[2:], strict=True)) for row in table.rows
    }
    assert len(rows) == len(table.rows)
    return rows


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
        assert list(accuracies.notes[:2]) == [
            "[1] with folds=1.",
            "[2] with n_train=300, max_epochs=2.",
        ]
        assert [(row[1], row[2]) for row in times.rows] == [
            ("hash, dictionary", "2,000"),
            ("hash, dictionary", "1,000"),
            ("hash, dictionary [1]", "1,000"),
            ("standard, dictionary [1]", "1,000"),
            ("hash, dictionary [2]", "300"),
        ]
        assert choices.rows == [
            ["AG's News", "hash, dictionary [1]", "0", "n_buckets = 500", "88.00", "12"]
        ]


def test_the_published_time_is_compared_with_a_result_of_equal_ngrams() -> None:
    *_, times = report(
        [measured(HASH), measured("custom", "ag", 0, 0.9, "ngram_range=1,8", seconds_per_row=0.002)]
    )
    assert [row[-3:] for row in times.rows] == [["1.00", "", ""], ["2.00", "198.9", "99"]]


def claimed(
    recipe: str, dataset: str, seed: int, accuracy: float, **changes: Any
) -> dict[str, Any]:
    settings = {
        "dataset": dataset,
        "variant": "standard" if recipe == STANDARD else "improved",
        "max_epochs": 300,
    }
    size = 200_000_084 if recipe == STANDARD else 40_000_092
    measured = {"part": "test", "accuracy": accuracy, "n_train": 1000, "n_parameters": size}
    return {"recipe": recipe, "seed": seed, "settings": settings | changes, **measured}


def test_seeds_are_paired_and_sets_corrected() -> None:
    results = [claimed(HASH, "ag", seed, 0.90 + seed / 1000) for seed in (4, 3, 2, 1, 0)]
    results += [claimed(STANDARD, "ag", seed, 0.89 + seed / 1000) for seed in range(5)]
    results += [claimed(HASH, "mine", seed, 0.8) for seed in range(3)]
    results += [
        claimed(STANDARD, "mine", seed, accuracy) for seed, accuracy in enumerate((0.81, 0.79, 0.5))
    ]
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


def test_unpaired_results_are_excluded() -> None:
    assert claim_table([]) == []
    alone = [claimed(HASH, "ag", seed, 0.9) for seed in range(3)]
    assert (
        claim_table([*alone, claimed(STANDARD, "ag", 7, 0.9), claimed(STANDARD, "ag", 0, 0.9)])
        == []
    )
    others = [claimed(STANDARD, "ag", seed, 0.9, max_epochs=2) for seed in range(3)]
    assert claim_table([*alone, *others]) == []
    tried = [claimed(STANDARD, "ag", seed, 0.9) | {"part": "choice"} for seed in range(3)]
    assert claim_table([*alone, *tried]) == []


def test_the_claim_is_tested_on_the_first_twenty_seeds() -> None:
    results = [
        claimed(name, "ag", seed, 0.9 if seed < 20 else 0.1)
        for name in (HASH, STANDARD)
        for seed in range(23)
    ]
    (table,) = claim_table(results)
    assert table.rows[0][1:3] == ["20", "90.00 ± 0.00 (40 M)"]


def quick_results(recipes: list[str], names: list[str]) -> list[dict[str, Any]]:
    """Return results as of ``python -m benchmarks run --quick``."""
    return [
        {
            "recipe": recipe,
            "seed": seed,
            "step": 0,
            "part": "test",
            "accuracy": 0.8 + seed / 100,
            "n_train": 300,
            "settings": asdict(RECIPES[recipe].quick) | {"dataset": name},
        }
        for recipe in recipes
        for name in names
        for seed in (0, 1)
    ]


@pytest.mark.parametrize(
    "recipes",
    [
        ["custom"],
        ["hash-embed-nodict", "std-embed-dict", "hash-embed-dict", "ensemble-hash-embed-dict"],
    ],
)
def test_labels_and_legend_of_the_plot_do_not_overlap(recipes: list[str]) -> None:
    [(_, draw)] = make_plots(quick_results(recipes, ["ag", "imdb"]))
    figure = Figure(layout="constrained")
    draw(figure)
    assert_readable(figure)
    [legend] = figure.legends
    box = legend.get_window_extent()
    assert legend.get_frame_on()
    assert not any(box.overlaps(ax.get_tightbbox()) for ax in figure.axes)
