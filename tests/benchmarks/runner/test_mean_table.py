"""The table of recipes without a report of their own."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.runner.mean_table import mean_table


def made(seed: int, step: int, *, n: int = 1, recipe: str = "own", **values: Any) -> dict[str, Any]:
    provenance = {"recipe": recipe, "seed": seed, "settings": {"n": n}, "step": step, "date": "2020-01-01"}
    return {**provenance, "commit": None, "machine": {}, "versions": {}, **values}


def test_numbers_are_means_over_seeds() -> None:
    accuracies = [0.5, 0.7, 0.9]
    results = [made(seed, 0, model="a", epochs=3, accuracy=x, curve=[1]) for seed, x in enumerate(accuracies)]
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


def test_a_number_that_a_result_lacks_is_empty() -> None:
    [table] = mean_table([made(0, 0, x=1.5), made(0, 1, y=2)])
    assert table.rows == [["1.5", "", "1"], ["", "2", "1"]]


def test_what_is_a_number_in_one_result_and_a_boolean_in_another_is_left_out() -> None:
    [table] = mean_table([made(0, 0, x=True), made(0, 1, x=2), made(0, 2, y=1)])
    assert table.header == ["y", "seeds"]
