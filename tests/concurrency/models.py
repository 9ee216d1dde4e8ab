"""Small fitted models of every kind, and what they answer, as bytes."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_hashnlp import (
    CharNgramFeaturizer,
    HashingNgramVectorizer,
    KneserNeyLanguageModel,
    SGNNClassifier,
    SGNNProjector,
    TextClassifier,
)
from tests import sentence_texts
from tests.language.hsigmoid import small_models

_WORDS = [f"{begin}{end}" for begin in "bcdfgklm" for end in ("ar", "el", "im", "opu", "ut")]
_GENERATOR = np.random.default_rng(0)
TEXTS = [" ".join(_GENERATOR.choice(_WORDS, size=30)) for _ in range(400)]
LABELS = ["bar" in text.split() for text in TEXTS]
SENTENCES = [text[:40] for text in TEXTS]

Answer = Callable[[], bytes]


def small_text_classifier() -> Any:
    """Return a classifier that counts on two threads and trains in some hundredths of a second."""
    small = {
        "n_buckets": 1000,
        "n_embeddings": 1000,
        "embedding_dim": 8,
        "max_epochs": 2,
        "random_state": 0,
    }
    return TextClassifier(n_jobs=2, **small)


def _sgnn() -> Pipeline:
    classifier = SGNNClassifier(hidden_layer_sizes=(16,), max_epochs=2, random_state=0)
    return make_pipeline(
        CharNgramFeaturizer(n_jobs=2), SGNNProjector(n_projections=8, n_jobs=2), classifier
    )


@cache
def answers() -> dict[str, Answer]:
    """Return functions that ask one fitted model each."""
    classifier = small_text_classifier().fit(TEXTS, LABELS)
    sgnn = _sgnn().fit(TEXTS, LABELS)
    vectorizer = HashingNgramVectorizer(ngram_range=(1, 2), n_jobs=2)
    model = small_models.make(max_epochs=1).fit(small_models.SENTENCES)
    counts = KneserNeyLanguageModel(order=3).fit(SENTENCES)
    encoder = sentence_texts.fitted()
    return {
        "TextClassifier": lambda: classifier.predict_proba(TEXTS).tobytes(),
        "SGNNClassifier": lambda: sgnn.predict_proba(TEXTS).tobytes(),
        "HashingNgramVectorizer": lambda: vectorizer.transform(TEXTS * 3).data.tobytes(),
        "HsigmoidLanguageModel": lambda: model.score_samples(SENTENCES).tobytes(),
        "KneserNeyLanguageModel": lambda: counts.score_samples(SENTENCES).tobytes(),
        "SGNNSentenceEncoder": lambda: encoder.transform(SENTENCES).tobytes(),
    }


def trainings() -> dict[str, Answer]:
    """Return functions that train a model anew, and ask it."""
    return {
        "TextClassifier": lambda: (
            small_text_classifier().fit(TEXTS, LABELS).predict_proba(TEXTS).tobytes()
        ),
        "SGNNClassifier": lambda: _sgnn().fit(TEXTS, LABELS).predict_proba(TEXTS).tobytes(),
        "HsigmoidLanguageModel": lambda: small_models.bytes_of(
            small_models.make(max_epochs=1).fit(small_models.SENTENCES)
        ),
        "SGNNSentenceEncoder": lambda: sentence_texts.bytes_of(
            sentence_texts.make(max_epochs=1).fit(sentence_texts.PARAGRAPHS)
        ),
    }


def answer(name: str) -> bytes:
    """Ask one of the models; a function of the module, so that other processes can call it."""
    return answers()[name]()
