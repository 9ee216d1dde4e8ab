"""Recipes whose parts do not fit are refused when they are made."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from benchmarks.runner import Recipe


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
class Folder:
    path: Path = Path()


@dataclass(frozen=True)
class Words:
    words: list[str] | None = None


@dataclass(frozen=True)
class Wrong:
    number: int = "1"  # type: ignore[assignment]


def make(**parts: Any) -> Recipe:
    parts = {"name": "own", "summary": "", "description": "", "settings": Fine(), "run": print} | parts
    return Recipe(**parts)


def test_what_is_left_out_has_a_default() -> None:
    recipe = make()
    assert recipe.quick == recipe.settings
    assert recipe.n_results(recipe.settings) == 1
    assert recipe.plot is None


@pytest.mark.parametrize(
    ("parts", "kind", "message"),
    [
        ({"name": ""}, ValueError, "name must be a string for the command line, got ''"),
        ({"name": "--own"}, ValueError, "got '--own'"),
        ({"settings": {"n": 1}}, TypeError, "settings must be an instance of a frozen dataclass, @dataclass(frozen="),
        ({"settings": Changeable()}, TypeError, "must be an instance of a frozen dataclass"),
        ({"settings": Fine}, TypeError, "frozen dataclass instead of its class: Settings()"),
        ({"settings": Folder()}, ValueError, "The recipe 'own': the setting 'path' is declared as Path; the command"),
        ({"settings": Words()}, ValueError, "can hold int, float, bool, str, tuple[int, ...], tuple[str, ...] and Lit"),
        ({"settings": Wrong()}, ValueError, "the setting 'number' must be int, got '1'"),
        ({"settings": Fine(kind="c")}, ValueError, "the setting 'kind' must be Literal['a', 'b'], got 'c'"),
        ({"settings": Fine(several=(1, "2"))}, ValueError, "'several' must be tuple[int, ...], got (1, '2')"),
        ({"settings": Fine(number=True)}, ValueError, "'number' must be int, got True"),
        ({"quick": Folder()}, TypeError, "quick must be of the class of its settings, Fine, got Folder("),
        ({"run": 3}, TypeError, "run must be a function, got 3"),
        ({"report": None}, TypeError, "report must be a function, got None"),
    ],
)
def test_a_recipe_that_cannot_work(parts: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        make(**parts)
