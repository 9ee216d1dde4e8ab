"""``hashnlp experiments list``: all experiments, or one with its settings."""

from __future__ import annotations

import re
from typing import Any

import pytest


@pytest.mark.parametrize("command", [[], ["list"], ["run"], ["report"]])
def test_help_has_examples(hashnlp: Any, command: list[str]) -> None:
    result = hashnlp("experiments", *command, "--help")
    assert result.code == 0
    assert result.out.count("hashnlp experiments") >= 2


def test_the_list(hashnlp: Any) -> None:
    result = hashnlp("experiments", "list")
    assert result.code == 0
    assert re.search(r"^reversal +Strings reversed", result.out, re.MULTILINE)
    assert "Describe one: hashnlp experiments list " in result.err
    quiet = hashnlp("experiments", "list", "--quiet")
    assert (quiet.out, quiet.err) == (result.out, "")
    (recipe,) = [recipe for recipe in hashnlp("experiments", "list", "--json").json if recipe["name"] == "reversal"]
    assert recipe["settings"]["n_symbols"] == 1000
    assert hashnlp("experiments", "list", "reversal", "--json").json == [recipe]


def test_one_experiment_with_its_settings(hashnlp: Any) -> None:
    out = hashnlp("experiments", "list", "reversal").out
    assert "additive attention" in out
    (line,) = [line for line in out.splitlines() if line.startswith("batch_size")]
    assert line.rstrip().split(maxsplit=2)[1:] == ["16", "batch size; the reference has 1"]


def test_an_unknown_experiment_is_an_error_of_one_line(hashnlp: Any) -> None:
    result = hashnlp("experiments", "list", "nonsense")
    assert result.code == 2
    assert "no experiment 'nonsense'; there are:" in result.err
    assert len(result.err.splitlines()) == 1
