"""Golden configurations of the language model: its output layers, its embeddings, and trainings
taken up again.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from skorch.callbacks import Callback

from sklearn_hashnlp import (
    CacheLanguageModel,
    HsigmoidLanguageModel,
    InterpolatedLanguageModel,
    KneserNeyLanguageModel,
    load_model,
    save_model,
)
from sklearn_hashnlp.language import LanguageSchedule, Regularization
from sklearn_hashnlp.persistence import load_word_vectors
from sklearn_hashnlp.training import EarlyStopping, Schedule, StepLog
from tests.golden._classifiers import losses
from tests.golden._register import Arrays, golden, golden_table, sentences

LANGUAGE_MODEL: dict[str, Any] = {
    "order": 4,
    "embedding_dim": 12,
    "hidden_size": 24,
    "min_count": 2,
    "learning_rate": 0.3,
    "max_epochs": 2,
    "batch_size": 128,
    "random_state": 0,
}
CONTEXTS = [
    "",
    "return the",
    "return true if the",
    "set the",
    "a word that nobody knows",
    "this class",
]


def language_model(**settings: Any) -> HsigmoidLanguageModel:
    """Return a small language model, its settings may be parameters of bundles."""
    regularization = Regularization(
        0.25, 0.0, word_dropout=0.0, weight_decay=0.0, max_grad_norm=None
    )
    schedule = LanguageSchedule(
        "linear", 0, plateau=None, bias_learning_rate=1.0, direct_learning_rate=1.0
    )
    model = HsigmoidLanguageModel(
        **LANGUAGE_MODEL, regularization=regularization, schedule=schedule
    )
    return model.set_params(**settings)


def _train() -> list[str]:
    return sentences()[:280]


def _test() -> list[str]:
    return sentences()[280:]


def _predictions(model: HsigmoidLanguageModel) -> Arrays:
    # without padding, one needs words
    contexts = CONTEXTS if model.padding == "full" else CONTEXTS[1:]
    return {
        "scores": model.score_samples(_test()),
        "probabilities": model.predict_proba(contexts),
        "vectors": model.embeddings_,
        "words": model.predict(contexts),
    } | losses(model)


def _fitted(**settings: Any) -> Arrays:
    return _predictions(language_model(**settings).fit(_train()))


@golden("trained")
def language_model_hsigmoid() -> Arrays:
    model = language_model().fit(_train())
    near = model.most_similar("the", n=5) + model.analogy("the", "a", "is", n=5)
    best = [entry for row in model.predict_topk(CONTEXTS, k=3) for entry in row]
    sampled = model.sample(3, random_state=0, start="the", max_length=10)
    with tempfile.TemporaryDirectory() as folder:
        model.save_word2vec(Path(folder, "vectors.txt"), binary=False)
        vectors = load_word_vectors(Path(folder, "vectors.txt"), binary=False)[1]
    return _predictions(model) | {
        "cosines": np.array([cosine for _, cosine in near]),
        "best_probabilities": np.array([probability for _, probability in best]),
        "written_vectors": np.asarray(vectors),
        "near_words": np.array([word for word, _ in near]),
        "best_words": np.array([word for word, _ in best]),
        "sampled": np.array([word for sentence in sampled for word in sentence]),
        "greedy": model.predict(CONTEXTS, search="greedy"),
        "vocabulary": np.array(list(model.vocabulary_)),
        "learned_tree": model.learned_tree(_train()).depths,
    }


@golden("trained")
def language_model_reference() -> Arrays:
    arrays = _fitted(padding="reference", tree="complete", init="reference", order=3)
    return arrays | {"scores": np.nan_to_num(arrays["scores"], nan=1.0)}


@golden("trained")
def language_model_early_stopping() -> Arrays:
    stopping = EarlyStopping("valid_loss", patience=1, validation_fraction=0.1)
    settings: dict[str, Any] = {
        "early_stopping": stopping,
        "schedule__plateau": (1, 0.5),
        "max_epochs": 4,
    }
    held_out = _fitted(**settings, schedule__decay="constant")
    model = language_model(**settings, callbacks=[StepLog(4)]).fit(_train(), X_valid=_test())
    return held_out | {f"given_{name}": array for name, array in _predictions(model).items()}


@golden("trained")
def language_model_partial_fit_saved() -> Arrays:
    model = language_model().partial_fit(_train()[:140])
    first = model.score_samples(_test())
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, folder, precision="float32", training_state=True)
        loaded = load_model(folder)
    return _predictions(loaded.partial_fit(_train()[140:])) | {"first": first}


@golden("trained")
def language_model_mixture() -> Arrays:
    counts = KneserNeyLanguageModel(order=3, min_count=2)
    cache = CacheLanguageModel(cache_size=100, decay=0.99, unigram_prior=10.0, bigram_prior=2.0)
    model = InterpolatedLanguageModel([counts, cache], frequency_bins=True, context_length=1)
    model.fit(_train(), X_valid=_test())
    return {
        "scores": model.score_samples(_test()),
        "probabilities": model.predict_proba(CONTEXTS),
        "weights": model.weights_,
        "words": model.predict(CONTEXTS),
    }


class InterruptionError(Exception):
    """Stands for whatever ends a training in its midst."""


class StopAfter(Callback):  # type: ignore[misc]  # skorch has no types
    """Raise after a number of steps."""

    def __init__(self, n_steps: int) -> None:
        self.n_steps = n_steps

    def on_batch_end(self, net: Any, **kwargs: Any) -> None:
        self.n_steps -= 1
        if self.n_steps == 0:
            raise InterruptionError


@golden("trained")
def language_model_resumed() -> Arrays:
    with tempfile.TemporaryDirectory() as folder:
        settings: dict[str, Any] = {"checkpoint_dir": folder, "max_epochs": 2}
        with suppress(InterruptionError):
            language_model(**settings, callbacks=[StopAfter(45)]).fit(_train())
        n_passes = sum(
            1 for path in Path(folder).iterdir() if path.is_dir() and not path.name.startswith(".")
        )
        resumed = _predictions(language_model(**settings, resume=True).fit(_train()))
    return resumed | {"n_passes": np.array([n_passes])}


@golden("trained")
def language_model_more_epochs() -> Arrays:
    with tempfile.TemporaryDirectory() as folder:
        settings: dict[str, Any] = {"checkpoint_dir": folder, "schedule__decay": "constant"}
        first = language_model(**settings, max_epochs=1).fit(_train()).score_samples(_test())
        return _predictions(language_model(**settings, max_epochs=2, resume=True).fit(_train())) | {
            "first": first
        }


@golden("trained")
def language_model_warm_start() -> Arrays:
    model = language_model(warm_start=True, max_epochs=1).fit(_train())
    return _predictions(model.set_params(learning_rate=0.1).fit(_train()))


@cache
def _counted() -> KneserNeyLanguageModel:
    return KneserNeyLanguageModel(
        order=4, discounts="auto", min_ngram_counts=(1, 1, 1, 2), min_count=2
    ).fit(_train())


@golden("exact")
def counts_of_ngrams() -> Arrays:
    model = _counted()
    words = np.array(list(model.vocabulary_))
    return {
        "n_ngrams": np.array(model.n_ngrams_),
        "discounts": model.discounts_,
        "vocabulary": words,
    }


@golden("trained")
def language_model_kneser_ney() -> Arrays:
    model = _counted()
    return {
        "scores": model.score_samples(_test()),
        "probabilities": model.predict_proba(CONTEXTS),
        "discounts": model.discounts_,
        "n_ngrams": np.array(model.n_ngrams_),
        "vocabulary": np.array(list(model.vocabulary_)),
        "sampled": np.array(
            [word for words in model.sample(3, random_state=0, max_length=10) for word in words]
        ),
    }


TRAINED: dict[str, dict[str, Any]] = {
    "language_model_two_level_tree": {
        "tree": "two_level", "schedule": Schedule("linear", shuffle=False), "max_features": 200,
        "regularization__dropout": 0.0,
    },
    "language_model_hashed_direct_connections": {
        "direct_connections": ("hashed", 2**14), "schedule__direct_learning_rate": 2.0,
        "regularization__embedding_dropout": 0.1,
    },
    "language_model_hash_embedding": {
        "embedding": ("hash", 2**14, 2**12), "hidden_layer": "sigmoid", "init": "uniform",
        "optimizer": "adam", "learning_rate": 0.005,
    },
    "language_model_modern": {
        "hidden_layer": ("residual", 2), "far_context": 6, "regularization__word_dropout": 0.1,
        "across_sentences": True, "learning_rate": 0.1,
    },
    "language_model_cluster_tree": {"tree": "cluster"},
    "language_model_direct_connections": {"direct_connections": True, "learning_rate": 0.05},
    "language_model_softmax": {"output": "softmax", "schedule__decay": "constant"},
    "language_model_adaptive": {"output": "adaptive", "optimizer": "adam", "learning_rate": 0.005},
    "language_model_sgnn_embedding": {
        "embedding": ("sgnn", 10, 8), "optimizer": "adam", "learning_rate": 0.002,
    },
    "language_model_ngrams": {"embedding": ("ngrams", 1000)},
    "language_model_warmup": {"schedule__warmup_steps": 30},
}  # fmt: skip
golden_table("trained", _fitted, TRAINED)
