"""Tests of the benchmark of models of fastText."""

from __future__ import annotations

import importlib
import json

from tests.benchmarks.labeled_rows import FOLDER


def test_every_model_predicts_the_same_labels() -> None:
    bench = importlib.import_module("benchmarks.speed.bench_fasttext_bridge")
    results = json.loads((FOLDER / "results" / bench.RESULT).read_text(encoding="utf-8"))
    assert set(results["models"]) == set(bench.SETTINGS)
    assert results["data"]["texts"] == 7600
    for model in results["models"].values():
        assert model["other labels"] == 0
        assert model["largest difference"] < 1e-4
