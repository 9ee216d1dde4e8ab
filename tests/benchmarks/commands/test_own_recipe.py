"""Experiments of the user's own, named as MODULE:NAME."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

EXPERIMENTS = Path(__file__).parents[1]
RECIPE = "counting_recipe:COUNTING"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the module of a recipe of milliseconds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(EXPERIMENTS)])
    monkeypatch.delitem(sys.modules, "counting_recipe", raising=False)
    Path("counting_recipe.py").write_text(
        (EXPERIMENTS / "counting_recipe.py").read_text(encoding="utf-8")
    )
    return tmp_path


def test_a_custom_experiment_is_run_resumed_and_reported(bench: Any, folder: Path) -> None:
    command = ["run", RECIPE, "-o", "results.jsonl"]
    failed = bench(*command, "--set", "fails=0")
    assert (failed.code, failed.err.splitlines()[-1]) == (1, "benchmarks: seed 0 is not wanted")
    result = bench(*command)
    assert result.code == 0, result.err
    assert "counting on ag, seed 0: resumed after 2 of 4 results\n" in result.err
    assert result.err.endswith(
        "python -m benchmarks report results.jsonl --recipe counting_recipe:COUNTING\n"
    )
    assert len((folder / "results.jsonl").read_text().splitlines()) == 4
    report = bench("report", "results.jsonl", "--recipe", RECIPE, "--markdown", "table.md")
    assert report.out == result.out != ""
    assert Path("table.md").read_text().startswith("### Numbers\n")
    without = bench("report", "results.jsonl")
    assert without.code == 1
    assert "unknown experiments: counting; name your own by --recipe MODULE:NAME" in without.err


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (2, ["run"], "the following arguments are required: NAME"),
        (1, ["run", "counting_recipe"], "Recipes of your own are named as MODULE:NAME."),
        (1, ["run", "no_such_module:X"], "There is no module 'no_such_module'"),
        (1, ["list", "counting_recipe:Counting"], "it is the class Counting."),
        (1, ["report", "r.jsonl", "--recipe", "counting_recipe:X"], "has no name 'X'."),
        (
            1,
            ["run", "taken:ONE"],
            "There is another experiment 'reversal'; give the recipe of taken:ONE",
        ),
        (
            1,
            ["run", "broken:ONE"],
            "The module 'broken' cannot be imported: NameError: name 'this' is not",
        ),
    ],
)
def test_errors_are_one_line(bench: Any, code: int, arguments: list[str], message: str) -> None:
    imports = "from dataclasses import replace\nfrom counting_recipe import COUNTING\n"
    Path("taken.py").write_text(f"{imports}ONE = replace(COUNTING, name='reversal')")
    Path("broken.py").write_text("this = this")
    result = bench(*arguments)
    assert result.code == code
    assert message in result.err
    assert len(result.err.splitlines()) == 1
    sys.modules.pop("taken", None)
