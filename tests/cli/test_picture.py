"""The picture of the demonstration is a PNG file, drawn without pyplot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import pyplot
from matplotlib.image import imread

from sklearn_hashnlp.cli._demo import draw_picture


def test_a_picture(tmp_path: Path) -> None:
    curves = {"one": [(10, 0.5), (20, 0.75)], "other": [(10, 0.25), (20, 1.0)]}
    true, found = np.array(["a", "b", "b"]), np.array(["a", "a", "b"])
    path = tmp_path / "picture.png"
    draw_picture(path, true=true, found=found, labels=["a", "b", "never"], curves=curves, title="Title")
    pixels = imread(path)
    assert pixels.shape[:2] == (950, 1700)
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 50
    assert pyplot.get_fignums() == []
