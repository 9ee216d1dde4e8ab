"""``python -m benchmarks list``: all experiments and benchmarks, or one experiment with its settings."""

from __future__ import annotations

import re
from typing import Any

import pytest

from benchmarks.commands.scripts import find_scripts


@pytest.mark.parametrize("command", [[], ["run"], ["report"]])
def test_help_has_examples(bench: Any, command: list[str]) -> None:
    result = bench(*command, "--help")
    assert result.code == 0
    assert result.out.count("python -m benchmarks") >= 2


def test_the_list(bench: Any) -> None:
    result = bench("list")
    assert result.code == 0
    assert re.search(r"^reversal +Strings reversed", result.out, re.MULTILINE)
    assert re.search(r"^bench_vectorizers +Speed of HashingNgramVectorizer", result.out, re.MULTILINE)
    assert result.err == "\nDescribe one: python -m benchmarks list custom\n"


def test_one_experiment_with_its_settings(bench: Any) -> None:
    out = bench("list", "reversal").out
    assert "additive attention" in out
    (line,) = [line for line in out.splitlines() if line.startswith("batch_size")]
    assert line.split(maxsplit=2)[1:] == ["16", "batch size; the reference has 1"]


def test_an_unknown_experiment_is_an_error_of_one_line(bench: Any) -> None:
    result = bench("list", "nonsense")
    assert result.code == 1
    assert "no experiment 'nonsense'; there are:" in result.err
    assert len(result.err.splitlines()) == 1


def test_a_benchmark_is_run_with_its_own_options(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(find_scripts()) == 30
    monkeypatch.delenv("HASHNLP_DATA", raising=False)
    assert "usage: benchmarks run bench_load " in bench("run", "bench_load", "--help").out
    result = bench("run", "bench_scale", "--", "--rows", "10")
    assert result.code == 2
    assert "name the data folder with --data or in HASHNLP_DATA" in result.err
