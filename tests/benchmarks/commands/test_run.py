"""``python -m benchmarks run``: tiny runs, finished and resumed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.runner import Recipe

TINY = ["--quick", "--set", "n_train=20", "--set", "epochs=1", "--set", "max_epochs=1"]


def test_a_run_prints_a_table_and_appends_lines(bench: Any, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text('{"an": "older line"}\n')
    result = bench("run", "reversal", *TINY, "--seed", "3", "--output", path)
    assert result.code == 0, result.err
    assert "Speed ratio, full softmax / tree" in result.out
    assert "\nfresh strings, hsigmoid: epoch 1 of 1, exact match" in result.err
    assert f"Added 5 results to {path}" in result.err
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0] == {"an": "older line"}
    assert len(lines) == 6
    assert {line["seed"] for line in lines[1:]} == {3}
    assert {line["settings"]["n_train"] for line in lines[1:]} == {20}
    assert [line["step"] for line in lines[1:]] == list(range(5))
    assert lines[1]["versions"]["torch"]


def test_all_data_sets_are_those_of_the_paper(bench: Any, counting: Recipe, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    result = bench(
        "run", counting.name, "-d", "all", "-d", "imdb", "--set", "size=1", "-o", path, "--quiet"
    )
    assert (result.code, result.out, result.err) == (0, "", "")
    names = [json.loads(line)["settings"]["dataset"] for line in path.read_text().splitlines()]
    assert names == [
        "ag",
        "amazon",
        "dbpedia",
        "yahoo",
        "yelp",
        "amazon-polarity",
        "yelp-polarity",
        "imdb",
    ]


def test_each_experiment_on_each_data_set_with_each_seed(
    bench: Any, counting: Recipe, tmp_path: Path
) -> None:
    path = tmp_path / "results.jsonl"
    command = [
        "run",
        counting.name,
        "-d",
        "ag",
        "-d",
        "imdb",
        "--seed",
        "5",
        "--seeds",
        "2",
        "-o",
        path,
    ]
    result = bench(*command)
    assert result.code == 0, result.err
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["settings"]["dataset"], line["seed"]) for line in lines[::4]] == [
        ("ag", 5),
        ("ag", 6),
        ("imdb", 5),
        ("imdb", 6),
    ]
    assert "counting on imdb, seed 5: counted to 1\n" in result.err
    assert "counting on imdb, seed 5: finished (3 of 4 runs)" in result.err
    assert "counting on imdb, seed 6: finished (4 of 4 runs)" in result.err

    again = bench(*command)
    assert again.out == result.out
    assert again.err.startswith("counting on ag, seed 5: finished before\n")
    assert "Added 0 results" in again.err
    assert len(path.read_text().splitlines()) == 16


def test_a_failed_run_stops_no_other(bench: Any, counting: Recipe, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    result = bench("run", counting.name, "--seeds", 3, "--set", "fails=0", "-o", path)
    assert result.code == 1
    assert len(path.read_text().splitlines()) == 2 + 4 + 4
    assert result.out.count("\n  ag ") == 10
    assert "counting on ag, seed 0: failed: seed 0 is not wanted (0 of 3 runs)" in result.err
    assert result.err.splitlines()[-1] == (
        "benchmarks: 1 of 3 runs failed; the same command resumes them. The first was counting on "
        "ag, seed 0: seed 0 is not wanted"
    )


def test_bars_are_shown_on_a_terminal(
    bench: Any, counting: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    result = bench("run", counting.name, "--seeds", 2)
    assert result.code == 0
    assert "all runs" in result.err
    assert "all runs" not in bench("run", counting.name).err


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (1, ["nonsense"], "no experiment 'nonsense'; there are:"),
        (1, ["reversal", "--set", "nonsense=1"], "reversal: There is no setting 'nonsense'"),
        (
            1,
            ["reversal", "-d", "ag"],
            "The experiment 'reversal' has one dataset only; leave out --data.",
        ),
        (
            1,
            ["reversal", "--set", "outputs=softmax,other", "--quick"],
            "must be 'softmax' or 'hsigmoid'",
        ),
        (1, ["reversal", "--output", "no/such/folder/file"], "No such file or directory"),
        (
            1,
            ["reversal", "--set", "epochs=0"],
            "epochs must be 1 or more, and max_epochs 0 or more, got epochs=0",
        ),
        (1, ["collisions", "--set", "examples=x"], "Examples must be given as V:n:B:k"),
    ],
)
def test_errors_are_one_line(bench: Any, code: int, arguments: list[str], message: str) -> None:
    result = bench("run", *arguments)
    assert result.code == code
    assert message in result.err
    assert len(result.err.splitlines()) == 1


def test_a_file_of_other_content_is_not_changed(
    bench: Any, counting: Recipe, tmp_path: Path
) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n")
    result = bench("run", counting.name, "-o", path)
    assert result.code == 1
    assert f"{path}, line 1 is not JSON" in result.err
    assert path.read_text() == "a,b\n"
    for wrong in (["--seeds", "0"], ["--seeds", "2", "--seed", 2**32 - 1], ["--processes", "0"]):
        assert bench("run", counting.name, *wrong).code == 1
