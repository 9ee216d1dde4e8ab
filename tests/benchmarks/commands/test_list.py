"""``python -m benchmarks list``: all experiments, or one with its settings."""

from __future__ import annotations

import re
from typing import Any

import pytest


@pytest.mark.parametrize("command", [[], ["list"], ["run"], ["report"]])
def test_help_has_examples(bench: Any, command: list[str]) -> None:
    result = bench(*command, "--help")
    assert result.code == 0
    assert result.out.count("python -m benchmarks") >= 2


def test_the_list(bench: Any) -> None:
    result = bench("list")
    assert result.code == 0
    assert re.search(r"^reversal +Strings reversed", result.out, re.MULTILINE)
    assert "Describe one: python -m benchmarks list " in result.err
    quiet = bench("list", "--quiet")
    assert (quiet.out, quiet.err) == (result.out, "")
    (recipe,) = [recipe for recipe in bench("list", "--json").json if recipe["name"] == "reversal"]
    assert recipe["settings"]["n_symbols"] == 1000
    assert bench("list", "reversal", "--json").json == [recipe]


def test_one_experiment_with_its_settings(bench: Any) -> None:
    out = bench("list", "reversal").out
    assert "additive attention" in out
    (line,) = [line for line in out.splitlines() if line.startswith("batch_size")]
    assert line.rstrip().split(maxsplit=2)[1:] == ["16", "batch size; the reference has 1"]


def test_an_unknown_experiment_is_an_error_of_one_line(bench: Any) -> None:
    result = bench("list", "nonsense")
    assert result.code == 2
    assert "no experiment 'nonsense'; there are:" in result.err
    assert len(result.err.splitlines()) == 1
