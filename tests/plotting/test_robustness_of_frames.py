"""Robustness of a classifier on a frame."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.figure import Figure

from sklearn_hashnlp import TextClassifier
from sklearn_hashnlp.plotting import RobustnessDisplay

SMALL_TABLES = {"n_buckets": 500, "n_embeddings": 500, "embedding_dim": 4, "random_state": 0}


def test_robustness_is_measured_on_a_frame_of_one_column() -> None:
    pandas = pytest.importorskip("pandas")
    texts, labels = ["funny film", "boring film"] * 10, ["good", "bad"] * 10
    model = TextClassifier(**SMALL_TABLES, max_epochs=2).fit(texts, labels)
    frame, ax = pandas.DataFrame({"text": texts}), Figure().subplots()
    options: dict[str, Any] = {"rates": [0, 0.2], "n_repeats": 1, "ax": ax}
    found = RobustnessDisplay.from_estimator(model, frame, labels, **options)
    assert (
        found.accuracies.tolist()
        == RobustnessDisplay.from_estimator(model, texts, labels, **options).accuracies.tolist()
    )
