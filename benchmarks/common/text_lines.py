"""The lines of a text file."""

from __future__ import annotations

import numpy as np

from .labelled_sets import DataFolder


def read_text(data: DataFolder, name: str, file: str) -> list[str]:
    """Read the lines of a file in which something stands; a random choice, in their order, if not all are wanted."""
    text = (data.path / name / file).read_text(encoding="utf-8")
    lines = [line for line in text.split("\n") if line.strip()]
    if data.rows is None or data.rows >= len(lines):
        return lines
    kept = np.sort(np.random.default_rng(0).choice(len(lines), data.rows, replace=False))
    return [lines[i] for i in kept]
