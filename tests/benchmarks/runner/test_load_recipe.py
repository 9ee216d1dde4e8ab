"""Recipes of the user's own modules: imported, and refused with what to do."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.runner import load_recipe, run_recipe

HEAD = """
from dataclasses import dataclass, field
from benchmarks.runner import Recipe

@dataclass(frozen=True)
class Settings:
    n: int = 2

def run(settings, run):
    yield {"n": settings.n + run.seed}

"""
RECIPE = 'Recipe(name="own", summary="Own", description="Own.", settings=Settings(), run=run)'
NUMBERS = iter(range(1000))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty current folder, whose modules are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    loaded = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - loaded:
        if name.startswith("mine"):
            del sys.modules[name]


def write(text: str) -> str:
    """Write a module; return its name, which no other test has."""
    name = f"mine{next(NUMBERS)}"
    Path(f"{name}.py").write_text(text)
    return name


def test_a_recipe_of_a_module_in_the_current_folder_runs() -> None:
    recipe = load_recipe(f"{write(f'{HEAD}OWN = {RECIPE}')}:OWN")
    assert [result["n"] for result in run_recipe(recipe, seed=3)] == [5]
    assert recipe.quick == recipe.settings
    assert recipe.report([]) == []


def test_a_module_in_a_package() -> None:
    Path("mine_package").mkdir()
    Path("mine_package", "deep.py").write_text(f"{HEAD}OWN = {RECIPE}")
    assert load_recipe("mine_package.deep:OWN").name == "own"


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("mine", "Expected MODULE:NAME, such as my_module:MY_RECIPE, without .py, got 'mine'."),
        ("folder/mine.py:OWN", "Expected MODULE:NAME"),
        ("mine.py:OWN", "Expected MODULE:NAME"),
        ("mine:", "Expected MODULE:NAME"),
        ("mine:OWN:OTHER", "Expected MODULE:NAME"),
        ("mine_missing:OWN", "There is no module 'mine_missing' in the current folder or sys.path."),
        ("mine_missing.deep:OWN", "There is no module 'mine_missing'"),
        ("json.missing:OWN", "There is no module 'json.missing'"),
    ],
)
def test_a_wrong_reference(reference: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        load_recipe(reference)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (f"OWN_RECIPE = {RECIPE}", ValueError, r"has no name 'OWN'\."),
        ("", ValueError, r"\(.*mine\d+\.py\) has no name 'OWN'\."),
        ("OWN = 3", TypeError, "'OWN' in the module 'mine.*' must be an instance of .*Recipe; it is of type int"),
        ("class OWN: pass", TypeError, "it is the class OWN"),
        (f"OWN = {RECIPE[:-4]}lambda *_: [])", ValueError, "run must be a function at the top level of a module"),
        (f"OWN = {RECIPE[:-1]}, packages=['no-such'])", ValueError, "'no-such' is none"),
        ("raise OSError('broken')", RuntimeError, "The module 'mine.*' cannot be imported: OSError: broken"),
        ("raise SystemExit(0)", RuntimeError, "cannot be imported: SystemExit: 0"),
        ("import no_such_package", RuntimeError, "The module 'mine.*' imports 'no_such_package', which is not inst"),
    ],
)
def test_a_wrong_module(text: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        load_recipe(f"{write(HEAD + text)}:OWN")
