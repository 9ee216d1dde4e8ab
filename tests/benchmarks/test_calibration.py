"""Tests of the benchmark of calibration, and of the page that quotes it."""

import importlib
import json
from types import SimpleNamespace

import numpy as np
import pytest

from tests.benchmarks.labeled_rows import FOLDER, read_texts, rows


def test_calibration_is_measured_once_beside_a_linear_model_and_drawn(data, monkeypatch, capsys):
    module, path, plot = (
        importlib.import_module("benchmarks.accuracy.bench_calibration"),
        data / "results.json",
        data / "plot.png",
    )
    monkeypatch.setattr(module, "DRAWN", "trec")
    seen = []
    scores = module.scores
    monkeypatch.setattr(module, "scores", lambda model, rows: seen.append(rows.texts) or scores(model, rows))
    arguments = ["--data", str(data), "--output", str(path), "--sets", "trec", "--seeds", "1"]
    module.main([*arguments, "--plot", str(plot)])
    models = json.loads(path.read_text(encoding="utf-8"))["sets"]["trec"]
    assert [(model, list(one["runs"])) for model, one in models.items()] == [
        ("calibrated", ["0"]),
        ("not calibrated", ["0"]),
        ("linear", ["0"]),
    ]
    assert all(run["accuracy"] == 100 for one in models.values() for run in one["runs"].values())
    assert models["linear"]["C"] == max(module.CS)  # with so clear labels the least regularized is the best
    assert plot.stat().st_size > 10_000
    # C is chosen on validation rows, which are training rows.
    train, test = (set(read_texts(data / "trec" / file)) for file in ("train.csv", "test.csv"))
    assert [set(texts) == test for texts in seen] == [True] * 2 + [False] * len(module.CS) + [True]
    assert all(set(texts) < train for texts in seen[2:-1])
    monkeypatch.setattr(module, "measure", None)  # nothing is measured twice
    module.main(arguments)
    assert "| TREC | calibrate=False | 100.00 |" in capsys.readouterr().out


def test_calibration_is_scored_by_the_probability_of_the_predicted_label():
    module = importlib.import_module("benchmarks.accuracy.bench_calibration")
    probabilities = np.array([[0.9, 0.1], [0.9, 0.1], [0.3, 0.7], [0.3, 0.7]])
    model = SimpleNamespace(classes_=np.array(["a", "b"]), predict_proba=lambda texts: probabilities)
    scores = module.scores(model, rows(a=2, b=2)._replace(labels=["a", "b", "b", "b"]))
    log_loss = -np.log([0.9, 0.1, 0.7, 0.7]).mean()
    assert scores == pytest.approx({"accuracy": 75, "ECE": (0.4 + 0.3) / 2, "log loss": log_loss})


def test_the_page_on_probabilities_quotes_what_was_measured():
    module = importlib.import_module("benchmarks.accuracy.bench_calibration")
    results = json.loads((FOLDER / "results" / module.RESULT).read_text(encoding="utf-8"))
    page = (FOLDER.parent / "docs" / module.PAGE).read_text(encoding="utf-8")
    assert set(results["sets"]) == set(module.SETS)
    means = {
        name: {model: np.mean([run["ECE"] for run in one["runs"].values()]) for model, one in models.items()}
        for name, models in results["sets"].items()
    }
    assert f"from {means['sst2']['not calibrated']:.3f} to {means['sst2']['calibrated']:.3f}" in page
    assert [name for name, eces in means.items() if eces["linear"] < eces["calibrated"]] == ["ag_news", "sst2"]
