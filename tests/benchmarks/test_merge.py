"""Tests of the benchmark of merged classifiers."""

import importlib
import json
import shutil


def test_each_number_of_parts_is_measured_once(data, capsys, monkeypatch):
    module, path = importlib.import_module("benchmarks.accuracy.bench_merge"), data / "results.json"
    monkeypatch.setattr(module, "EPOCHS", (1,))
    shutil.copytree(data / "trec", data / "ag_news")
    arguments = ["--data", str(data), "--output", str(path), "--parts", "2", "--seeds", "1"]
    module.main(arguments)
    result = json.loads(path.read_text(encoding="utf-8"))
    assert list(result["parts"]) == ["1", "2"]
    assert result["rows"] == 60
    assert result["parts"]["1"]["accuracy"]["merged"] == result["parts"]["1"]["accuracy"]["alone"]
    assert len(result["parts"]["2"]["accuracy"]["vote"]) == 1
    monkeypatch.setattr(module, "measure", None)  # nothing is measured twice
    capsys.readouterr()
    module.main(arguments)
    assert "| 2 | 100.00 | 100.00 |" in capsys.readouterr().out


def test_cost_is_in_proportion_to_the_documents():
    module = importlib.import_module("benchmarks.accuracy.bench_merge")
    scale = {"methods": {"partial_fit": {"runs": [{"documents": 10, "seconds": 0.001, "peak MiB": 600.4}]}}}
    vectorizers = {"cases": {"words 1-2": {"ours s": 0.001}}, "data": {"texts": 1000}}
    lines = module.cost_markdown(scale, vectorizers).splitlines()
    assert lines[2] == "| 1,000,000 | 1.0 s | 100 s | 6.2 s | 600 MiB |"
    assert lines[-1] == "| 1,000,000,000 | 17 min | 28 h | 104 min | 600 MiB |"
