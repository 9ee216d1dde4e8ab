"""The pages of the docs with results; ``python -m benchmarks docs`` writes tables and figures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.commands import comparison_tables, experiment_tables, readme_tables
from benchmarks.commands.registry import RECIPES
from benchmarks.commands.report import save_plots
from benchmarks.commands.scripts import find_scripts, import_script
from benchmarks.common.benchmark import FOLDER, read_result
from benchmarks.common.pages import fill
from benchmarks.runner.results_file import read_results

DOCS = Path(__file__).parents[2] / "docs"
README = DOCS.with_name("README.md")


def filled_pages() -> dict[Path, str]:
    """Return the text of each page with the tables of the stored results."""
    of_all_files = {
        README: readme_tables.tables(),
        DOCS / "benchmarks.md": comparison_tables.tables(),
    }
    pages = {
        path: fill(path.read_text(encoding="utf-8"), tables)
        for path, tables in of_all_files.items()
    }
    for module in map(import_script, find_scripts()):
        if hasattr(module, "TABLES"):
            path, result = DOCS / module.PAGE, read_result(FOLDER / module.RESULT)
            tables = {name: make(result) for name, make in module.TABLES.items()}
            pages[path] = fill(pages.get(path) or path.read_text(encoding="utf-8"), tables)
    for name, files in experiment_tables.FILES.items():
        path = DOCS / name
        results = [result for file in files for result in read_results(FOLDER / f"{file}.jsonl")]
        pages[path] = experiment_tables.fill(
            pages.get(path) or path.read_text(encoding="utf-8"), results
        )
    return pages


def update() -> None:
    """Write the tables into the pages, and draw the figures."""
    for path, text in filled_pages().items():
        path.write_text(text, encoding="utf-8")
    subprocess.run([sys.executable, str(DOCS / "images" / "diagrams.py")], check=True)
    for name in ("experiments", "ngram-memory"):
        save_plots(DOCS / "images", read_results(FOLDER / f"{name}.jsonl"), RECIPES, dpi=120)
