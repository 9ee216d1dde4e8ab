"""The benchmarks: scripts ``bench_*.py`` with options of their own, which write a JSON file.

The script ``train_pretrained.py`` writes the encoder that comes with the package.
"""

from __future__ import annotations

import ast
import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import NoReturn

_FOLDER = Path(__file__).parents[1]


def find_scripts() -> dict[str, Path]:
    """Return the file of each benchmark by its name."""
    trainings = {path.stem.replace("_", "-"): path for path in _FOLDER.glob("*/train_*.py")}
    return {path.stem: path for path in sorted(_FOLDER.glob("*/bench_*.py"))} | trainings


def summary_of(path: Path) -> str:
    """Return the first sentence of the docstring of a script, without its import."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0].rstrip(".")


def import_script(name: str) -> ModuleType:
    """Import a benchmark."""
    path = find_scripts()[name]
    return importlib.import_module(f"benchmarks.{path.parent.name}.{path.stem}")


def run_script(name: str, arguments: Sequence[str]) -> NoReturn:
    """Run a benchmark with its own arguments."""
    sys.argv[0] = f"benchmarks run {name}"  # in its messages
    sys.exit(import_script(name).main(list(arguments)))


def script_of(path: Path) -> Path | None:
    """Return the script that writes a JSON file, or None."""
    line = f'\nRESULT = "{path.name}"\n'
    scripts = find_scripts().values()
    return next((file for file in scripts if line in file.read_text(encoding="utf-8")), None)


def result_tables(path: Path) -> list[str]:
    """Return the tables of the JSON file of a benchmark, as Markdown."""
    result = json.loads(path.read_text(encoding="utf-8"))
    if (script := script_of(path)) is None:
        return []
    return [make(result) for make in getattr(import_script(script.stem), "TABLES", {}).values()]
