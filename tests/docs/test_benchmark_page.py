"""The page of benchmarks has the figures of the JSON files."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_figures_are_those_of_the_files(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "site")
    module = importlib.import_module("benchmark_page")
    result = json.loads((module.RESULTS / "vectorizers.json").read_text(encoding="utf-8"))["cases"]["words 1-2"]
    (row,) = (line for line in module.page().splitlines() if "words 1-2" in line)
    assert f"| **{result['ratio']:.0f}&nbsp;times&nbsp;as&nbsp;fast** |" in row
    assert f"| {result['ours s']:.4f}&nbsp;s | {result['scikit-learn s']:.2f}&nbsp;s |" in row
