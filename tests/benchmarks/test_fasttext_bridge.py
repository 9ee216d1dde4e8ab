"""Tests of the benchmark of models of fastText, and of the page that quotes it."""

from __future__ import annotations

import importlib
import json


def test_the_page_on_fasttext_quotes_what_was_measured() -> None:
    module = importlib.import_module("benchmarks.tables.fasttext_bridge_table")
    results = json.loads(module.RESULT.read_text(encoding="utf-8"))
    page = module.PAGE.read_text(encoding="utf-8")
    assert module.fill(page, results) == page  # else: python benchmarks/update_docs.py


def test_every_model_predicts_the_same_labels() -> None:
    bench = importlib.import_module("benchmarks.speed.bench_fasttext_bridge")
    results = json.loads((bench.fasttext_bridge_table.RESULT).read_text(encoding="utf-8"))
    assert set(results["models"]) == set(bench.SETTINGS)
    assert results["data"]["texts"] == 7600
    for model in results["models"].values():
        assert model["other labels"] == 0
        assert model["largest difference"] < 1e-4
