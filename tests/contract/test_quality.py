"""What each estimator learns, as a mean over several seeds: no worse than a plain model by more
than a margin.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from sklearn_hashnlp import (
    CacheLanguageModel,
    CharNgramFeaturizer,
    HashEmbeddingClassifier,
    HashingNgramVectorizer,
    HsigmoidLanguageModel,
    InterpolatedLanguageModel,
    KneserNeyLanguageModel,
    QuantizedSGNNClassifier,
    SGNNClassifier,
    SGNNProjector,
    SGNNSentenceEncoder,
    TextClassifier,
    make_text_classifier,
)
from sklearn_hashnlp.sentences import CooccurrenceEncoder, DistilledSentenceEncoder, Network
from tests.golden._register import labels, sentences, texts
from tests.trainings import SEEDS, assert_as_good

TEXTS, LABELS = np.array(texts(), dtype=object), labels()  # docstrings of eight modules
SENTENCES = np.array(sentences(), dtype=object)
SPLITS = list(
    StratifiedShuffleSplit(len(SEEDS), test_size=100, random_state=0).split(TEXTS, LABELS)
)


def counted(classifier: Any) -> Any:
    return make_pipeline(HashingNgramVectorizer(norm=None, alternate_sign=False), classifier)


def projected(classifier: Any) -> Any:
    projector = SGNNProjector(n_projections=40, random_state=0)
    return make_pipeline(CharNgramFeaturizer(ngram_range=(1, 4)), projector, classifier)


def hash_embeddings(seed: int, **options: Any) -> Any:
    return counted(
        HashEmbeddingClassifier(n_buckets=2**14, n_embeddings=2**16, random_state=seed, **options)
    )


def network(seed: int) -> SGNNClassifier:
    return SGNNClassifier(
        hidden_layer_sizes=(64,), learning_rate=0.003, max_epochs=20, random_state=seed
    )


def accuracies(make: Callable[[int], Any]) -> list[float]:
    scores = []
    for seed, (train, test) in enumerate(SPLITS):
        scores.append(make(seed).fit(TEXTS[train], LABELS[train]).score(TEXTS[test], LABELS[test]))
    return scores


@cache
def plain_accuracies(features: str) -> list[float]:
    """Return the accuracies of a linear model of scikit-learn on the same splits and kind of
    features.
    """
    if features == "n-grams":
        return accuracies(lambda _: make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LinearSVC()))
    return accuracies(lambda _: projected(LogisticRegression(C=0.01, max_iter=300)))


CLASSIFIERS: dict[str, tuple[Callable[[int], Any], str, float]] = {
    "TextClassifier": (lambda seed: TextClassifier(random_state=seed), "n-grams", 0.0),
    "make_text_classifier": (lambda seed: make_text_classifier(random_state=seed), "n-grams", 0.0),
    "HashEmbeddingClassifier": (hash_embeddings, "n-grams", 0.06),
    "HashEmbeddingClassifier, hsigmoid": (
        lambda seed: hash_embeddings(seed, loss="hsigmoid"), "n-grams", 0.15,
    ),
    "SGNNClassifier": (lambda seed: projected(network(seed)), "bits", 0.08),
    "QuantizedSGNNClassifier": (
        lambda seed: projected(QuantizedSGNNClassifier(network(seed))), "bits", 0.08,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(name: str) -> None:
    make, features, margin = CLASSIFIERS[name]
    assert_as_good(accuracies(make), plain_accuracies(features), margin=margin)


@cache
def log_likelihoods(name: str) -> list[float]:
    """Return the mean log-probability of the words of the test sentences, for each split."""
    makers: dict[str, Callable[[int], Any]] = {
        "counts": lambda _: KneserNeyLanguageModel(order=3, min_count=2),
        "network": lambda seed: HsigmoidLanguageModel(
            order=4, embedding_dim=16, hidden_size=32, min_count=2, max_epochs=3, random_state=seed
        ),
        "mixture": lambda _: InterpolatedLanguageModel([makers["counts"](0), CacheLanguageModel()]),
    }
    models = [makers[name](seed).fit(SENTENCES[train]) for seed, (train, _) in enumerate(SPLITS)]
    return [model.score(SENTENCES[test]) for model, (_, test) in zip(models, SPLITS, strict=True)]


@cache
def log_likelihoods_of_frequencies() -> list[float]:
    """Return those of a model that counts single words, and adds one to each count."""
    results = []
    for train, test in SPLITS:
        words, others = (
            [w for s in SENTENCES[part] for w in [*s.split(), "</s>"]] for part in (train, test)
        )
        counts = Counter(words)
        known = {word for word, count in counts.items() if count >= 2} | {"</s>"}
        smoothed = Counter(word if word in known else "<unk>" for word in words)
        total = len(words) + len(known) + 1
        scores = [
            math.log((smoothed[word if word in known else "<unk>"] + 1) / total) for word in others
        ]
        results.append(float(np.mean(scores)))
    return results


@pytest.mark.parametrize(("name", "share"), [("counts", 0.75), ("network", 0.92), ("mixture", 0.7)])
def test_language_models(name: str, share: float) -> None:
    """The perplexity is at most a share of that of a simple model."""
    assert_as_good(log_likelihoods(name), log_likelihoods_of_frequencies(), margin=math.log(share))
    if name == "mixture":  # the cache helps
        assert_as_good(log_likelihoods("mixture"), log_likelihoods("counts"), margin=math.log(0.98))


def share_of_neighbors(vectors: NDArray[Any], own: NDArray[Any]) -> float:
    """Return how often the nearest vector has the same label."""
    similarities = vectors @ vectors.T
    np.fill_diagonal(similarities, -2)
    return float((own[similarities.argmax(axis=1)] == own).mean())


def encoder(seed: int, **options: Any) -> SGNNSentenceEncoder:
    small = {
        "n_projections": 40,
        "n_bits": 10,
        "projection_dim": 96,
        "network": Network(32),
        "max_epochs": 1,
    }
    return SGNNSentenceEncoder(**small | {"random_state": seed} | options)


def test_sentence_encoder() -> None:
    found = [
        share_of_neighbors(encoder(seed).fit(texts()).transform(texts()), LABELS) for seed in SEEDS
    ]
    words = TfidfVectorizer().fit_transform(texts()).toarray()
    assert_as_good(found, share_of_neighbors(words, LABELS), margin=0.08)


def test_cooccurrence_encoder() -> None:
    found, expected = [], []
    for train, test in SPLITS:
        vectors = CooccurrenceEncoder().fit(TEXTS[train]).transform(TEXTS[test])
        found.append(share_of_neighbors(vectors, LABELS[test]))
        words = TfidfVectorizer().fit(TEXTS[train]).transform(TEXTS[test])
        expected.append(share_of_neighbors(words.toarray(), LABELS[test]))
    assert_as_good(found, expected, margin=0.08)


def test_distilled_sentence_encoder() -> None:
    given = normalize(
        TruncatedSVD(20, random_state=0).fit_transform(TfidfVectorizer().fit_transform(texts()))
    )
    found, expected = [], []
    for train, test in SPLITS:
        vectors = DistilledSentenceEncoder().fit(TEXTS[train], given[train]).transform(TEXTS[test])
        found.append(share_of_neighbors(vectors, LABELS[test]))
        expected.append(share_of_neighbors(given[test], LABELS[test]))
    assert_as_good(found, expected, margin=0.15)
