"""Sorted results, tables and plots of several recipes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.commands.registry import RECIPES, get_recipe
from benchmarks.commands.report import make_plots, make_tables, sort_results
from benchmarks.runner import Table


def made(recipe: str, seed: int, step: int | None = 0, value: int = 0, **settings: Any) -> dict[str, Any]:
    result = {"recipe": recipe, "seed": seed, "settings": settings, "value": value}
    return result if step is None else result | {"step": step}


def report(results: Sequence[dict[str, Any]]) -> list[Table]:
    return [Table("Both", ["recipe"], [[result["recipe"]] for result in results])]


def other_report(results: Sequence[dict[str, Any]]) -> list[Table]:
    return [Table("One", ["seed"], [[str(result["seed"])] for result in results])]


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> None:
    def plot(results: Sequence[dict[str, Any]], figure: list[Any]) -> None:
        figure.extend(result["recipe"] for result in results)

    for name, how, draw in (("a", report, plot), ("b", other_report, None), ("c", report, plot)):
        monkeypatch.setitem(RECIPES, name, replace(get_recipe("reversal"), name=name, report=how, plot=draw))


@pytest.mark.usefixtures("three")
def test_recipes_with_the_same_report_share_its_tables() -> None:
    results = [made("c", 0), made("b", 1), made("a", 0), made("b", 0)]
    tables = [Table("Both", ["recipe"], [["a"], ["c"]]), Table("One", ["seed"], [["0"], ["1"]])]
    assert make_tables(results) == make_tables(results[::-1]) == tables
    assert make_tables([]) == []


@pytest.mark.usefixtures("three")
def test_recipes_with_the_same_plot_are_drawn_together() -> None:
    [(name, draw)] = make_plots([made("c", 0), made("b", 1), made("a", 0)])
    figure: Any = []
    draw(figure)
    assert (name, figure) == ("a", ["a", "c"])


@pytest.mark.usefixtures("three")
def test_the_order_is_always_the_same() -> None:
    results = [made(*key) for key in (("b", 0), ("a", 1, 1), ("a", 1, 0), ("a", 0, 0))]
    results += [made("a", 0, size=2), made("a", 0, size=1), made("unknown", 0)]
    ordered = sort_results(results)
    assert ordered == sort_results(results[::-1])
    assert [
        (result["recipe"], result["settings"].get("size"), result["seed"], result["step"]) for result in ordered
    ] == [
        ("a", 1, 0, 0),
        ("a", 2, 0, 0),
        ("a", None, 0, 0),
        ("a", None, 1, 0),
        ("a", None, 1, 1),
        ("b", None, 0, 0),
    ]


@pytest.mark.usefixtures("three")
def test_the_last_of_duplicates_is_kept() -> None:
    assert sort_results([made("a", 0, value=1), made("a", 0, value=2)]) == [made("a", 0, value=2)]
    without_step = [made("a", 0, None, value=1), made("a", 0, None, value=2)]
    assert sort_results(without_step) == without_step
