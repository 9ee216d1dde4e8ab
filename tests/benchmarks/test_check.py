"""Tests of the regression guard: what it measures, and that it fails when a figure is worse."""

import importlib
import json

import pytest

from tests.benchmarks.labeled_rows import FOLDER

MEASURED = {"speed": {"vectorizer": 20.0}, "start": {"start": 1.0}, "memory": {"memory of train, MiB": 100.0}}


def report(**changes):
    measured = {kind: dict(figures) for kind, figures in MEASURED.items()}
    for kind, value in changes.items():
        measured[kind] = dict.fromkeys(measured[kind], value)
    return importlib.import_module("benchmarks.speed.bench_check").report(measured, MEASURED | {"tolerance": 0.75})


@pytest.mark.parametrize(("kind", "good", "bad"), [("speed", 15, 14.9), ("start", 1.33, 1.34), ("memory", 133, 134)])
def test_a_figure_within_the_tolerance_passes_and_a_worse_one_fails(kind, good, bad, capsys):
    assert report() == report(**{kind: good}) == 0
    assert "bench-check passed: all 3 figures are within 75% of what was recorded" in capsys.readouterr().out
    assert report(**{kind: bad}) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"bench-check FAILED: worse than 75% of what was recorded: {next(iter(MEASURED[kind]))}"


def test_a_better_figure_passes():
    assert report(speed=100, start=0.1, memory=1) == 0


def test_a_figure_that_was_never_recorded_fails(capsys):
    module = importlib.import_module("benchmarks.speed.bench_check")
    assert module.report(MEASURED, MEASURED | {"speed": {}}) == 1
    assert "no figure is recorded of: vectorizer. Record them with --record." in capsys.readouterr().out


def test_a_figure_that_is_no_longer_measured_fails(capsys):
    module = importlib.import_module("benchmarks.speed.bench_check")
    assert module.report(MEASURED | {"speed": {}}, MEASURED) == 1
    assert "recorded but not measured: vectorizer" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--record", "--rows", "9"], "--record needs all rows, or --output"),
        (["--rounds", "0"], "--rounds must be at least 1, got 0"),
        (["--output", "nowhere.json"], "no figures are recorded in nowhere.json"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_minutes_of_measuring(arguments, message, capsys, tmp_path):
    with pytest.raises(SystemExit):
        importlib.import_module("benchmarks.speed.bench_check").main(["--data", str(tmp_path), *arguments])
    assert message in capsys.readouterr().err


def test_seconds_are_compared_in_turns():
    module = importlib.import_module("benchmarks.speed.bench_check")
    calls = []
    ratio = module.ratio_of(lambda: calls.append("theirs") or sum(range(10**6)), lambda: calls.append("ours"), rounds=3)
    assert ratio > 10
    assert calls == ["ours", *["ours", "theirs"], *["theirs", "ours"], *["ours", "theirs"]]
    assert 0 < module.processor_seconds([module.sys.executable, "-S", "-c", "input()"]) < 5


def test_every_recorded_figure_is_one_that_is_measured():
    recorded = json.loads((FOLDER / "results" / "check.json").read_text(encoding="utf-8"))
    assert recorded["tolerance"] == importlib.import_module("benchmarks.speed.bench_check").TOLERANCE
    assert {kind: len(recorded[kind]) for kind in MEASURED} == {"speed": 4, "start": 2, "memory": 2}
    assert recorded["speed"]["vectorizer, words 1-2, times scikit-learn"] > 10
