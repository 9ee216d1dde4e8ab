"""The page on experiments shows the results of the JSON lines."""

import importlib

import pytest

from benchmarks.runner.report import make_plots
from benchmarks.runner.results_file import read_results


@pytest.fixture
def tables():
    return importlib.import_module("benchmarks.tables.experiment_tables")


def test_the_page_shows_the_results(tables):
    results, page = read_results(tables.RESULTS), tables.PAGE.read_text(encoding="utf-8")
    assert results
    assert tables.fill(page, results) == page
    shown = {name for block in tables.BLOCK.finditer(page) for name in block[2].split()}
    assert shown == {result["recipe"] for result in results}
    for name, _ in make_plots(results):
        assert f"images/{name}.png" in page
        assert (tables.PAGE.with_name("images") / f"{name}.png").exists()


def test_other_pages_show_the_results_of_their_files(tables):
    for page, names in tables.RECIPES.items():
        text = page.read_text(encoding="utf-8")
        assert tables.BLOCK.search(text)
        results = [result for name in names for result in read_results(tables.FOLDER / f"{name}.jsonl")]
        assert {result["recipe"] for result in results} == set(names)
        assert tables.fill(text, results) == text


def test_other_results_make_another_page(tables):
    results, page = read_results(tables.RESULTS), tables.PAGE.read_text(encoding="utf-8")
    changed = [result | {"accuracy": 0.5} if result["recipe"] == "hash-embed-nodict" else result for result in results]
    assert tables.fill(page, changed) != page
