"""Folders of benchmarks import one way, no files import each other, and all of them have a size to
read.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.benchmarks.labeled_rows import FOLDER
from tests.sizes import functions, length
from tests.test_imports import PACKAGE, circles, names_above

# Each row may import from the rows above it, and nothing within a row from another folder of that
# row.
ALLOWED = names_above(
    [
        ("runner",),
        ("common", "recipes"),
        ("language",),
        ("speed",),
        ("accuracy",),
        ("commands",),
        ("__main__",),
    ]
)
FILES = sorted(FOLDER.rglob("*.py"))
IMPORT = re.compile(r"^\s*(from|import) benchmarks\b", re.MULTILINE)


def imports(path: Path) -> set[str]:
    """Return the modules of benchmarks that a file imports."""
    nodes = [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
    ]
    names = {f"{node.module}.{alias.name}" for node in nodes for alias in node.names} | {
        str(n.module) for n in nodes
    }
    return {name for name in names if name.startswith("benchmarks.")}


@pytest.mark.parametrize("folder", [folder for folder in ALLOWED if folder != "__main__"])
def test_folders_import_one_way(folder: str) -> None:
    for path in (FOLDER / folder).rglob("*.py"):
        assert {name.split(".")[1] for name in imports(path)} - {folder} <= ALLOWED[folder], path


def test_no_files_import_each_other_and_the_package_imports_none() -> None:
    modules = {
        f"benchmarks.{path.relative_to(FOLDER).with_suffix('').as_posix()}".replace("/", "."): path
        for path in FILES
    }
    graph = {name: imports(path) & set(modules) - {name} for name, path in modules.items()}
    assert not circles(graph)
    assert not [
        path for path in PACKAGE.rglob("*.py") if IMPORT.search(path.read_text(encoding="utf-8"))
    ]


def test_files_functions_and_folders_are_small() -> None:
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= 600, path
        assert max(map(length, functions(text)), default=0) <= 80, path
    assert max(Counter(path.parent for path in FILES).values()) <= 23
