"""Tests of the benchmark of further training, and of its tables."""

import importlib
import json


def test_changes_and_nights_are_measured(data, capsys, monkeypatch):
    module, path = importlib.import_module("benchmarks.accuracy.bench_learning_on"), data / "results.json"
    monkeypatch.setattr(module, "MORE", (1, 10))
    monkeypatch.setattr(module, "NIGHT", 2)
    arguments = ["--data", str(data), "--output", str(path), "--sets", "trec", "--sizes", "20", "10000", "--seeds", "1"]
    module.main(arguments)
    cells = json.loads(path.read_text(encoding="utf-8"))["sets"]["trec"]
    assert list(cells) == ["20"]  # there are no 10,000 rows
    assert set(cells["20"]["change"]) == {"1", "10", "refit"}
    assert len(cells["20"]["nights"]["accuracies"]) == 11
    assert "trec, 20: " in capsys.readouterr().out


def test_the_tables_have_a_row_for_each_size():
    module = importlib.import_module("benchmarks.accuracy.bench_learning_on")
    cell = {
        "accuracy": 80.0,
        "change": dict.fromkeys((*module.COLUMNS, "refit"), 1.0),
        "worst": dict.fromkeys(module.COLUMNS, -0.5),
    }
    nights = {"accuracies": [80.0, 81.0], "log_losses": [0.5, 0.4], "top_probabilities": [0.7, 0.7]}
    nights |= {"largest_fall": 0.2, "refit": [81.5, 0.39]}
    text = module.markdown({"sets": {"trec": {"5000": cell | {"nights": nights}, "500": cell}}})
    assert "| TREC | 500 | 80.00 | +1.00 (-0.50) |" in text
    assert text.index("| TREC | 500 |") < text.index("| TREC | 5,000 |")
    assert "| TREC | 5,000 | 80.00, 0.500, 0.700 | 81.00, 0.400, 0.700 | 0.20 | 81.50, 0.390 |" in text
