"""``hashnlp experiments``: what there is, and a run of tiny size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

TINY = ["--quick", "--set", "n_train=20", "--set", "passes=1", "--set", "max_passes=1"]


@pytest.mark.parametrize("command", [[], ["list"], ["run"]])
def test_help_teaches_by_examples(hashnlp: Any, command: list[str]) -> None:
    result = hashnlp("experiments", *command, "--help")
    assert result.code == 0
    assert result.out.count("hashnlp experiments") >= 2


def test_the_list(hashnlp: Any) -> None:
    result = hashnlp("experiments", "list")
    assert result.code == 0
    assert "reversal  Strings read backwards" in result.out
    assert "experiments list reversal" in result.err
    quiet = hashnlp("experiments", "list", "--quiet")
    assert (quiet.out, quiet.err) == (result.out, "")
    (recipe,) = [found for found in hashnlp("experiments", "list", "--json").json if found["name"] == "reversal"]
    assert recipe["settings"]["n_symbols"] == 1000
    assert hashnlp("experiments", "list", "reversal", "--json").json == [recipe]


def test_one_experiment_with_its_settings(hashnlp: Any) -> None:
    out = hashnlp("experiments", "list", "reversal").out
    assert "additive attention" in out
    (line,) = [line for line in out.splitlines() if line.startswith("batch_size")]
    assert line.rstrip().split(maxsplit=2)[1:] == ["16", "strings of a training step; 1 is the source's"]


def test_a_run_prints_a_table_and_adds_lines(hashnlp: Any, tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    path.write_text('{"an": "older line"}\n')
    result = hashnlp("experiments", "run", "reversal", *TINY, "--seed", "3", "--output", path)
    assert result.code == 0, result.err
    assert "Speed ratio, full softmax / tree" in result.out
    assert "fresh strings, hsigmoid: pass 1 of 1, exact match" in result.err
    assert f"Added 5 results to {path}" in result.err
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0] == {"an": "older line"}
    assert len(lines) == 6
    assert {line["seed"] for line in lines[1:]} == {3}
    assert {line["settings"]["n_train"] for line in lines[1:]} == {20}
    assert lines[1]["versions"]["torch"]


def test_json_is_all_that_stands_on_stdout(hashnlp: Any) -> None:
    result = hashnlp("experiments", "run", "reversal", *TINY, "--json", "--quiet")
    assert [json.loads(line)["part"] for line in result.out.splitlines()][-1] == "output layer alone"
    assert result.err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nonsense"], "no experiment 'nonsense'; there are:"),
        (["list", "nonsense"], "no experiment 'nonsense'; there are:"),
        (["run", "reversal", "--set", "nonsense=1"], "no setting 'nonsense'"),
        (["run", "reversal", "--set", "outputs=softmax,other", "--quick"], "must be 'softmax' or 'hsigmoid'"),
        (["run", "reversal", "--output", "no/such/folder/file"], "No such file or directory"),
    ],
)
def test_what_will_not_do_is_one_line(hashnlp: Any, arguments: list[str], message: str) -> None:
    result = hashnlp("experiments", *arguments)
    assert result.code == 1
    assert message in result.err
    assert len(result.err.splitlines()) == 1
