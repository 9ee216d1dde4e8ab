"""The picture of the demo."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from typer.testing import CliRunner

from sklearn_hashnlp import datasets
from sklearn_hashnlp.cli import _demo, app
from tests.plotting.readable import assert_readable

N_SPLITS = _demo._N_SPLITS
HASH_EMBEDDING, LINEAR = "hash embedding, ", "TF-IDF + LinearSVC, "


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


def test_the_demos_picture_shows_every_model_of_its_table_with_equal_features_side_by_side(
    demo: tuple[Figure, str],
) -> None:
    figure, out = demo
    matrix, curves, scale = figure.axes
    names = [text.get_text() for text in curves.get_legend().get_texts()]
    assert names == [line.split("  ")[0] for line in out.splitlines() if "0." in line][: len(names)]
    features = {
        prefix: [one.removeprefix(prefix) for one in names if one.startswith(prefix)]
        for prefix in (HASH_EMBEDDING, LINEAR)
    }
    assert features[HASH_EMBEDDING] == features[LINEAR] == ["words", "words + characters"]
    bars = [one for one in curves.containers if isinstance(one, ErrorbarContainer)]
    assert len(bars) == 4
    assert all(bar.has_yerr for bar in bars)
    assert "standard deviation of 2 splits" in curves.get_title()
    assert N_SPLITS == 5
    assert matrix.get_xlabel() == "predicted label"
    assert "share of the test texts" in scale.get_ylabel()


def test_the_demos_picture_can_be_read(demo: tuple[Figure, str]) -> None:
    figure, _ = demo
    assert_readable(figure)
    matrix, curves, scale = (ax.get_window_extent() for ax in figure.axes)
    assert matrix.height == pytest.approx(curves.height)
    assert scale.height == pytest.approx(matrix.height, rel=0.02)
    legend = figure.axes[1].get_legend()
    assert not legend.get_window_extent().overlaps(curves)
