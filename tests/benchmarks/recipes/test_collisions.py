"""The recipe ``collisions``: it runs, repeats, resumes, and reports counts that contradict the formula."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from matplotlib.figure import Figure

from benchmarks.recipes import collisions
from benchmarks.recipes.collisions import COLLISIONS, CollisionsSettings
from benchmarks.runner import run_recipe

SMALL = replace(
    COLLISIONS.quick,
    tables=("20:6:2", "30:40:1"),
    words=(40, 80),
    column_words=(3000,),
    examples=("1000000000:10000000:1000000:2", "80:20:6:2"),
    pairs=200,
)


def run(settings: CollisionsSettings = SMALL, seed: int = 0, **arguments: Any) -> list[dict[str, Any]]:
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
    return [{key: value for key, value in result.items() if key not in ("seconds", "date")} for result in results]


def cells(results: list[dict[str, Any]], title: str) -> dict[tuple[str, ...], dict[str, str]]:
    """Return the rows of a table by their first three cells, as mappings from the header."""
    (table,) = (table for table in COLLISIONS.report(results) if table.title.startswith(title))
    return {tuple(row[:3]): dict(zip(table.header, row, strict=True)) for row in table.rows}


def test_it_runs_to_the_end_and_repeats(whole: list[dict[str, Any]], other_seed: list[dict[str, Any]]) -> None:
    progress: list[tuple[int, int]] = []
    results = run(progress=lambda done, total: progress.append((done, total)))
    assert len(results) == COLLISIONS.n_results(SMALL) == 2 * 2 * 2 + 1 + 2
    assert [result["step"] for result in results] == list(range(11))
    assert progress == [(number, 11) for number in range(12)]
    assert without_times(whole) == without_times(results)
    assert without_times(other_seed) != without_times(results)
    assert all(shared["p_value"] > 1e-5 for result in results for shared in result.get("shared", {}).values())


def test_it_resumes_after_previous_results(whole: list[dict[str, Any]]) -> None:
    for length in (1, 7, 11):
        assert without_times(run(previous=whole[:length])) == without_times(whole[length:])


def test_a_row_does_not_depend_on_the_other_rows(whole: list[dict[str, Any]]) -> None:
    fewer = run(replace(SMALL, tables=("30:40:1",), words=(80,)))
    [expected] = [
        result
        for result in whole
        if (result.get("variant"), result.get("tables"), result["n_words"]) == ("paper", "30:40:1", 80)
    ]
    assert fewer[1]["variant"] == "paper"
    assert fewer[1]["shared"] == expected["shared"]


def test_rows_have_random_numbers_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn_hashnlp.inspection import _collision_counts

    count, drawn = _collision_counts.count_in_embedding, []

    def remember(variant: str, sizes: Any, n_words: int, n_trials: int, sequence: Any) -> Any:
        drawn.append(tuple(sequence.generate_state(4).tolist()))
        return count(variant, sizes, n_words, n_trials, sequence)

    monkeypatch.setattr(_collision_counts, "count_in_embedding", remember)
    run()
    run(seed=1)
    assert len(set(drawn)) == len(drawn) == 16


def test_the_report_says_that_counts_are_consistent_with_the_formula(whole: list[dict[str, Any]]) -> None:
    tables = COLLISIONS.report(whole)
    assert [len(table.rows) for table in tables[:4]] == [8, 4, 8, 1]
    for table in tables[:4]:
        column = list(table.header).index("consistent")
        assert {row[column] for row in table.rows} == {"yes"}
        assert f"consistent with the formula in all {len(table.rows)} rows" in table.notes[0]
    row = cells(whole, "Colliding pairs of words: same embedding")["improved", "20:6:2", "80"]
    shared = next(result for result in whole if result["n_words"] == 80)["shared"]["embedding"]
    assert float(row["expected"]) == pytest.approx(80 * 79 / 2 / (20 * 36), rel=0.005)
    assert float(row["counted"]) == pytest.approx(shared["pairs"] / shared["n_trials"], rel=0.005)


@pytest.mark.parametrize("kind", ["embedding", "any order", "components"])
def test_the_report_says_where_they_are_not(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    probability = collisions.pair_probability

    def wrong(variant: str, requested: str, sizes: Any) -> float:
        return probability(variant, requested, sizes) * (1.2 if requested == kind else 1.0)

    monkeypatch.setattr(collisions, "pair_probability", wrong)
    table = next(
        table
        for table in COLLISIONS.report(run(replace(SMALL, pairs=2000, column_words=())))
        if {"embedding": "same embedding", "any order": "any order", "components": "words: same components"}[kind]
        in table.title
    )
    column = list(table.header).index("consistent")
    assert "NO" in {row[column] for row in table.rows}
    assert "NOT consistent" in table.notes[0]


def test_dependent_hash_functions_are_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn_hashnlp.inspection import _collision_counts

    constants = _collision_counts.hash_constants
    monkeypatch.setattr(_collision_counts, "hash_constants", lambda seed, n: constants(seed, 1) * n)
    (table, *_) = COLLISIONS.report(run())
    assert "NOT consistent" in table.notes[0]


def test_the_trials_of_seeds_are_added_and_those_of_settings_are_not(
    whole: list[dict[str, Any]], other_seed: list[dict[str, Any]]
) -> None:
    alone = cells(whole, "Colliding pairs of words: same components")["paper", "20:6:2", "40"]
    both = cells(whole + other_seed, "Colliding pairs of words: same components")["paper", "20:6:2", "40"]
    assert int(both["trials"]) == 2 * int(alone["trials"])
    titles = [table.title for table in COLLISIONS.report(whole + run(replace(SMALL, min_trials=12)))]
    assert len(titles) == 10
    assert sum("(min_trials=12)" in title for title in titles) == 5


def test_the_examples_are_reported_with_the_bounds_of_the_reference(whole: list[dict[str, Any]]) -> None:
    (table,) = (table for table in COLLISIONS.report(whole) if "by formula" in table.title)
    assert table.header[1] == "1,000,000,000 words, n = 10,000,000, B = 1,000,000, k = 2"
    rows = {label: list(values) for label, *values in table.rows}
    assert rows["improved: colliding pairs, expected"][0] == "0.05"
    assert rows["improved: share of colliding words, 1 - (1 - q)^(V - 1)"][0] == "1e-10"
    assert rows["improved: upper bound by the reference's formula"][0] == "0.001"
    assert rows["improved: upper bound printed by the reference"] == ["0.01", "-"]
    assert rows["improved: same column more likely than same embedding"] == ["yes", "no"]
    assert rows["same column: pairs, expected"][0] == "2.33e+08"
    counted = rows["improved: colliding pairs, counted"]
    assert counted[0] == "-"
    assert float(counted[1]) == pytest.approx(80 * 79 / 2 / (20 * 36), rel=0.5)


def test_it_is_plotted(whole: list[dict[str, Any]]) -> None:
    figure = Figure()
    assert COLLISIONS.plot is not None
    COLLISIONS.plot(whole, figure)
    improved, paper, shares = figure.axes
    assert [text.get_text() for text in improved.get_legend().get_texts()] == [
        "n = 20, B = 6, k = 2",
        "n = 30, B = 40, k = 1",
    ]
    assert [text.get_text() for text in paper.get_legend().get_texts()] == ["n = 20", "n = 30"]
    assert "dashed: upper bound" in shares.get_ylabel()
    shared = [result["shared"]["embedding"] for result in whole[:2]]
    counted = next(line for line in improved.lines if line.get_marker() == "o")
    assert counted.get_ydata().tolist() == pytest.approx([one["pairs"] / one["n_trials"] for one in shared])
    figure.canvas.draw()
    COLLISIONS.plot([], Figure())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"words": (1,)}, "at least 2, so that any can collide, got 1"),
        ({"tables": ("20:6",)}, "must be given as n:B:k"),
        ({"examples": ("20:6:2",)}, "must be given as n:B:k"),
        ({"examples": ("many:20:6:2",)}, "Examples must be given as V:n:B:k, .* got 'many:20:6:2'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(replace(SMALL, **changes))
