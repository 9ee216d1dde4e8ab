"""The page of benchmarks has the figures of the JSON files, and shows every row in which another program is better."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "site")
    return importlib.import_module("benchmark_page")


def section(page, heading):
    return re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)[1]


def test_the_figures_are_those_of_the_files(module):
    result = json.loads((module.RESULTS / "vectorizers.json").read_text(encoding="utf-8"))["cases"]["words 1-2"]
    (row,) = (line for line in module.page().splitlines() if "words 1-2" in line)
    assert f"| **{result['ratio']:.0f}&nbsp;times** |" in row
    assert f"| {result['ours s']:.4f}&nbsp;s | {result['scikit-learn s']:.2f}&nbsp;s |" in row


def test_losses_stand_in_a_table_of_their_own(module):
    page = module.page()
    rows = [line for line in page.splitlines() if re.match(r"\| \*\*(-|0\.)", line)]
    losses = section(page, "Where others are better")
    assert len(rows) >= 10
    for row in rows:
        assert row in losses
        assert rows.count(row) == 2
    assert f"in {len(rows) // 2} rows" in page
    assert "| **+" not in losses
