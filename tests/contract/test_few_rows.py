"""Classifiers of few rows with default settings predict the labels of their training rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from sklearn_hashnlp import (
    CharNgramFeaturizer,
    HashEmbeddingClassifier,
    HashingNgramVectorizer,
    SGNNClassifier,
    SGNNProjector,
)

TEXTS = ["a fine film", "so dull and long", "funny and fine acting", "too dull to sit through"] * 10
LABELS = ["good", "bad"] * 20


def hash_embeddings(seed: int, **sizes: int) -> HashEmbeddingClassifier:
    return HashEmbeddingClassifier(
        **{"n_embeddings": 10**4, "n_buckets": 10**3} | sizes, random_state=seed
    )


def projected(seed: int, classifier: Any) -> Any:
    return make_pipeline(CharNgramFeaturizer(), SGNNProjector(random_state=seed), classifier)


PIPELINES: dict[str, Callable[[int], Any]] = {
    "projections": lambda seed: projected(seed, hash_embeddings(seed)),
    "projections, 10 vectors": lambda seed: projected(seed, hash_embeddings(seed, n_buckets=10)),
    "projections, SGNNClassifier": lambda seed: projected(seed, SGNNClassifier(random_state=seed)),
    "n-grams": lambda seed: make_pipeline(HashingNgramVectorizer(), hash_embeddings(seed)),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_few_texts_are_learned_from_every_seed(name: str) -> None:
    accuracies = [
        PIPELINES[name](seed).fit(TEXTS, LABELS).score(TEXTS, LABELS) for seed in range(5)
    ]
    assert np.min(accuracies) >= 0.95
