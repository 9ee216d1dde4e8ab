"""The recipe ``collisions``: it runs, repeats, goes on, and says where formula and counts do not agree."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from matplotlib.figure import Figure

from sklearn_hashnlp.experiments import run_recipe
from sklearn_hashnlp.experiments.recipes import _collisions
from sklearn_hashnlp.experiments.recipes._collisions import COLLISIONS, CollisionsSettings

SMALL = replace(
    COLLISIONS.quick,
    tables=("20:6:2", "30:40:1"),
    words=(40, 80),
    column_words=(3000,),
    examples=("1000000000:10000000:1000000:2", "80:20:6:2"),
    pairs=200,
)


def run(settings: CollisionsSettings = SMALL, seed: int = 0, **told: Any) -> list[dict[str, Any]]:
    # As a file of results would give them back.
    results = list(run_recipe(COLLISIONS, settings=settings, seed=seed, **told))
    return [json.loads(json.dumps(result, allow_nan=False)) for result in results]


def without_times(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in result.items() if key not in ("seconds", "date")} for result in results]


def cells(results: list[dict[str, Any]], title: str) -> dict[tuple[str, ...], dict[str, str]]:
    """Give the rows of a table by the cells before the first number, as a mapping from the header."""
    (table,) = (table for table in COLLISIONS.report(results) if table.title.startswith(title))
    return {tuple(row[:3]): dict(zip(table.header, row, strict=True)) for row in table.rows}


def test_it_runs_to_the_end_and_repeats() -> None:
    moves: list[tuple[int, int]] = []
    results = run(move=lambda done, total: moves.append((done, total)))
    assert len(results) == COLLISIONS.n_results(SMALL) == 2 * 2 * 2 + 1 + 2
    assert [result["step"] for result in results] == list(range(11))
    assert moves == [(number, 11) for number in range(12)]
    assert without_times(run()) == without_times(results)
    assert without_times(run(seed=1)) != without_times(results)
    assert all(shared["p_value"] > 1e-5 for result in results for shared in result.get("shared", {}).values())


def test_it_goes_on_after_what_is_known() -> None:
    whole = run()
    for length in (1, 7, 11):
        assert without_times(run(known=whole[:length])) == without_times(whole[length:])


def test_a_row_comes_out_the_same_whatever_others_there_are() -> None:
    fewer = run(replace(SMALL, tables=("30:40:1",), words=(80,)))
    (whole,) = (
        one for one in run() if one.get("tables") == "30:40:1" and one["n_words"] == 80 and one["variant"] == "paper"
    )
    assert fewer[1]["variant"] == "paper"
    assert fewer[1]["shared"] == whole["shared"]


def test_rows_have_random_numbers_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn_hashnlp.inspection import _collision_counts

    count, drawn = _collision_counts.count_embeddings, []

    def remember(variant: str, sizes: Any, n_words: int, n_trials: int, sequence: Any) -> Any:
        drawn.append(tuple(sequence.generate_state(4).tolist()))
        return count(variant, sizes, n_words, n_trials, sequence)

    monkeypatch.setattr(_collision_counts, "count_embeddings", remember)
    run()
    run(seed=1)
    assert len(set(drawn)) == len(drawn) == 16


def test_the_report_says_that_formula_and_counts_agree() -> None:
    results = run()
    tables = COLLISIONS.report(results)
    assert [len(table.rows) for table in tables[:4]] == [8, 4, 8, 1]
    for table in tables[:4]:
        place = list(table.header).index("agree")
        assert {row[place] for row in table.rows} == {"yes"}
        assert f"agree in all {len(table.rows)} rows" in table.notes[0]
    row = cells(results, "Pairs of words that share their embedding")["improved", "20:6:2", "80"]
    shared = next(result for result in results if result["n_words"] == 80)["shared"]["embedding"]
    assert float(row["expected"]) == pytest.approx(80 * 79 / 2 / (20 * 36), rel=0.005)
    assert float(row["counted"]) == pytest.approx(shared["pairs"] / shared["n_trials"], rel=0.005)


@pytest.mark.parametrize("what", ["embedding", "any order", "components"])
def test_the_report_says_where_they_do_not(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = _collisions.pair_chance

    def wrong(variant: str, asked: str, sizes: Any) -> float:
        return chance(variant, asked, sizes) * (1.2 if asked == what else 1.0)

    monkeypatch.setattr(_collisions, "pair_chance", wrong)
    table = next(
        table
        for table in COLLISIONS.report(run(replace(SMALL, pairs=2000)))
        if {"embedding": "their embedding", "any order": "in any order", "components": "their components"}[what]
        in table.title
    )
    place = list(table.header).index("agree")
    assert "NO" in {row[place] for row in table.rows}
    assert "DISAGREE" in table.notes[0]


def test_hash_functions_that_are_not_independent_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn_hashnlp.inspection import _collision_counts

    constants = _collision_counts.hash_constants
    monkeypatch.setattr(_collision_counts, "hash_constants", lambda seed, n: constants(seed, 1) * n)
    (table, *_) = COLLISIONS.report(run())
    assert "DISAGREE" in table.notes[0]


def test_seeds_are_taken_together_and_settings_are_not() -> None:
    one, two = run(), run(seed=1)
    alone = cells(one, "Pairs of words that share their components")["paper", "20:6:2", "40"]
    both = cells(one + two, "Pairs of words that share their components")["paper", "20:6:2", "40"]
    assert int(both["trials"]) == 2 * int(alone["trials"])
    titles = [table.title for table in COLLISIONS.report(one + run(replace(SMALL, min_trials=12)))]
    assert len(titles) == 10
    assert sum("(min_trials=12)" in title for title in titles) == 5


def test_the_examples_stand_beside_the_sources_formulas() -> None:
    (table,) = (table for table in COLLISIONS.report(run()) if "by formula" in table.title)
    assert table.header[1] == "1,000,000,000 words, n = 10,000,000, B = 1,000,000, k = 2"
    found = {label: list(values) for label, *values in table.rows}
    assert found["improved: colliding pairs, expected"][0] == "0.05"
    assert found["improved: share of words, 1 - (1 - q)^(V - 1)"][0] == "1e-10"
    assert found["improved: the source's formula, an upper bound"][0] == "0.001"
    assert found["improved: the source prints"] == ["0.01", "-"]
    assert found["improved: the column collides first"] == ["yes", "no"]
    assert found["one column: pairs, expected"][0] == "2.33e+08"
    counted = found["improved: colliding pairs, counted"]
    assert counted[0] == "-"
    assert float(counted[1]) == pytest.approx(80 * 79 / 2 / (20 * 36), rel=0.5)


def test_it_is_drawn() -> None:
    results = run()
    figure = Figure()
    assert COLLISIONS.plot is not None
    COLLISIONS.plot(results, figure)
    improved, paper, shares = figure.axes
    assert [text.get_text() for text in improved.get_legend().get_texts()] == [
        "n = 20, B = 6, k = 2",
        "n = 30, B = 40, k = 1",
    ]
    assert [text.get_text() for text in paper.get_legend().get_texts()] == ["n = 20", "n = 30"]
    assert "dashed: upper bound" in shares.get_ylabel()
    shared = [result["shared"]["embedding"] for result in results[:2]]
    counted = next(line for line in improved.lines if line.get_marker() == "o")
    assert counted.get_ydata().tolist() == pytest.approx([one["pairs"] / one["n_trials"] for one in shared])
    figure.canvas.draw()
    COLLISIONS.plot([], Figure())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"words": (1,)}, "at least 2 for any to collide, got 1"),
        ({"tables": ("20:6",)}, "must be given as n:B:k"),
        ({"examples": ("20:6:2",)}, "must be given as n:B:k"),
        ({"examples": ("many:20:6:2",)}, "Examples must be given as V:n:B:k, .* got 'many:20:6:2'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(replace(SMALL, **changes))
