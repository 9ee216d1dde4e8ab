"""The JSON file of a benchmark: its options, reading, and atomic writing."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.runner.run import environment  # noqa: F401  # for the scripts

FOLDER = Path(__file__).parents[1] / "results"


def add_output_option(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument(
        "--output", type=Path, help=f"the JSON (default: {name} in benchmarks/results; not written with --rows)"
    )


def output_path(arguments: argparse.Namespace, name: str) -> Path | None:
    """Return the path to write to; None by default with --rows, so that a test run writes no results."""
    if arguments.output is not None or arguments.rows is not None:
        path: Path | None = arguments.output
        return path
    return FOLDER / name


def read_result(path: Path | None) -> dict[str, Any]:
    if path is None or not path.exists():
        return {}
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result


def write_result(path: Path | None, result: dict[str, Any]) -> None:
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    unfinished.replace(path)
