"""SGNNSentenceEncoder before a classifier, in searches, and with data frames as output."""

from __future__ import annotations

import copy

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline, make_union

from tests.sentence_texts import PARAGRAPHS, QUERIES, fitted, make

Y = [number % 4 for number in range(40)]
FAST = {"max_epochs": 1}


def test_before_a_classifier():
    pipeline = make_pipeline(make(context_weight=0.5), LogisticRegression(C=1e3)).fit(PARAGRAPHS, Y)
    assert pipeline.score(PARAGRAPHS, Y) == 1.0
    scores = cross_val_score(make_pipeline(make(), LogisticRegression()), PARAGRAPHS, Y, cv=2)
    assert scores.mean() > 0.5  # chance is a quarter
    both = make_union(make(), make(random_state=1)).fit(PARAGRAPHS)
    assert both.transform(QUERIES).shape == (6, 48)


def test_searches():
    pipeline = make_pipeline(make(**FAST), LogisticRegression())
    grid = {"sgnnsentenceencoder__context_weight": [0.0, np.float32(0.5), 1], "logisticregression__C": [1.0, 1e3]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(PARAGRAPHS, Y)
    assert search.best_score_ > 0.5
    assert len(search.cv_results_["params"]) == 6

    def scorer(encoder, X, y=None):
        return float(encoder.similarity(X[:-1], X[1:]).mean())

    search = GridSearchCV(make(**FAST), {"width": np.array([4, 8])}, scoring=scorer, cv=2, error_score="raise")
    assert search.fit(PARAGRAPHS).best_estimator_.transform(QUERIES).shape[1] in (20, 24)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    processes = GridSearchCV(make(**FAST), {"width": [4]}, scoring=scorer, cv=2, n_jobs=2, error_score="raise")
    with joblib.parallel_backend("threading"):
        found = processes.fit(PARAGRAPHS).cv_results_["mean_test_score"][0]
    assert found == search.cv_results_["mean_test_score"][0]


def test_frames():
    pandas = pytest.importorskip("pandas")
    encoder = copy.deepcopy(fitted()).set_output(transform="pandas")
    series = pandas.Series(QUERIES, index=[f"row{number}" for number in range(6)])
    found = encoder.transform(series)
    assert found.columns.tolist() == encoder.get_feature_names_out().tolist()
    assert found.index.tolist() == series.index.tolist()
    assert set(found.dtypes) == {np.dtype(np.float32)}
    assert found.to_numpy().tobytes() == fitted().transform(QUERIES).tobytes()
    # What compares vectors does not mind.
    assert encoder.similarity(QUERIES, QUERIES).tobytes() == fitted().similarity(QUERIES, QUERIES).tobytes()
    indices, _ = encoder.most_similar(QUERIES, PARAGRAPHS, k=2)
    assert np.array_equal(indices, fitted().most_similar(QUERIES, PARAGRAPHS, k=2)[0])
    assert np.array_equal(encoder.most_similar(QUERIES, encoder.transform(PARAGRAPHS).to_numpy(), k=2)[0], indices)
    with pytest.raises(ValueError, match="expects one column of documents"):
        encoder.transform(pandas.DataFrame({"text": QUERIES, "other": QUERIES}))
