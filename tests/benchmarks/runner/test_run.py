"""Runs of recipes, the provenance of their results, and planned runs."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.runner import Recipe, Run, run_recipe
from benchmarks.runner.run import commit_of, plan_runs

COMMIT = r"[0-9a-f]{7,} of \d{4}-\d\d-\d\d \d\d:\d\d(, changed)?"


@dataclass(frozen=True)
class Some:
    size: int = 3
    names: tuple[str, ...] = ("a",)
    data: str = field(default="", metadata={"recorded": False})


def count(settings: Some, run: Run) -> Iterator[dict[str, Any]]:
    for number in range(len(run.previous), settings.size):
        run.log(f"now {number}")
        run.progress(number + 1, settings.size)
        (run.folder / f"{number}").touch()
        yield {
            "part": number,
            "value": run.seed + number,
            "files": sorted(path.name for path in run.folder.iterdir()),
        }


RECIPE = Recipe(
    name="counting",
    summary="",
    description="",
    settings=Some(),
    quick=Some(size=1),
    run=count,
    n_results=lambda settings: settings.size,
    report=lambda results: [],
    packages=("numpy",),
)


def test_each_result_has_its_provenance() -> None:
    results = list(run_recipe(RECIPE, seed=40))
    assert [(result["step"], result["value"]) for result in results] == [(0, 40), (1, 41), (2, 42)]
    versions = {"python": platform.python_version(), "numpy": importlib.metadata.version("numpy")}
    known = {
        "recipe": "counting",
        "seed": 40,
        "settings": {"size": 3, "names": ["a"]},
        "versions": versions,
    }
    for result in results:
        assert {name: result[name] for name in known} == known
        assert result["machine"]["cores"] > 0
        assert result["machine"]["processor"]
        assert len(result["date"]) == len("2026-01-01")
        assert result["commit"] is None or re.fullmatch(COMMIT, result["commit"])
        assert json.loads(json.dumps(result)) == result


def test_the_commit_of_a_checkout_is_marked_if_the_package_was_changed(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        names = (
            "-c",
            "user.name=somebody",
            "-c",
            "user.email=a@example.org",
            "-c",
            "commit.gpgsign=false",
        )
        subprocess.run(
            ["git", "-C", str(tmp_path), *names, *arguments], check=True, capture_output=True
        )

    module = tmp_path / "sklearn_hashnlp" / "module.py"
    module.parent.mkdir()
    module.write_text("x = 1\n", encoding="utf-8")
    assert commit_of(tmp_path) is None
    git("init")
    assert commit_of(tmp_path) is None  # no commit yet
    git("add", ".")
    git("commit", "-m", "x")
    (tmp_path / "results.json").write_text("{}", encoding="utf-8")
    commit = commit_of(tmp_path)
    assert commit is not None
    assert re.fullmatch(COMMIT, commit)
    assert "changed" not in commit
    module.write_text("x = 2\n", encoding="utf-8")
    assert commit_of(tmp_path) == f"{commit}, changed"


def test_results_are_yielded_one_by_one_and_logged() -> None:
    lines: list[str] = []
    progress: list[tuple[int, int]] = []
    results = run_recipe(
        RECIPE,
        settings=Some(size=2),
        log=lines.append,
        progress=lambda *args: progress.append(args),
    )
    next(results)
    assert (lines, progress) == (["now 0"], [(1, 2)])
    assert len(list(results)) == 1
    assert (lines, progress) == (["now 0", "now 1"], [(1, 2), (2, 2)])


def test_a_wrong_number_of_results_is_an_error() -> None:
    wrong = replace(RECIPE, n_results=lambda settings: 4)
    with pytest.raises(
        RuntimeError, match="'counting' declares 4 results for these settings, but yielded 3"
    ):
        list(run_recipe(wrong))


def test_planned_runs_are_unique_and_named(counting: Any) -> None:
    runs = plan_runs(
        [counting, counting], datasets=["ag", "imdb"], seeds=range(2), changes=["size=3", "here=x"]
    )
    assert [run.name for run in runs] == [
        "counting on ag, seed 0",
        "counting on ag, seed 1",
        "counting on imdb, seed 0",
        "counting on imdb, seed 1",
    ]
    assert len({run.folder_name for run in runs}) == 4
    assert {run.n_results for run in runs} == {3}
    elsewhere = plan_runs([counting], datasets=["ag"], changes=["size=3", "here=y"])
    assert elsewhere[0].identity == runs[0].identity
    with pytest.raises(ValueError, match="counting: There is no setting 'sice'"):
        plan_runs([counting], changes=["sice=3"])


@pytest.mark.parametrize(
    ("results", "kind", "message"),
    [
        (None, TypeError, "The experiment 'counting': run must yield results, it returned None."),
        ([3], TypeError, "run must yield dicts, it yielded 3."),
        ([{"seed": 1, "step": 2, "x": 1}], ValueError, "results have the keys seed, step already"),
        ([{"x": {1}}], TypeError, "JSON cannot hold the result 'x', which is set"),
    ],
)
def test_a_result_that_cannot_be_written_is_an_error(
    results: Any, kind: type[Exception], message: str
) -> None:
    recipe = replace(RECIPE, run=lambda _settings, _run: results)
    with pytest.raises(kind, match=re.escape(message)):
        list(run_recipe(recipe))
