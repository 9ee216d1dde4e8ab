"""All recipes: described, picklable, and listed without heavy imports."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import fields

import pytest

from benchmarks.commands.registry import RECIPES, get_recipe


@pytest.mark.parametrize("name", list(RECIPES))
def test_a_recipe_is_described(name: str) -> None:
    recipe = get_recipe(name)
    assert recipe.name == name
    assert recipe.summary
    assert len(recipe.description) > 200
    assert type(recipe.quick) is type(recipe.settings)
    for field in fields(recipe.settings):
        assert field.metadata["help"]
        assert type(getattr(recipe.settings, field.name)) in (int, float, bool, str, tuple)


@pytest.mark.parametrize("name", list(RECIPES))
def test_a_recipe_can_be_sent_to_another_process(name: str) -> None:
    assert pickle.loads(pickle.dumps(get_recipe(name))) == get_recipe(name)


@pytest.mark.parametrize("name", list(RECIPES))
def test_the_report_of_no_results_is_empty(name: str) -> None:
    assert get_recipe(name).report([]) == []
    assert get_recipe(name).n_results(get_recipe(name).quick) > 0


def test_an_unknown_recipe_is_an_error_with_all_names() -> None:
    with pytest.raises(ValueError, match=r"no experiment 'reversla'; there are: .*reversal"):
        get_recipe("reversla")


def test_listing_recipes_imports_nothing_heavy() -> None:
    code = (
        "import sys, benchmarks.runner\n"
        "print(sorted({'torch', 'sklearn', 'numpy', 'scipy', 'numba'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
