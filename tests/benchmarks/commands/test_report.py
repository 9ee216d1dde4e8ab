"""``python -m benchmarks report``: tables as text, Markdown and JSON; plots."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.commands.registry import RECIPES, get_recipe
from benchmarks.commands.report import make_plots, make_tables, sort_results
from benchmarks.common.benchmark import FOLDER
from benchmarks.runner import Recipe, Table, run_recipe
from benchmarks.runner.run import plan_runs


def write(path: Path, recipe: Recipe, **plan: Any) -> Path:
    with path.open("w") as file:
        for run in plan_runs([recipe], **plan):
            for result in run_recipe(recipe, settings=run.settings, seed=run.seed):
                file.write(f"{json.dumps(result)}\n")
    return path


def test_tables_of_several_files(bench: Any, counting: Recipe, tmp_path: Path) -> None:
    one = write(tmp_path / "one.jsonl", counting, seeds=[1], quick=True)
    other = write(tmp_path / "other.jsonl", counting, seeds=[0, 1], quick=True)
    with other.open("a") as file:
        file.write('{"recipe": "coun')
    result = bench("report", one, other)
    assert result.code == 0
    assert result.out.splitlines() == [
        "",
        "Numbers",
        "  data  seed  value",
        "  ag       0     62",
        "  ag       0    913",
        "  ag       1     93",
        "  ag       1    865",
    ]
    assert result.err == "Skipped 2 results with the settings, seed and step of a later one\n"
    assert bench("report", other, one).out == result.out
    assert bench("report", other).err == ""


def test_markdown_and_plots(bench: Any, counting: Recipe, tmp_path: Path) -> None:
    path = write(tmp_path / "results.jsonl", counting)
    table = tmp_path / "table.md"
    folder = tmp_path / "deep" / "folder"
    result = bench("report", path, "--markdown", table, "--plot", folder)
    assert result.code == 0
    assert table.read_text().splitlines()[:5] == [
        "### Numbers",
        "",
        "| data | seed | value |",
        "|---|---:|---:|",
        "| ag | 0 | 62 |",
    ]
    assert [path.name for path in folder.iterdir()] == ["counting.png"]
    assert (folder / "counting.png").read_bytes().startswith(b"\x89PNG")
    assert f"Tables saved in {table}\n" in result.err
    assert f"Plots saved in {folder / 'counting.png'}\n" in result.err


def test_unknown_experiments_are_skipped_by_name(
    bench: Any, counting: Recipe, tmp_path: Path
) -> None:
    path = write(tmp_path / "results.jsonl", counting, quick=True)
    path.write_text(path.read_text().replace('"counting"', '"guessing"', 1))
    result = bench("report", path)
    assert result.out.count("\n  ag ") == 1
    skipped = (
        "Skipped results of unknown experiments: guessing; name your own by --recipe MODULE:NAME"
    )
    assert result.err == f"{skipped}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a,b\n1,2\n",
            "line 1 is not JSON. The file must hold JSON lines, as `python -m benchmarks run",
        ),
        ("", "No results of experiments or benchmarks in "),
        ('{"an": "older line"}\n', "No results of experiments or benchmarks in "),
        (None, "No such file or directory"),
    ],
)
def test_a_file_without_results_is_an_error_of_one_line(
    bench: Any, tmp_path: Path, text: str | None, message: str
) -> None:
    path = tmp_path / "results.jsonl"
    if text is not None:
        path.write_text(text)
    result = bench("report", path)
    assert result.code == 1
    assert message in result.err
    assert len(result.err.splitlines()) == 1


def made(
    recipe: str, seed: int, step: int | None = 0, value: int = 0, **settings: Any
) -> dict[str, Any]:
    result = {"recipe": recipe, "seed": seed, "settings": settings, "value": value}
    return result if step is None else result | {"step": step}


def report(results: Sequence[dict[str, Any]]) -> list[Table]:
    return [Table("Both", ["recipe"], [[result["recipe"]] for result in results])]


def other_report(results: Sequence[dict[str, Any]]) -> list[Table]:
    return [Table("One", ["seed"], [[str(result["seed"])] for result in results])]


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> None:
    def plot(results: Sequence[dict[str, Any]], figure: list[Any]) -> None:
        figure.extend(result["recipe"] for result in results)

    for name, how, draw in (("a", report, plot), ("b", other_report, None), ("c", report, plot)):
        monkeypatch.setitem(
            RECIPES, name, replace(get_recipe("reversal"), name=name, report=how, plot=draw)
        )


@pytest.mark.usefixtures("three")
def test_recipes_with_the_same_report_share_its_tables() -> None:
    results = [made("c", 0), made("b", 1), made("a", 0), made("b", 0)]
    tables = [Table("Both", ["recipe"], [["a"], ["c"]]), Table("One", ["seed"], [["0"], ["1"]])]
    assert make_tables(results) == make_tables(results[::-1]) == tables
    assert make_tables([]) == []


@pytest.mark.usefixtures("three")
def test_recipes_with_the_same_plot_are_drawn_together() -> None:
    [(name, draw)] = make_plots([made("c", 0), made("b", 1), made("a", 0)])
    figure: Any = []
    draw(figure)
    assert (name, figure) == ("a", ["a", "c"])


@pytest.mark.usefixtures("three")
def test_the_order_is_always_the_same() -> None:
    results = [made(*key) for key in (("b", 0), ("a", 1, 1), ("a", 1, 0), ("a", 0, 0))]
    results += [made("a", 0, size=2), made("a", 0, size=1), made("unknown", 0)]
    ordered = sort_results(results)
    assert ordered == sort_results(results[::-1])
    assert [
        (result["recipe"], result["settings"].get("size"), result["seed"], result["step"])
        for result in ordered
    ] == [
        ("a", 1, 0, 0),
        ("a", 2, 0, 0),
        ("a", None, 0, 0),
        ("a", None, 1, 0),
        ("a", None, 1, 1),
        ("b", None, 0, 0),
    ]


def test_a_reader_that_ends_early_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "benchmarks", "report", str(FOLDER / "serving.json")]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")
