"""Results that say where they come from."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sklearn_hashnlp.experiments import Recipe, run_recipe


@dataclass(frozen=True)
class Some:
    size: int = 3
    names: tuple[str, ...] = ("a",)


def count(settings: Some, seed: int, tell: Any, move: Any) -> Iterator[dict[str, Any]]:
    for number in range(settings.size):
        tell(f"now {number}")
        move(number + 1, settings.size)
        yield {"part": number, "value": seed + number}


RECIPE = Recipe(
    name="counting",
    summary="",
    description="",
    settings=Some(),
    quick=Some(size=1),
    run=count,
    report=lambda results: [str(len(results))],
    packages=("numpy",),
)


def test_each_result_says_where_it_comes_from() -> None:
    results = list(run_recipe(RECIPE, seed=40))
    assert [result["value"] for result in results] == [40, 41, 42]
    for result in results:
        assert result["recipe"] == "counting"
        assert result["seed"] == 40
        assert result["settings"] == {"size": 3, "names": ("a",)}
        assert result["versions"] == {
            "python": platform.python_version(),
            "numpy": importlib.metadata.version("numpy"),
        }
        assert result["machine"]["cores"] > 0
        assert result["machine"]["processor"]
        assert len(result["date"]) == len("2026-01-01")
        assert json.loads(json.dumps(result))["part"] == result["part"]


def test_results_come_one_by_one_and_are_told_about() -> None:
    lines: list[str] = []
    moves: list[tuple[int, int]] = []
    results = run_recipe(RECIPE, settings=Some(size=2), tell=lines.append, move=lambda *place: moves.append(place))
    next(results)
    assert (lines, moves) == (["now 0"], [(1, 2)])
    assert len(list(results)) == 1
    assert (lines, moves) == (["now 0", "now 1"], [(1, 2), (2, 2)])
