"""Golden configurations of the sentence encoder: without layers, with a Transformer, and taken up
again.
"""

from __future__ import annotations

import math
import tempfile
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import normalize

from sklearn_hashnlp import SGNNSentenceEncoder, load_model, save_model
from sklearn_hashnlp.sentences import (
    CooccurrenceEncoder,
    DistilledSentenceEncoder,
    Network,
    Objectives,
)
from tests.golden._classifiers import losses
from tests.golden._features import featurizer, projector
from tests.golden._language_models import InterruptionError, StopAfter
from tests.golden._register import UNUSUAL, Arrays, golden, golden_table, n_jobs, texts

SENTENCE_ENCODER: dict[str, Any] = {
    "n_projections": 20,
    "n_bits": 10,
    "projection_dim": 48,
    "context_weight": 0.1,
    "n_components_removed": 4,
    "n_tables": 4,
    "table_bits": 8,
    "word_steps": 3,
    "max_words": 256,
    "batch_size": 64,
    "learning_rate": 0.001,
    "random_state": 0,
}
NETWORK = {
    "embedding_dim": 32,
    "n_layers": 0,
    "n_heads": 4,
    "feedforward_size": 48,
    "pooling": "weighted",
    "depths": 1,
}
OBJECTIVES = {
    "loss": "infonce",
    "temperature": 0.05,
    "sentence_weight": 1.0,
    "word_weight": 0.0,
    "masked_weight": 0.0,
}
TRANSFORMER: dict[str, Any] = {
    "context_weight": 1.0,
    "network__n_layers": 2,
    "network__pooling": "max",
    "n_tables": 0,
    "init": "random",
    "objectives__loss": "bxent",
    "learning_rate": 0.0002,
}


def encoder(**settings: Any) -> SGNNSentenceEncoder:
    """Return a small encoder."""
    bundles = {"network": Network(**NETWORK), "objectives": Objectives(**OBJECTIVES)}
    return SGNNSentenceEncoder(**SENTENCE_ENCODER | bundles, n_jobs=n_jobs()).set_params(**settings)


def _vectors(model: SGNNSentenceEncoder) -> Arrays:
    return {"vectors": model.transform(texts()[::4] + UNUSUAL)} | losses(model)


def _fitted(**settings: Any) -> Arrays:
    return _vectors(encoder(**settings).fit(texts()))


@golden("trained")
def sentence_encoder() -> Arrays:
    model = encoder().fit(texts())
    indices, cosines = model.most_similar(UNUSUAL[-4:-1], texts()[:100], k=3)
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, folder, precision="float32", training_state=False)
        loaded = load_model(folder).transform(texts()[:5])
    similarity = model.similarity(texts()[:20], texts()[20:40])
    return _vectors(model) | {
        "similarity": similarity,
        "cosines": cosines,
        "loaded": loaded,
        "indices": indices,
    }


@golden("trained")
def sentence_encoder_words_alone() -> Arrays:
    model = encoder(max_epochs=0, context_weight=0.3, word_steps=1).fit(texts())
    return {"vectors": model.transform(texts()[::4] + UNUSUAL)}


@golden("trained")
def sentence_encoder_of_given_vectors() -> Arrays:
    given = projector(n_projections=1, output="float").transform(featurizer().transform(texts()))
    options: dict[str, Any] = {"max_words": 256, "n_jobs": n_jobs()}
    distilled = DistilledSentenceEncoder(n_features=2000, n_components=None, **options)
    words = encoder(max_epochs=0, sentence_splitter=lambda text: [text])
    weights = {"distilled": math.sqrt(0.5), "words": math.sqrt(0.5)}
    union = FeatureUnion([("distilled", distilled), ("words", words)], transformer_weights=weights)
    vectors = normalize(union.fit(texts(), given).transform(texts()[::4] + UNUSUAL))
    components = DistilledSentenceEncoder(n_components=5, alpha=30.0, **options).fit(texts(), given)
    return (
        {"vectors": vectors}
        | losses(distilled)
        | {"components": np.abs(components.transform(texts()[::4]))}
    )


@golden("trained")
def cooccurrence_encoder() -> Arrays:
    model = CooccurrenceEncoder(n_components=10, n_jobs=n_jobs()).fit(texts())
    return {"vectors": np.abs(model.transform(texts()[::4] + UNUSUAL))}


@golden("trained")
def sentence_encoder_transformer() -> Arrays:
    return _vectors(encoder(**TRANSFORMER).fit(texts()[:120]))


@golden("trained")
def sentence_encoder_partial_fit() -> Arrays:
    model = encoder().partial_fit(texts()[:160])
    first = model.transform(texts()[:10])
    return _vectors(model.partial_fit(texts()[160:])) | {"first": first}


@golden("trained")
def sentence_encoder_resumed() -> Arrays:
    with tempfile.TemporaryDirectory() as folder:
        settings: dict[str, Any] = TRANSFORMER | {
            "checkpoint_dir": folder,
            "max_epochs": 2,
            "network__n_layers": 1,
        }
        with suppress(InterruptionError):
            encoder(**settings, callbacks=[StopAfter(8)]).fit(texts()[:80])
        n_epochs = len(load_model(folder).history_)
        resumed = _vectors(encoder(**settings, resume=True).fit(texts()[:80]))
    return resumed | {"n_epochs": np.array([n_epochs])}


TRAINED: dict[str, dict[str, Any]] = {
    "sentence_encoder_two_depths": {
        "network__n_layers": 2, "network__depths": 2, "network__pooling": "mean",
        "objectives__loss": "proximity", "learning_rate": 0.0005,
    },
    "sentence_encoder_weights_by_length": {
        "context_weight": "auto", "n_components_removed": "auto",
    },
    "sentence_encoder_heads": {
        "network__n_layers": 1,
        "network__pooling": "attention",
        "objectives__loss": "vmf",
        "objectives__sentence_weight": (0.2, 1.0),
        "objectives__word_weight": (1.0, 0.0),
        "objectives__masked_weight": 0.5,
        "learning_rate": 0.0005,
    },
}  # fmt: skip
golden_table("trained", _fitted, TRAINED)
