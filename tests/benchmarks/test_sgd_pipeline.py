"""Tests of the benchmark of scikit-learn's hashing pipeline."""

import importlib
import json


def test_the_three_pipelines_are_measured_on_the_same_rows(data, capsys, monkeypatch):
    module, path = importlib.import_module("benchmarks.speed.bench_sgd_pipeline"), data / "results.json"
    monkeypatch.setattr(module, "ALPHAS", (1e-4,))
    module.main(["--data", str(data), "--output", str(path), "--sets", "trec", "--seeds", "2"])
    cell = json.loads(path.read_text(encoding="utf-8"))["sets"]["trec"]
    assert cell["rows"] == [60, 12]
    assert cell["models"]["scikit-learn"]["accuracy"] == cell["models"]["vectorizer"]["accuracy"]
    assert all(len(runs["fit"]) == 2 and min(runs["fit"]) > 0 for runs in cell["models"].values())
    assert "| TREC, 60 rows | `HashingVectorizer`" in capsys.readouterr().out


def test_ratios_are_of_the_medians():
    module = importlib.import_module("benchmarks.speed.bench_sgd_pipeline")
    runs = {
        "scikit-learn": {"accuracy": [80.0, 82.0], "fit": [4.0, 4.0], "predict": [1.0, 3.0]},
        "vectorizer": {"accuracy": [80.0, 82.0], "fit": [2.0, 2.0], "predict": [0.5, 0.5]},
        "TextClassifier": {"accuracy": [84.0, 84.0], "fit": [8.0, 8.0], "predict": [1.0, 1.0]},
    }
    lines = module.markdown({"sets": {"trec": {"rows": [1000, 10], "models": runs}}}).splitlines()
    assert lines[2].startswith("| TREC, 1,000 rows |")
    assert "| 81.00 ± 1.41 | 4.00 s | 2.00 s |" in lines[2]
    assert lines[3].endswith("| 2.00 s | 0.50 s | 2.0 | 4.0 |")
    assert lines[4].endswith("| 8.00 s | 1.00 s | 0.5 | 2.0 |")
