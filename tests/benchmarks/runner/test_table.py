"""Tables as text and as Markdown, and the table of recipes without their own report."""

from __future__ import annotations

import statistics
from typing import Any

import pytest

from benchmarks.runner.mean_table import mean_table
from benchmarks.runner.table import Table, as_markdown, as_text

TABLE = Table(
    "Accuracy",
    ["data", "measured", "by reference", "of|what"],
    [
        ["ag", "92.1 ± 0.2", "92.4 %", "9 texts"],
        ["imdb", "–", "", "words"],
        ["2 sets", "−1", "<0.1", ""],
    ],
    ["Five seeds.", "One machine."],
)


def test_numbers_are_right_aligned_in_text() -> None:
    assert as_text(TABLE) == [
        "Accuracy",
        "  data      measured  by reference  of|what",
        "  ag      92.1 ± 0.2        92.4 %  9 texts",
        "  imdb             –                words",
        "  2 sets          −1          <0.1",
        "  Five seeds.",
        "  One machine.",
    ]


def test_numbers_are_right_aligned_in_markdown() -> None:
    assert as_markdown(TABLE) == [
        "### Accuracy",
        "",
        "| data | measured | by reference | of\\|what |",
        "|---|---:|---:|---|",
        "| ag | 92.1 ± 0.2 | 92.4 % | 9 texts |",
        "| imdb | – |  | words |",
        "| 2 sets | −1 | <0.1 |  |",
        "",
        "Five seeds.",
        "",
        "One machine.",
    ]


@pytest.mark.parametrize("write", [as_text, as_markdown])
def test_a_row_of_another_length_is_refused(write: object) -> None:
    with pytest.raises(
        ValueError, match=r"row of a table must have 2 cells, as its header has, got 1: \['x'\]"
    ):
        write(Table("Short", ["a", "b"], [["x"]]))  # type: ignore[operator]


def made(seed: int, step: int, *, n: int = 1, recipe: str = "own", **values: Any) -> dict[str, Any]:
    provenance = {
        "recipe": recipe,
        "seed": seed,
        "settings": {"n": n},
        "step": step,
        "date": "2020-01-01",
    }
    return {**provenance, "commit": None, "machine": {}, "versions": {}, **values}


def test_numbers_are_means_over_seeds() -> None:
    accuracies = [0.5, 0.7, 0.9]
    results = [
        made(seed, 0, model="a", epochs=3, accuracy=x, curve=[1])
        for seed, x in enumerate(accuracies)
    ]
    results.append(made(0, 1, model="b", epochs=4, accuracy=0.25, fast=True))
    [table] = mean_table(results)
    assert table.title == "own"
    assert table.header == ["model", "fast", "epochs", "accuracy", "seeds"]  # a list is no number
    expected = f"{statistics.mean(accuracies):.4g} ± {statistics.stdev(accuracies):.2g}"
    assert table.rows == [["a", "", "3", expected, "3"], ["b", "yes", "4", "0.25", "1"]]


def test_settings_and_recipes_are_kept_apart() -> None:
    results = [made(0, 0, x=1.0), made(0, 0, n=2, x=2.0), made(0, 0, recipe="other", x=3.0)]
    own, other = mean_table(results)
    assert own.header == ["settings", "x", "seeds"]
    assert own.rows == [["n=1", "1", "1"], ["n=2", "2", "1"]]
    assert (other.title, other.rows) == ("other", [["3", "1"]])
