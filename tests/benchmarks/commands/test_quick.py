"""``--quick`` of each experiment: it needs no data, and is a matter of seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.commands.registry import RECIPES
from benchmarks.recipes.brown import BROWN
from benchmarks.runner import run_recipe
from benchmarks.runner.settings import STDLIB


@pytest.fixture(autouse=True)
def _without_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HASHNLP_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))  # of the default folder of data sets
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", RECIPES)
def test_a_trial_needs_no_data(name: str, tmp_path: Path) -> None:
    recipe = RECIPES[name]
    result = next(run_recipe(recipe, settings=recipe.quick, folder=tmp_path))
    reads_text = {"data", "paragraphs"} & set(vars(recipe.settings))
    # This holds also where folders are not recorded.
    assert (STDLIB in result["settings"].values()) == bool(reads_text)


def test_a_trial_names_its_text(bench: Any) -> None:
    command = ["run", "nplm", "--quick", "--set", "num_epochs=1", "--set", "n_train=50"]
    result = bench(*command)
    assert result.code == 0, result.err
    assert "A trial on docstrings of Python's standard library" in result.err
    assert "(data=stdlib)" in result.out
    assert "nplm needs a folder with the Penn Treebank" in bench("run", "nplm").err
    assert "sentence-report needs a text file" in bench("run", "sentence-report").err
    assert (
        "ngram-memory-bytes needs a folder with paragraphs.txt"
        in bench("run", "ngram-memory-bytes").err
    )


def test_a_trial_on_brown_scores_few_words(tmp_path: Path) -> None:
    (tmp_path / "brown.txt").write_text("a cat sat on the mat .\n" * 20_000, encoding="utf-8")
    settings = vars(BROWN.quick) | {"data": "brown.txt"}
    result = next(run_recipe(BROWN, settings=type(BROWN.quick)(**settings)))
    assert result["n_words"] < 1500
