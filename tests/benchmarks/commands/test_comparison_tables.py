"""The comparisons on the page of benchmarks have the figures of the JSON files."""

from __future__ import annotations

from benchmarks.commands.comparison_tables import tables
from benchmarks.common.benchmark import FOLDER, read_result


def test_the_figures_are_those_of_the_files() -> None:
    result = read_result(FOLDER / "vectorizers.json")["cases"]["words 1-2"]
    (row,) = (line for line in tables()["comparisons"].splitlines() if "words 1-2" in line)
    assert f"| **{result['ratio']:.0f}&nbsp;times&nbsp;as&nbsp;fast** |" in row
    assert f"| {result['ours s']:.4f}&nbsp;s | {result['scikit-learn s']:.2f}&nbsp;s |" in row
