"""Cross-validation and searches of language models."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import GridSearchCV, cross_val_score

from tests.language.hsigmoid.small_models import SENTENCES, make


def test_searches():
    model = make(max_epochs=1)
    scores = cross_val_score(model, SENTENCES, cv=3)
    assert scores.shape == (3,)
    assert (scores < 0).all()
    tokens = [sentence.split() for sentence in SENTENCES]
    grid = GridSearchCV(make(), {"max_epochs": [1, 5], "output": ["hsigmoid", "softmax"]}, cv=2, error_score="raise")
    for X in (SENTENCES, tokens):
        grid.fit(X)
        assert np.isfinite(grid.cv_results_["mean_test_score"]).all()
        assert grid.score(X) == grid.best_estimator_.score(X)
