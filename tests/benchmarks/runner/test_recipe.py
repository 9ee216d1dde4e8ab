"""Recipes: made of parts that fit, loaded from a module of the user, and their progress."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from benchmarks.runner import Recipe, Run, load_recipe, run_recipe
from benchmarks.runner.recipe import fit_progress


@pytest.mark.parametrize("n_fits", [1, 3])
def test_the_fits_of_a_result_share_its_part_of_the_progress(n_fits: int) -> None:
    progress: list[tuple[int, int]] = []
    update = fit_progress(
        Run(seed=0, folder=Path("run"), progress=lambda *args: progress.append(args)),
        2,
        5,
        n_fits=n_fits,
    )
    for _ in range(n_fits):
        for share in (0.0, 0.5, 1.0):
            update(share)
    shares = [done / total for done, total in progress]
    assert {total for _, total in progress} == {5000}
    assert shares[0] == pytest.approx(2 / 5)
    assert shares[-1] == pytest.approx(3 / 5)
    assert shares == sorted(shares)
    for fit in range(n_fits):
        half = shares[3 * fit + 1]
        assert half == pytest.approx((2 + (fit + 0.5) / n_fits) / 5, abs=1e-3)


@dataclass(frozen=True)
class Fine:
    number: int = 1
    rate: float = 2
    name: str = "a"
    kind: Literal["a", "b"] = "a"
    several: tuple[int, ...] = (1,)
    names: tuple[str, ...] = ()


@dataclass
class Changeable:
    number: int = 1


@dataclass(frozen=True)
class WithPath:
    path: Path = Path()


@dataclass(frozen=True)
class Words:
    words: list[str] | None = None


@dataclass(frozen=True)
class Wrong:
    number: int = "1"  # type: ignore[assignment]


def make(**parts: Any) -> Recipe:
    parts = {
        "name": "own",
        "summary": "",
        "description": "",
        "settings": Fine(),
        "run": print,
    } | parts
    return Recipe(**parts)


def test_optional_parts_have_defaults() -> None:
    recipe = make()
    assert recipe.quick == recipe.settings
    assert recipe.n_results(recipe.settings) == 1
    assert recipe.plot is None


@pytest.mark.parametrize(
    ("parts", "kind", "message"),
    [
        ({"name": ""}, ValueError, "name must be a string for the command line, got ''"),
        ({"name": "--own"}, ValueError, "got '--own'"),
        (
            {"settings": {"n": 1}},
            TypeError,
            "settings must be an instance of a frozen dataclass, @dataclass(frozen=",
        ),
        ({"settings": Changeable()}, TypeError, "must be an instance of a frozen dataclass"),
        ({"settings": Fine}, TypeError, "frozen dataclass instead of its class: Settings()"),
        (
            {"settings": WithPath()},
            ValueError,
            "The recipe 'own': the setting 'path' is declared as Path; the command",
        ),
        (
            {"settings": Words()},
            ValueError,
            "can hold int, float, bool, str, tuple[int, ...], tuple[str, ...] and Lit",
        ),
        ({"settings": Wrong()}, ValueError, "the setting 'number' must be int, got '1'"),
        (
            {"settings": Fine(kind="c")},
            ValueError,
            "the setting 'kind' must be Literal['a', 'b'], got 'c'",
        ),
        (
            {"settings": Fine(several=(1, "2"))},
            ValueError,
            "'several' must be tuple[int, ...], got (1, '2')",
        ),
        ({"settings": Fine(number=True)}, ValueError, "'number' must be int, got True"),
        (
            {"quick": WithPath()},
            TypeError,
            "quick must be of the class of its settings, Fine, got WithPath(",
        ),
        ({"run": 3}, TypeError, "run must be a function, got 3"),
        ({"report": None}, TypeError, "report must be a function, got None"),
    ],
)
def test_a_recipe_that_cannot_work(
    parts: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        make(**parts)


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


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("mine", "Expected MODULE:NAME, such as my_module:MY_RECIPE, without .py, got 'mine'."),
        ("folder/mine.py:OWN", "Expected MODULE:NAME"),
        ("mine.py:OWN", "Expected MODULE:NAME"),
        ("mine:", "Expected MODULE:NAME"),
        ("mine:OWN:OTHER", "Expected MODULE:NAME"),
        (
            "mine_missing:OWN",
            "There is no module 'mine_missing' in the current folder or sys.path.",
        ),
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
        (
            "OWN = 3",
            TypeError,
            "'OWN' in the module 'mine.*' must be an instance of .*Recipe; it is of type int",
        ),
        ("class OWN: pass", TypeError, "it is the class OWN"),
        (
            f"OWN = {RECIPE[:-4]}lambda *_: [])",
            ValueError,
            "run must be a function at the top level of a module",
        ),
        (f"OWN = {RECIPE[:-1]}, packages=['no-such'])", ValueError, "'no-such' is none"),
        (
            "raise OSError('broken')",
            RuntimeError,
            "The module 'mine.*' cannot be imported: OSError: broken",
        ),
        ("raise SystemExit(0)", RuntimeError, "cannot be imported: SystemExit: 0"),
        (
            "import no_such_package",
            RuntimeError,
            "The module 'mine.*' imports 'no_such_package', which is not inst",
        ),
    ],
)
def test_a_wrong_module(text: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        load_recipe(f"{write(HEAD + text)}:OWN")
