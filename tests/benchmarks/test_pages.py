"""The pages of the docs show the stored results, of benchmarks and of experiments."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.commands import experiment_tables
from benchmarks.commands.docs import DOCS, filled_pages
from benchmarks.commands.report import make_plots
from benchmarks.commands.scripts import find_scripts, import_script
from benchmarks.common.benchmark import FOLDER
from benchmarks.common.pages import fill
from benchmarks.runner.results_file import read_results

QUOTED = [name for name in find_scripts() if hasattr(import_script(name), "TABLES")]


def test_pages_show_the_results_of_their_files() -> None:
    for path, text in filled_pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run python -m benchmarks docs"


@pytest.mark.parametrize("name", QUOTED)
def test_each_table_of_a_benchmark_is_on_its_page(name: str) -> None:
    module = import_script(name)
    page = (DOCS / module.PAGE).read_text(encoding="utf-8")
    for table in module.TABLES:
        assert page.count(f"<!-- table: {table} -->\n") == 1
        assert "another figure" in fill(page, {table: "another figure"})


def test_every_table_on_a_page_is_of_a_benchmark() -> None:
    known = {table for name in QUOTED for table in import_script(name).TABLES}
    pages = [*DOCS.glob("*.md")]
    shown = {name for page in pages for name in re.findall("<!-- table: ([a-z ]+) -->\n", page.read_text("utf-8"))}
    assert shown == known


def test_experiments_are_on_their_pages() -> None:
    for page, files in experiment_tables.FILES.items():
        text = (DOCS / page).read_text(encoding="utf-8")
        shown = {name for block in experiment_tables.BLOCK.finditer(text) for name in block[2].split()}
        assert shown == {result["recipe"] for file in files for result in read_results(FOLDER / f"{file}.jsonl")}


def test_plots_and_figures_are_those_of_the_results() -> None:
    results, page = read_results(FOLDER / "experiments.jsonl"), (DOCS / "experiments.md").read_text(encoding="utf-8")
    for name, _ in make_plots(results):
        assert f"images/{name}.png" in page
        assert (DOCS / "images" / f"{name}.png").exists()
    changed = [result | {"accuracy": 0.5} if result["recipe"] == "hash-embed-nodict" else result for result in results]
    assert experiment_tables.fill(page, changed) != page


def test_a_benchmark_is_reported_by_the_same_command(bench: Any, tmp_path: Path) -> None:
    result = bench("report", FOLDER / "serving.json", "--markdown", tmp_path / "tables.md")
    assert result.code == 0, result.err
    assert "| fastText, 2,000,000 buckets |" in result.out
    assert "| fastText, 2,000,000 buckets |" in (tmp_path / "tables.md").read_text()
    (tmp_path / "other.json").write_text(json.dumps({}))
    assert bench("report", tmp_path / "other.json").code == 1
