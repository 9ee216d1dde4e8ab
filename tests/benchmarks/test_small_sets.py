"""Tests of the benchmarks on few training rows: against a linear model, and with pretrained vectors."""

import importlib
import json

import numpy as np
import pytest

from tests.benchmarks.labeled_rows import rows


def test_both_models_are_measured_once_on_the_same_rows(data, capsys, monkeypatch):
    module, path = importlib.import_module("benchmarks.accuracy.bench_small_sets"), data / "results.json"
    arguments = ["--data", str(data), "--output", str(path), "--sets", "trec", "--sizes", "20", "0", "--seeds", "2"]
    module.main([*arguments, "--cache", str(data / "cache")])
    cells = json.loads(path.read_text(encoding="utf-8"))["sets"]["trec"]
    assert list(cells) == ["20", "0"]
    assert cells["0"]["ours"] == cells["0"]["linear"] == 100
    assert len(cells["20"]["chosen"]) == 2
    assert len(cells["0"]["chosen"]) == 1  # the linear model has no seed
    assert sorted(file.name for file in (data / "cache").iterdir()) == [
        "trec-0-0.npz",
        "trec-20-0.npz",
        "trec-20-1.npz",
    ]
    monkeypatch.setattr(module, "measure", None)  # nothing is measured twice
    module.main(arguments)
    assert "Mean lead, 0 rows: +0.00 over 1 sets" in capsys.readouterr().out


def test_samples_are_training_rows_and_differ_by_seed():
    train = rows(a=50, b=50)
    first, second = (train.sample(30, seed) for seed in (0, 1))
    assert len(set(first.texts)) == 30
    assert set(first.texts) != set(second.texts)
    known = dict(zip(train.texts, train.labels, strict=True))
    assert all(known[text] == label for text, label in zip(first.texts, first.labels, strict=True))
    assert train.sample(None) == train.sample(100) == train


def test_the_interval_of_a_lead_holds_nine_tenths_of_the_means():
    module = importlib.import_module("benchmarks.common.samples")
    lead = np.random.default_rng(0).normal(1, 10, size=400)
    low, high = module.bootstrap(lead)
    error = lead.std() / np.sqrt(400)
    assert (low, high) == pytest.approx((lead.mean() - 1.645 * error, lead.mean() + 1.645 * error), abs=0.1)


def test_pretrained_vectors_are_measured_once_beside_ngrams_alone(data, capsys, monkeypatch):
    module, path = importlib.import_module("benchmarks.accuracy.bench_pretrained"), data / "results.json"
    (data / "wikipedia").mkdir()
    (data / "wikipedia" / "paragraphs.txt").write_text("A film is long. It is dull.\nThe acting is fine. It is warm.\n")
    arguments = ["--data", str(data), "--output", str(path), "--sets", "trec", "--sizes", "20", "--seeds", "2"]
    module.main(arguments)
    cells = json.loads(path.read_text(encoding="utf-8"))["sets"]["trec"]["20"]
    assert list(cells) == ["without", "Wikipedia", "and own texts"]
    assert "interval" in cells["Wikipedia"]
    assert "interval" not in cells["without"]
    monkeypatch.setattr(module, "fitted", None)  # nothing is measured twice
    capsys.readouterr()
    module.main(arguments)
    assert "| TREC | 20" not in (out := capsys.readouterr().out)
    assert "n-grams | Wikipedia" in out
