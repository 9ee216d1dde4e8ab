"""Pictures of pages about the project: its installation, its tests and experiments with it."""

from __future__ import annotations

from collections.abc import Callable

from drawing import BLUE, GRAY, GREEN, INK, ORANGE, Drawing


def installation() -> Drawing:
    """Draw the choice between two packages of PyTorch."""
    d = Drawing(
        640,
        230,
        "With a GPU the default PyTorch, without one the CPU package, then the package itself",
    )
    d.box(220, 10, 200, 44, "A GPU to train on?", bold=True, radius=20)
    d.arrow(270, 54, 160, 92, color=GREEN)
    d.text(184, 68, "no", color=GREEN, bold=True)
    d.arrow(370, 54, 480, 92, color=BLUE)
    d.text(458, 68, "yes", color=BLUE, bold=True)
    d.box(30, 94, 260, 54, "first PyTorch for CPUs,\nwhich is much smaller", color=GREEN, size=15)
    d.box(350, 94, 260, 54, "nothing first: CUDA libraries\ncome with PyTorch", color=BLUE, size=15)
    d.arrow(160, 148, 270, 178, color=GREEN)
    d.arrow(480, 148, 370, 178, color=BLUE)
    d.box(220, 178, 200, 42, "pip install .", color=ORANGE, mono=True)
    d.text(434, 199, "compiles the kernels once", anchor="start", size=14, color=GRAY)
    return d


def promises() -> Drawing:
    """Draw a promise, its test and its figures."""
    d = Drawing(
        640,
        170,
        "A promise is a sentence, a test that fails if it is broken, and a figure of its longest "
        "run",
    )
    d.chain(
        14,
        [("a promise", INK), ("a test that fails\nif it is broken", BLUE), ("its figures", GREEN)],
    )
    d.lines(107, 122, '"the same seed\ngives the same bytes"', size=15, color=GRAY)
    d.lines(320, 122, "make test\nmake test-slow", size=15, color=GRAY)
    d.lines(533, 122, "documents read,\nfaults survived", size=15, color=GRAY)
    return d


def own_experiments() -> Drawing:
    """Draw how a module of one's own is compared."""
    d = Drawing(
        640,
        208,
        "Your module and the package's modules are trained on the same rows, with several seeds",
    )
    d.box(10, 14, 160, 50, "my_embedding.py", color=ORANGE, mono=True, size=15)
    d.box(10, 78, 160, 50, "hash, standard", color=BLUE, mono=True, size=15)
    d.box(10, 142, 160, 50, "train.csv, test.csv", mono=True, size=13)
    for y in (39, 103, 167):
        d.arrow(170, y, 218, 103)
    d.box(220, 68, 150, 70, "each is trained,\nwith seeds\n0, 1, 2", color=INK, size=15)
    d.arrow(370, 103, 408, 103)
    d.box(410, 76, 100, 54, "results\n.jsonl", mono=True, size=14)
    d.arrow(510, 103, 538, 103)
    d.box(540, 58, 92, 90, "tables and\npaired\ntests", color=GREEN, size=15)
    return d


DIAGRAMS: tuple[Callable[[], Drawing], ...] = (installation, promises, own_experiments)
