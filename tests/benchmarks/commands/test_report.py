"""``python -m benchmarks report``: tables as text, Markdown and JSON; plots."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.runner import Recipe, run_recipe
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
    path, table, folder = (
        write(tmp_path / "results.jsonl", counting),
        tmp_path / "table.md",
        tmp_path / "deep" / "folder",
    )
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


def test_unknown_experiments_are_skipped_by_name(bench: Any, counting: Recipe, tmp_path: Path) -> None:
    path = write(tmp_path / "results.jsonl", counting, quick=True)
    path.write_text(path.read_text().replace('"counting"', '"guessing"', 1))
    result = bench("report", path)
    assert result.out.count("\n  ag ") == 1
    skipped = "Skipped results of unknown experiments: guessing; name your own by --recipe MODULE:NAME"
    assert result.err == f"{skipped}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "line 1 is not JSON. The file must hold JSON lines, as `python -m benchmarks run"),
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


def test_the_results_of_the_repository_can_be_reported(bench: Any) -> None:
    folder = Path(__file__).parents[3] / "benchmarks" / "results"
    result = bench("report", folder / "reversal.jsonl", folder / "hsigmoid-ptb.jsonl")
    assert result.code == 0
    assert "Speed ratio, full softmax / tree" in result.out
    assert "Best on valid.txt: epoch 10 " in result.out
