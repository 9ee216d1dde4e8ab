"""Labeled rows for the tests of benchmarks."""

import importlib
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "benchmarks"
FILMS = {"good": ["a fine, funny film", "funny and fine acting"], "bad": ["dull and far too long", "too dull to see"]}


def rows(**labels):
    module = importlib.import_module("benchmarks.common.data")
    pairs = [(f"{label} {i}", label) for label, times in labels.items() for i in range(times)]
    return module.Rows([text for text, _ in pairs], [label for _, label in pairs])


def read_texts(path):
    return [line.partition(",")[2].strip('"') for line in path.read_text(encoding="utf-8").splitlines()[1:]]
