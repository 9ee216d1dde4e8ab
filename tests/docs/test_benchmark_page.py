"""The page of benchmarks has the figures of the JSON files, and shows every row in which another program is better."""

from __future__ import annotations

import importlib
import json
import re
import shutil
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "site")
    return importlib.import_module("benchmark_page")


@pytest.fixture
def results(module, monkeypatch, tmp_path):
    """Return a copy of the results, which the page then is made from."""
    shutil.copytree(module.RESULTS, tmp_path / "results")
    monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
    return tmp_path / "results"


def change(path, edit):
    result = json.loads(path.read_text(encoding="utf-8"))
    edit(result)
    path.write_text(json.dumps(result), encoding="utf-8")


def section(page, heading):
    return re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)[1]


def test_the_figures_are_those_of_the_files(module):
    result = json.loads((module.RESULTS / "vectorizers.json").read_text(encoding="utf-8"))["cases"]["words 1-2"]
    (row,) = (line for line in module.page().splitlines() if "words 1-2" in line)
    assert f"| **{result['ratio']:.0f}&nbsp;times** |" in row
    assert f"| {result['ours s']:.4f}&nbsp;s | {result['scikit-learn s']:.2f}&nbsp;s |" in row


def test_stored_ratios_agree_with_their_figures(module):
    results = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in module.RESULTS.glob("*.json")}
    for one in (*module.SPEED, *module.MEMORY):
        ours, theirs = (module._get(results[one.file], keys) for keys in (one.ours, one.theirs))
        ratio = ours / theirs if one.more_is_better else theirs / ours
        if one.ratio:  # a median of ratios
            assert module._get(results[one.file], one.ratio) == pytest.approx(ratio, rel=0.1), one.what


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


def test_a_gain_that_is_lost_becomes_a_loss(module, results):
    change(results / "serving.json", lambda result: result["models"]["process"].update({"single texts/s": 100.0}))
    losses = section(module.page(), "Where others are better")
    what = "prediction, one text per call, one thread"
    assert f"| **0.095&nbsp;times** | {what} | TF-IDF and `LinearSVC` | 100&nbsp;texts/s | " in losses


def test_the_machine_is_named(module, results):
    assert "**Machine:** AMD EPYC, 2 cores, Linux. " in module.page()
    change(results / "check.json", lambda result: result["machine"].update({"cores": 64}))
    assert "**Machine:** AMD EPYC, 2 cores, Linux; AMD EPYC, 64 cores, Linux. " in module.page()


def test_every_file_is_a_source_with_what_changed_since(module):
    sources = section(module.page(), "Sources")
    for path in module.RESULTS.glob("*.json"):
        assert f"| `{path.name}` |" in sources
        for changes in module._find(json.loads(path.read_text(encoding="utf-8")), "changed since"):
            assert changes in sources
