"""Tests of the benchmark of serving, and of the page that quotes it."""

import importlib
import json

import pytest

from tests.benchmarks.labeled_rows import FOLDER


def test_every_method_was_measured():
    module = importlib.import_module("benchmarks.speed.bench_serving")
    results = json.loads((FOLDER / "results" / module.RESULT).read_text(encoding="utf-8"))
    assert set(results["models"]) == set(module.METHODS)


def test_a_process_is_measured(tmp_path):
    module = importlib.import_module("benchmarks.speed.bench_serving")
    (tmp_path / "upper.py").write_text("def predict(texts):\n    return [text.upper() for text in texts]\n")
    (tmp_path / "texts.json").write_text(json.dumps(["a", "b"] * 50))
    run = module.run_worker("exported", str(tmp_path / "upper.py"), tmp_path / "texts.json")
    assert 0 < run["start s"] < 5
    assert 5 < run["memory MiB"] < 100
    assert 0 <= run["single ms"] <= run["single p99 ms"]
    assert run["threads texts/s"] > 100
    command = json.dumps([module.sys.executable, "-c", "print(input())"])
    run = module.run_worker("command", command, tmp_path / "texts.json")
    assert 0 < run["start s"] < 5
    assert run["memory MiB"] > 5


def test_the_summary_is_the_median_of_the_processes():
    module = importlib.import_module("benchmarks.speed.bench_serving")
    runs = [
        {"start s": 1.0, "memory MiB": 20.0},
        {"start s": 3.0, "memory MiB": 10.0},
        {"start s": 2.0, "memory MiB": 30.0},
    ]
    assert module.summary(runs) == {"start s": 2.0, "memory MiB": 20.0, "runs": runs}


def test_percentiles():
    module = importlib.import_module("benchmarks.common.serving_worker")
    assert module.percentile([float(value) for value in range(100)], 99) == 99
    assert module.percentile([5.0], 99) == pytest.approx(5)
