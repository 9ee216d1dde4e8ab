"""The examples run to their end, small in one process and whole in one each."""

from __future__ import annotations

import ast
import os
import runpy
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
# needs engines that tests do without: see test_cluster_examples
CLUSTER = EXAMPLES / "07_larger_than_one_machine"
PATHS = sorted(set(EXAMPLES.rglob("*.py")) - set(CLUSTER.glob("*.py")))
WITHOUT_A_WORST = {"0010_nearest_sentences"}  # it compares nothing

each_example = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)

# What a gallery does: run the script, and keep the figures that it has shown.
WHOLE = """
import runpy, sys
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
runpy.run_path(sys.argv[1], run_name="__main__")
for number in plt.get_fignums():
    plt.figure(number).savefig(f"{number}.png")
"""


@pytest.fixture
def shown(monkeypatch):
    """Figures that the example has shown, at which each has drawn something."""
    mpl.use("Agg")
    figures = []

    def show():
        figures.extend(plt.figure(number) for number in plt.get_fignums())
        assert all(axes.has_data() for figure in figures for axes in figure.axes)
        plt.close("all")

    monkeypatch.setattr(plt, "show", show)
    yield figures
    plt.close("all")


@each_example
def test_an_example_runs_small(path, shown, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HASHNLP_QUICK", "1")
    monkeypatch.delenv("HASHNLP_DATA", raising=False)
    monkeypatch.setattr(sys, "argv", [str(path)])
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert shown
    labels = [axes.get_xlabel() for figure in shown for axes in figure.axes]
    assert all(labels) or path.stem == "0010_nearest_sentences"  # t-SNE has no units
    assert ("worst" in capsys.readouterr().out) != (path.stem in WITHOUT_A_WORST)
    assert list(tmp_path.iterdir()) == []


def names_in(node):
    """Return the names and strings in an expression."""
    parts = list(ast.walk(node))
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    return names | {part.value for part in parts if isinstance(part, ast.Constant)}


@each_example
def test_an_example_asserts_no_time(path):
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    # the module, and the key in the history of a training; then all that is computed from them
    timed = {"time", "dur"}
    for node in sorted(
        (node for node in nodes if isinstance(node, ast.stmt)), key=lambda node: node.lineno
    ):
        if isinstance(node, ast.Assign | ast.AugAssign) and timed & names_in(node.value):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                timed.add((target.value if isinstance(target, ast.Subscript) else target).id)
        assert not (isinstance(node, ast.Assert) and timed & names_in(node)), ast.unparse(node)


@pytest.mark.slow
@each_example
def test_an_example_runs_whole(path, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WHOLE, str(path)],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "HASHNLP_QUICK"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout
    pictures = list(tmp_path.glob("*.png"))
    assert pictures
    assert all(np.ptp(plt.imread(picture)) > 0 for picture in pictures)


def test_each_chapter_has_a_heading():
    folders = [
        EXAMPLES,
        *(path for path in EXAMPLES.iterdir() if path.is_dir() and path.name != "__pycache__"),
    ]
    headings = [
        (folder / "GALLERY_HEADER.rst").read_text(encoding="utf-8").splitlines()
        for folder in folders
    ]
    assert all(len(underline) >= len(title) for title, underline, *_ in headings)
    assert all(len(set(underline)) == 1 for _, underline, *_ in headings)
