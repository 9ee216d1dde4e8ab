"""The recipe ``reversal``, with tiny sizes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.commands.registry import get_recipe
from benchmarks.runner import Recipe, run_recipe
from benchmarks.runner.settings import settings_as_json

TINY = replace(get_recipe("reversal").quick, n_symbols=5, max_length=2, n_train=80, encoder_size=20, learning_rate=0.02)


def run(**changes: Any) -> list[dict[str, Any]]:
    return list(run_recipe(get_recipe("reversal"), settings=replace(TINY, **changes)))


@pytest.fixture(scope="module")
def whole() -> list[dict[str, Any]]:
    return run()


def without_times(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in result.items() if not key.startswith("seconds")}
        for result in results
        if result["part"] != "output layer alone"
    ]


def test_it_runs_to_the_end_and_repeats(whole: list[dict[str, Any]]) -> None:
    progress: list[tuple[int, int]] = []
    lines: list[str] = []
    recipe: Recipe = get_recipe("reversal")
    first = list(
        run_recipe(recipe, settings=TINY, log=lines.append, progress=lambda done, total: progress.append((done, total)))
    )
    assert [(result["part"], result.get("output")) for result in first] == [
        ("fixed strings", "softmax"),
        ("fixed strings", "hsigmoid"),
        ("fresh strings", "softmax"),
        ("fresh strings", "hsigmoid"),
        ("output layer alone", None),
    ]
    assert progress == sorted(progress)
    assert progress[-1][0] == progress[-1][1]
    assert "fixed strings, hsigmoid: epoch 2 of 2, loss " in "\n".join(lines)
    fixed = first[0]
    assert len(fixed["valid_loss_per_epoch"]) == fixed["epochs"] == 2
    assert fixed["valid_loss"] == fixed["valid_loss_per_epoch"][-1] < fixed["valid_loss_per_epoch"][0]
    assert without_times(first) == without_times(whole)
    other = list(run_recipe(recipe, settings=TINY, seed=1))
    assert without_times(first) != without_times(other)


@pytest.mark.parametrize("output", ["softmax", "hsigmoid"])
def test_training_on_fresh_strings_ends_when_they_are_reversed(output: str) -> None:
    *_, fresh, _ = run(outputs=(output,), epochs=1, max_epochs=100, stop_at=0.9)
    assert fresh["part"] == "fresh strings"
    *before, last = fresh["exact_match_per_epoch"]
    assert fresh["epochs"] == len(before) + 1 < 100
    assert max(before) < 0.9 <= last
    assert fresh["exact_match"] > 0.6


def test_the_form_of_the_reference_has_fixed_strings_alone() -> None:
    recipe = get_recipe("reversal-sgd")
    assert (recipe.settings.batch_size, recipe.settings.optimizer, recipe.settings.learning_rate) == (1, "sgd", 0.1)
    results = list(run_recipe(recipe, settings=replace(recipe.quick, n_symbols=5, max_length=2, n_train=20)))
    assert [result["part"] for result in results] == ["fixed strings", "fixed strings", "output layer alone"]
    assert [table.title for table in recipe.report(results)] == ["Fixed strings", "Speed ratio, full softmax / tree"]


def test_the_tables_are_made_from_results_alone(whole: list[dict[str, Any]]) -> None:
    results = json.loads(json.dumps(whole))
    for result, seconds in zip(results[:2], (30.0, 20.0), strict=True):
        result["seconds"] = seconds
    results[4]["seconds_per_step"] = {"softmax": 0.008, "hsigmoid": 0.002}
    tables = {table.title: table for table in get_recipe("reversal").report(results)}
    ratios = tables["Speed ratio, full softmax / tree"]
    assert ["training, fixed strings", "0", "1.50"] in ratios.rows
    assert ["output layer alone, training", "0", "4.00"] in ratios.rows
    assert ratios.notes == []
    assert tables["Fixed strings"].header[-1] == "validation loss"
    assert len(tables["Fresh strings"].rows) == 2
    alone = [result for result in results if result.get("output") == "softmax"]
    assert [table.title for table in get_recipe("reversal").report(alone)] == ["Fixed strings", "Fresh strings"]


@pytest.mark.parametrize("name", ["reversal", "reversal-sgd"])
@pytest.mark.parametrize("changes", [{}, {"n_symbols": 150}, {"arity": 32}, {"epochs": 8}])
def test_reference_figures_are_printed_beside_runs_of_its_sizes_alone(
    whole: list[dict[str, Any]], name: str, changes: dict[str, Any]
) -> None:
    settings = settings_as_json(replace(get_recipe(name).settings, **changes))
    fixed, *_, ratios = get_recipe(name).report([result | {"settings": settings} for result in whole])
    assert (fixed.header[-1] == "reference") == (not changes)
    assert changes or [row[-1] for row in fixed.rows] == ["513 s, 3.18", "448 s, 1.71"]
    assert list(ratios.notes) == ([] if changes else ["Reference, training: 1.15"])


def test_results_of_other_seeds_and_settings_have_rows_of_their_own() -> None:
    results = run(outputs=("softmax",), epochs=1, max_epochs=1)
    other_seed = [result | {"seed": 1} for result in results]
    longer = [result | {"settings": result["settings"] | {"epochs": 9}} for result in results]
    tables = get_recipe("reversal").report([*results, *other_seed, *longer])
    assert [(table.title, [row[1] for row in table.rows]) for table in tables] == [
        ("Fixed strings (epochs=1)", ["0", "1"]),
        ("Fresh strings (epochs=1)", ["0", "1"]),
        ("Fixed strings (epochs=9)", ["0"]),
        ("Fresh strings (epochs=9)", ["0"]),
    ]


def test_a_run_resumes_after_previous_results(whole: list[dict[str, Any]]) -> None:
    rest = list(run_recipe(get_recipe("reversal"), settings=TINY, previous=whole[:3]))
    assert [result["step"] for result in rest] == [3, 4]
    assert without_times(rest) == without_times(whole[3:])
