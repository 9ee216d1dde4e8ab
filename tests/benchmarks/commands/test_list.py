"""``python -m benchmarks list``: all experiments and benchmarks, or one experiment with its
settings.
"""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from dataclasses import fields
from typing import Any

import pytest

from benchmarks.commands.registry import RECIPES, get_recipe
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
    assert re.search(
        r"^bench_vectorizers +Speed of HashingNgramVectorizer", result.out, re.MULTILINE
    )
    assert result.err == "\nDescribe one: python -m benchmarks list custom\n"


def test_one_experiment_with_its_settings(bench: Any) -> None:
    out = bench("list", "reversal").out
    assert "additive attention" in out
    (line,) = [line for line in out.splitlines() if line.startswith("batch_size")]
    assert line.split(maxsplit=2)[1:] == ["16", "batch size; the reference has 1"]


@pytest.mark.parametrize("name", find_scripts())
def test_a_benchmark_has_help_and_says_where_to_name_its_data(
    bench: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HASHNLP_DATA", raising=False)
    assert "--output" in bench("run", name, "--help").out
    if name not in ("bench_cuda", "bench_first_minute"):
        assert "--data or in HASHNLP_DATA" in bench("run", name).err


def test_a_benchmark_is_run_with_its_own_options(bench: Any) -> None:
    assert len(find_scripts()) == 36
    assert "usage: benchmarks run bench_scale " in bench("run", "bench_scale", "--help").out
    result = bench("run", "bench_scale", "--", "--rows", "x")
    assert (result.code, "argument --rows: invalid int value: 'x'" in result.err) == (2, True)


@pytest.mark.parametrize("name", list(RECIPES))
def test_a_recipe_is_described(name: str) -> None:
    recipe = get_recipe(name)
    assert recipe.name == name
    assert recipe.summary
    assert len(recipe.description) > 200
    assert type(recipe.quick) is type(recipe.settings)
    assert pickle.loads(pickle.dumps(recipe)) == recipe  # as other processes get it
    assert recipe.report([]) == []
    assert recipe.n_results(recipe.quick) > 0
    for field in fields(recipe.settings):
        assert field.metadata["help"]
        assert type(getattr(recipe.settings, field.name)) in (int, float, bool, str, tuple)


def test_an_unknown_recipe_is_an_error_with_all_names() -> None:
    with pytest.raises(ValueError, match=r"no experiment 'reversla'; there are: .*reversal"):
        get_recipe("reversla")


def test_listing_recipes_imports_nothing_heavy() -> None:
    code = (
        "import sys, benchmarks.runner\nprint(sorted({'torch', 'sklearn', 'numpy', 'scipy'} & "
        "set(sys.modules)))"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )
