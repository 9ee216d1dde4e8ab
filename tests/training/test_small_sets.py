"""Early stopping where a label occurs once, and where there are too few rows for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sklearn_hashnlp import HashEmbeddingClassifier, SGNNClassifier, TextClassifier

SMALL_TABLES = {"n_buckets": 500, "n_embeddings": 500, "embedding_dim": 4, "random_state": 0}


def _classifier(name: str) -> tuple[Any, list[str] | np.ndarray]:
    texts = [f"word{row % 2} filler{row % 7}" for row in range(440)]
    numbers = np.eye(4, dtype=np.float32)[np.arange(440) % 4]
    options: dict[str, Any] = {"early_stopping": "valid_acc", "max_epochs": 1}
    if name == "TextClassifier":
        return TextClassifier(**SMALL_TABLES, **options), texts
    if name == "HashEmbeddingClassifier":
        return HashEmbeddingClassifier(**SMALL_TABLES, **options), numbers
    return SGNNClassifier(hidden_layer_sizes=(4,), random_state=0, **options), numbers


CLASSIFIERS = ["TextClassifier", "HashEmbeddingClassifier", "SGNNClassifier"]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_early_stopping_without_a_validation_set_is_said(name: str) -> None:
    model, X = _classifier(name)
    y = np.resize(["even", "odd"], 100)
    with pytest.warns(UserWarning, match="early_stopping has no effect, because 100 rows are too few") as caught:
        model.fit(X[:100], y)
    assert "EarlyStopping(validation_fraction=...)" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert "valid_acc" not in model.history_[0]
    model.set_params(early_stopping=False).fit(X[:100], y)  # without a warning, which would be an error here
