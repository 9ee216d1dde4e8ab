"""The picture of the demo."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

from sklearn_hashnlp import datasets
from sklearn_hashnlp.cli import _demo, app
from tests.plotting.readable import assert_readable


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Figure, str]:
    """Return the picture and the output of ``hashnlp demo`` on two modules, with fewer texts."""
    texts, labels = datasets.load_stdlib_docstrings(return_X_y=True)
    classes, counts = np.unique(labels, return_counts=True)
    mask = np.isin(labels, classes[counts.argsort()[:2]])
    few = [text for text, keep in zip(texts, mask, strict=True) if keep], labels[mask]
    figures: list[Figure] = []

    def keep(figure: Figure, *rest: Any, **more: Any) -> None:
        figures.append(figure)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "load_stdlib_docstrings", lambda *, return_X_y: few)
        patch.setattr(_demo, "_TRAIN_SIZES", (1.0,))
        patch.setattr(_demo, "_N_SPLITS", 2)
        patch.setattr(Figure, "savefig", keep)
        result = CliRunner().invoke(app, ["demo", "--output", str(tmp_path_factory.mktemp("demo"))])
    assert result.exit_code == 0, result.stderr
    [figure] = figures
    return figure, result.stdout


def test_the_demos_picture_can_be_read(demo: tuple[Figure, str]) -> None:
    figure, out = demo
    assert_readable(figure)
    names = [text.get_text() for text in figure.axes[1].get_legend().get_texts()]
    assert names == [line.split("  ")[0] for line in out.splitlines() if "0." in line][: len(names)]
    matrix, curves, scale = (ax.get_window_extent() for ax in figure.axes)
    assert matrix.height == pytest.approx(curves.height)
    assert scale.height == pytest.approx(matrix.height, rel=0.02)
    legend = figure.axes[1].get_legend()
    assert not legend.get_window_extent().overlaps(curves)
