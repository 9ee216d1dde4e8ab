"""HashEmbeddingClassifier behind a vectorizer: defaults, searches."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
from sklearn_hashnlp.text import HashingNgramVectorizer

WORDS = ["goal", "match", "team", "vote", "law", "minister"]
RNG = np.random.default_rng(0)
LABELS = np.array(["sport", "politics"])[RNG.integers(0, 2, 80)]
TEXTS = [" ".join(RNG.choice(WORDS[:3] if label == "sport" else WORDS[3:], 5)) for label in LABELS]


def test_a_grid_search_over_sizes_in_a_pipeline():
    pipeline = Pipeline(
        [
            ("vectorizer", HashingNgramVectorizer(ngram_range=(1, 2), n_features=2**31 - 1)),
            ("classifier", HashEmbeddingClassifier(n_embeddings=10_000, random_state=0)),
        ]
    )
    grid = {"classifier__n_buckets": [100, 1000], "classifier__n_hashes": [1, 2]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(TEXTS, LABELS)
    assert search.best_score_ == 1.0
    assert set(search.best_params_) == set(grid)
    assert search.predict(["goal team", "law vote"]).tolist() == ["sport", "politics"]


def test_the_two_default_constructed_classes_compose():
    model = make_pipeline(HashingNgramVectorizer(), HashEmbeddingClassifier(random_state=0)).fit(TEXTS, LABELS)
    assert model.score(TEXTS, LABELS) == 1.0
