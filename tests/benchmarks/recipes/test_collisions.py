"""The recipe ``collisions``: it runs, repeats, resumes, and reports counts that contradict the
formula.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.recipes.collisions import recipe
from benchmarks.recipes.collisions.recipe import COLLISIONS, CollisionsSettings
from benchmarks.recipes.collisions.report import parse_sizes, reference_bound
from benchmarks.runner import run_recipe

SMALL = replace(
    COLLISIONS.quick,
    tables=("20:6:2", "30:40:1"),
    words=(40, 80),
    column_words=(3000,),
    examples=("1000000000:10000000:1000000:2", "80:20:6:2"),
    pairs=200,
)


def run(
    settings: CollisionsSettings = SMALL, seed: int = 0, **arguments: Any
) -> list[dict[str, Any]]:
    # As they are read from a file.
    results = list(run_recipe(COLLISIONS, settings=settings, seed=seed, **arguments))
    return [json.loads(json.dumps(result, allow_nan=False)) for result in results]


@pytest.fixture(scope="module")
def whole() -> list[dict[str, Any]]:
    return run()


@pytest.fixture(scope="module")
def other_seed() -> list[dict[str, Any]]:
    return run(seed=1)


def without_times(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in result.items() if key not in ("seconds", "date")}
        for result in results
    ]


def cells(results: list[dict[str, Any]], title: str) -> dict[tuple[str, ...], dict[str, str]]:
    """Return the rows of a table by their first three cells, as mappings from the header."""
    (table,) = (table for table in COLLISIONS.report(results) if table.title.startswith(title))
    return {tuple(row[:3]): dict(zip(table.header, row, strict=True)) for row in table.rows}


def test_it_runs_to_the_end_and_repeats(
    whole: list[dict[str, Any]], other_seed: list[dict[str, Any]]
) -> None:
    progress: list[tuple[int, int]] = []
    results = run(progress=lambda done, total: progress.append((done, total)))
    assert len(results) == COLLISIONS.n_results(SMALL) == 2 * 2 * 2 + 1 + 2
    assert [result["step"] for result in results] == list(range(11))
    assert progress == [(number, 11) for number in range(12)]
    assert without_times(whole) == without_times(results)
    assert without_times(other_seed) != without_times(results)


def test_it_resumes_after_previous_results(whole: list[dict[str, Any]]) -> None:
    assert without_times(run(previous=whole[:7])) == without_times(whole[7:])


def test_counts_are_consistent_with_the_formula(whole: list[dict[str, Any]]) -> None:
    tables = COLLISIONS.report(whole)
    assert [len(table.rows) for table in tables[:3]] == [8, 8, 1]
    for table in tables[:3]:
        column = list(table.header).index("consistent")
        assert {row[column] for row in table.rows} == {"yes"}
        assert f"consistent with the formula in all {len(table.rows)} rows" in table.notes[0]
    row = cells(whole, "Colliding pairs of words: same embedding")["improved", "20:6:2", "80"]
    shared = next(result for result in whole if result["n_words"] == 80)["shared"]["embedding"]
    assert float(row["expected"]) == pytest.approx(80 * 79 / 2 / (20 * 36), rel=0.005)
    assert float(row["counted"]) == pytest.approx(shared["pairs"] / shared["n_trials"], rel=0.005)


def test_counts_that_contradict_the_formula_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    probability = recipe.pair_probability

    def wrong(variant: str, requested: str, sizes: Any) -> float:
        return probability(variant, requested, sizes) * (1.2 if requested == "embedding" else 1.0)

    monkeypatch.setattr(recipe, "pair_probability", wrong)
    tables = COLLISIONS.report(run(replace(SMALL, pairs=2000, column_words=())))
    table = next(table for table in tables if "same embedding" in table.title)
    column = list(table.header).index("consistent")
    assert "NO" in {row[column] for row in table.rows}
    assert "NOT consistent" in table.notes[0]


@pytest.mark.parametrize(
    "text", ["", "500:30", "500:30:2:1", "500:30:x", "1:30:2", "500:1:2", "500:30:0", "500:30:31"]
)
def test_invalid_sizes_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"n:B:k, such as 500:30:2, .* got '{text}'"):
        parse_sizes(text)


def test_the_upper_bounds_are_those_of_the_reference() -> None:
    great, small = parse_sizes("10000000:1000000:2"), parse_sizes("500:30:2")
    assert reference_bound("improved", 10**9, great) == pytest.approx(0.0010, abs=5e-5)
    assert reference_bound("paper", 10**9, great) == pytest.approx(1)
    assert reference_bound("improved", 4000, small) == pytest.approx(0.988, abs=5e-4)
