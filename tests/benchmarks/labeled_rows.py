"""Labeled rows for the tests of benchmarks, and a script run on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.commands.scripts import import_script
from benchmarks.common.data import Rows

FOLDER = Path(__file__).parents[2] / "benchmarks"
FILMS = {
    "good": ["a fine, funny film", "funny and fine acting"],
    "bad": ["dull and far too long", "too dull to see"],
}


def rows(**labels: int) -> Rows:
    pairs = [(f"{label} {i}", label) for label, times in labels.items() for i in range(times)]
    return Rows([text for text, _ in pairs], [label for _, label in pairs])


def read_texts(path: Path) -> list[str]:
    return [
        line.partition(",")[2].strip('"')
        for line in path.read_text(encoding="utf-8").splitlines()[1:]
    ]


def run_script(name: str, data: Path, *arguments: str) -> Any:
    """Run a benchmark on a folder of data sets, and return the results it wrote there."""
    path = data / "results.json"
    import_script(name).main(["--data", str(data), "--output", str(path), *arguments])
    return json.loads(path.read_text(encoding="utf-8"))
