"""Texts, and small models to mix."""

from __future__ import annotations

import numpy as np

from sklearn_hashnlp import CacheLanguageModel, InterpolatedLanguageModel, KneserNeyLanguageModel
from tests.language.hsigmoid.small_models import make

RNG = np.random.default_rng(0)


def _sentences(n, letters):
    return [" ".join(RNG.choice(list(letters), size=RNG.integers(7)).tolist()) for _ in range(n)]


TRAIN = _sentences(80, "aaabbcdef")
VALID = _sentences(40, "aabcdfxy")
UNSEEN = ["a z b", "", "f e d c b a", "z z"]
CONTEXTS = ["", "a", ["b", "c"], "z", "x y d", "a a a a a a"]


def network(**options):
    return make(**{"max_epochs": 1} | options)


def fitted_members():
    """Return models of other orders, codes and word ids, but with the same words."""
    hashed = network(embedding=("hash", 200, 50), order=4).fit(TRAIN)
    words = sorted(hashed.vocabulary_, reverse=True)
    vocabulary = {word: index for index, word in enumerate(words)}
    return [
        hashed,
        KneserNeyLanguageModel(order=2, vocabulary=vocabulary).fit(TRAIN),
        CacheLanguageModel(vocabulary=vocabulary).fit(TRAIN),
    ]


def mixture(**options):
    return InterpolatedLanguageModel(fitted_members(), **{"prefit": True} | options).fit(
        TRAIN, X_valid=VALID
    )


def columns_of(model, words):
    """Return the probabilities of a model after some contexts, in the order of given words."""
    return model.predict_proba(CONTEXTS)[:, [model.vocabulary_[word] for word in words]]
