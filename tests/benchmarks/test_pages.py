"""The pages of the docs and the README show the stored results, and each result names where it was
measured.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.commands import comparison_tables, experiment_tables, readme_tables
from benchmarks.commands.docs import DOCS, README, filled_pages
from benchmarks.commands.report import make_plots
from benchmarks.commands.scripts import find_scripts, import_script
from benchmarks.common.benchmark import FOLDER
from benchmarks.common.pages import fill
from benchmarks.runner.results_file import read_results

QUOTED = [name for name in find_scripts() if hasattr(import_script(name), "TABLES")]
# Figures that people copied onto pages without a generated table.
COPIED: dict[tuple[str, str], Callable[[Any], list[str]]] = {
    ("on_device.md", "on_device"): lambda result: [
        f"{one['bytes after']:,} | {one['file bytes']:,} | {one['accuracy before']:.1f} | "
        f"{one['accuracy after']:.1f}"
        for one in result["models"]
    ],
    ("text_features.md", "ngram_dictionary"): lambda result: [
        f"| {one['fit s'] + one['transform s']:.1f} | {one['growth MiB']:,.0f} |"
        for methods in result["sets"].values()
        for one in methods.values()
    ],
    ("sgnn.md", "sgnn_projection"): lambda result: [f"| | {' | '.join(result['cases'])} |"],
    ("sgnn_reproduction.md", "sgnn_accuracy"): lambda result: [
        f"| {cells['sgnn']['accuracy']:.1f} ± {cells['sgnn']['spread']:.1f} |"
        for cells in result["accuracy"].values()
    ],
}


def test_pages_show_the_results_of_their_files() -> None:
    for path, text in filled_pages().items():
        assert path.read_text(encoding="utf-8") == text, (
            f"{path.name}: run python -m benchmarks docs"
        )


def test_no_table_is_empty() -> None:
    pages = [README, *DOCS.glob("*.md")]
    empty = re.compile(r"<!-- table: ([a-z ]+) -->\s*<!-- end of table -->")
    assert not [
        (path.name, found)
        for path in pages
        for found in empty.findall(path.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize(("page", "file"), COPIED)
def test_copied_figures_equal_the_stored_results(page: str, file: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    result = json.loads((FOLDER / f"{file}.json").read_text(encoding="utf-8"))
    assert not [figures for figures in COPIED[page, file](result) if figures not in text]


@pytest.mark.parametrize("name", QUOTED)
def test_each_table_of_a_benchmark_is_on_its_page(name: str) -> None:
    module = import_script(name)
    page = (DOCS / module.PAGE).read_text(encoding="utf-8")
    for table in module.TABLES:
        assert page.count(f"<!-- table: {table} -->\n") == 1
        assert "another figure" in fill(page, {table: "another figure"})


def test_every_table_on_a_page_is_of_a_benchmark() -> None:
    known = {table for name in QUOTED for table in import_script(name).TABLES} | set(
        comparison_tables.tables()
    )
    pages = [page.read_text("utf-8") for page in DOCS.glob("*.md")]
    assert {
        name for page in pages for name in re.findall("<!-- table: ([a-z ]+) -->\n", page)
    } == known


def test_experiments_are_on_their_pages() -> None:
    for page, files in experiment_tables.FILES.items():
        text = (DOCS / page).read_text(encoding="utf-8")
        shown = {
            name for block in experiment_tables.BLOCK.finditer(text) for name in block[2].split()
        }
        assert shown == {
            result["recipe"] for file in files for result in read_results(FOLDER / f"{file}.jsonl")
        }


def test_plots_and_figures_are_those_of_the_results() -> None:
    results, page = (
        read_results(FOLDER / "experiments.jsonl"),
        (DOCS / "experiments.md").read_text(encoding="utf-8"),
    )
    for name, _ in make_plots(results):
        assert f"images/{name}.png" in page
        assert (DOCS / "images" / f"{name}.png").exists()
    changed = [
        result | {"accuracy": 0.5} if result["recipe"] == "hash-embed-nodict" else result
        for result in results
    ]
    assert experiment_tables.fill(page, changed) != page


def test_a_benchmark_is_reported_by_the_same_command(bench: Any, tmp_path: Path) -> None:
    result = bench("report", FOLDER / "serving.json", "--markdown", tmp_path / "tables.md")
    assert result.code == 0, result.err
    assert "| fastText, 2,000,000 buckets |" in result.out
    assert "| fastText, 2,000,000 buckets |" in (tmp_path / "tables.md").read_text()
    (tmp_path / "other.json").write_text(json.dumps({}))
    assert bench("report", tmp_path / "other.json").code == 1


def test_the_table_of_the_readme_quotes_results_of_the_present_code() -> None:
    assert readme_tables.tables()["other programs"] in README.read_text(encoding="utf-8")
    for name in readme_tables.FILES:
        result = readme_tables.read_result(readme_tables.FOLDER / f"{name}.json")
        parts = [result] if name != "classifiers" else [result["speed"], result["prediction"]]
        assert not any("changed since" in part for part in parts), name


def measurements(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the parts of a file that were measured together."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        yield from map(json.loads, text.splitlines())
    else:
        result = json.loads(text)
        yield from [result] if "date" in result else result.values()


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json*")), ids=lambda path: path.name)
def test_a_result_names_its_date_commit_machine_and_versions(path: Path) -> None:
    for measured in measurements(path):
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", measured["date"])
        assert re.fullmatch(
            r"[0-9a-f]{7,} of 20\d\d-\d\d-\d\d \d\d:\d\d(, changed)?", measured["commit"]
        )
        assert measured.get("changed since", "something")
        assert measured["machine"]["processor"]
        assert measured["machine"]["cores"] > 0
        assert {"python", "sklearn-hashnlp"} <= measured["versions"].keys()
