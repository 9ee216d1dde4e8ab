"""Golden configurations of the text classifiers over sparse rows."""

from __future__ import annotations

import tempfile
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from sklearn_hashnlp import (
    HashEmbeddingClassifier,
    HashingNgramVectorizer,
    load_model,
    make_text_classifier,
    save_model,
    trees,
)
from sklearn_hashnlp.classifiers import EmbeddingTables
from sklearn_hashnlp.training import EarlyStopping, Schedule
from tests.golden._register import (
    UNUSUAL,
    Arrays,
    golden,
    golden_table,
    indicator,
    labels,
    n_jobs,
    texts,
)

HASH_EMBEDDING_CLASSIFIER: dict[str, Any] = {
    "n_buckets": 2**12,
    "n_embeddings": 2**14,
    "embedding_dim": 8,
    "calibrate": False,
    "max_epochs": 3,
    "batch_size": 32,
    "random_state": 0,
}
MAKE_TEXT_CLASSIFIER: dict[str, Any] = {
    "features": "words",
    "n_buckets": 2**12,
    "n_embeddings": 2**14,
    "embedding_dim": 8,
    "loss": "softmax",
    "max_epochs": 2,
    "random_state": 0,
}
OF_THE_CLASSIFIER = ("calibrate", "batch_size", "schedule", "tree", "optimizer")


def classifier(**settings: Any) -> HashEmbeddingClassifier:
    """Return a small classifier."""
    return HashEmbeddingClassifier(**HASH_EMBEDDING_CLASSIFIER | settings)


def text_classifier(**settings: Any) -> Pipeline:
    """Return a small pipeline over strings."""
    inner = {"calibrate": False, "batch_size": 32} | {
        name: settings.pop(name) for name in OF_THE_CLASSIFIER if name in settings
    }
    model = make_text_classifier(**MAKE_TEXT_CLASSIFIER | settings, n_jobs=n_jobs())
    model.set_params(**{f"classifier__{name}": value for name, value in inner.items()})
    if settings.get("features") == "words+characters":
        each = 2**30 - 1
        return model.set_params(
            vectorizer__words__n_features=each, vectorizer__characters__n_features=each
        )
    return model.set_params(vectorizer__n_features=2**31 - 1)


@cache
def rows() -> Any:
    """Return the n-gram counts of all texts."""
    settings: dict[str, Any] = {"n_features": 2**31 - 1, "norm": None, "alternate_sign": False}
    return HashingNgramVectorizer(ngram_range=(1, 2), **settings, n_jobs=1).transform(
        texts() + UNUSUAL
    )


def seen() -> Any:
    """Return the rows of the texts that have labels."""
    return rows()[: len(texts())]


def predictions(model: Any, X: Any) -> Arrays:
    """Return what a classifier says of rows: probabilities, scores and predicted labels."""
    arrays = {"probabilities": model.predict_proba(X), "labels": model.predict(X)}
    if hasattr(model, "decision_function"):
        arrays["scores"] = model.decision_function(X)
    return arrays


def best_labels(model: Any, X: Any) -> Arrays:
    """Return the three most probable labels of each row, with their probabilities."""
    best = model.predict_topk(X, k=3, threshold=0.0)
    return {
        "best_labels": np.array([[label for label, _ in row] for row in best]),
        "best_probabilities": np.array([[probability for _, probability in row] for row in best]),
    }


def losses(model: Any) -> Arrays:
    """Return the losses of all epochs."""
    names = [
        name for name in ("train_loss", "valid_loss", "valid_acc") if name in model.history_[0]
    ]
    return {name: np.array([entry[name] for entry in model.history_]) for name in names}


def weights() -> NDArray[np.float64]:
    """Return weights of the texts, some of them 0."""
    return (np.arange(len(texts())) % 5).astype(float)


def _fitted(*, several: bool = False, **settings: Any) -> Arrays:
    model = classifier(**settings).fit(seen(), indicator(labels()) if several else labels())
    return predictions(model, rows()) | losses(model)


def _fitted_to_texts(**settings: Any) -> Arrays:
    return predictions(text_classifier(**settings).fit(texts(), labels()), texts() + UNUSUAL)


@golden("trained")
def classifier_improved() -> Arrays:
    model = classifier().fit(seen(), labels())
    return predictions(model, rows()) | losses(model) | best_labels(model, rows())


@golden("trained")
def classifier_hsigmoid() -> Arrays:
    model = classifier(loss="hsigmoid", tree="two_level").fit(seen(), labels())
    return predictions(model, rows()) | losses(model) | best_labels(model, rows())


HIDDEN_LAYERS: dict[str, Any] = {
    "hidden_layer_sizes": (16, 8),
    "schedule": Schedule(plateau=(1, 0.5)),
    "early_stopping": EarlyStopping("valid_loss", patience=2, validation_fraction=0.2),
}


@golden("trained")
def classifier_weights() -> Arrays:
    balance = {label: 1.0 + place / 8 for place, label in enumerate(np.unique(labels()))}
    model = classifier(class_weight=balance).fit(seen(), labels(), sample_weight=weights())
    return predictions(model, rows()) | losses(model)


@golden("trained")
def classifier_partial_fit() -> Arrays:
    model = classifier(schedule=None)
    for part in (slice(0, 160), slice(160, 320)):
        model.partial_fit(
            seen()[part], labels()[part], classes=np.unique(labels()), sample_weight=weights()[part]
        )
    return predictions(model, rows())


@golden("trained")
def classifier_warm_start() -> Arrays:
    model = classifier(warm_start=True, max_epochs=1).fit(seen(), labels())
    first = predictions(model, rows())["probabilities"]
    model.set_params(learning_rate=0.1, embedding=EmbeddingTables(train_pool=False)).fit(
        seen(), labels()
    )
    return predictions(model, rows()) | {"first": first}


@golden("trained")
def classifier_saved() -> Arrays:
    model = classifier(max_epochs=1).fit(seen()[:160], labels()[:160])
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, folder, precision="float32", training_state=True)
        loaded = load_model(folder)
        save_model(model, folder, precision="int8", training_state=False)
        rounded = load_model(folder)
    before = loaded.predict_proba(rows())
    loaded.partial_fit(seen()[160:], labels()[160:])
    return predictions(loaded, rows()) | {
        "before": before,
        "rounded": rounded.predict_proba(rows()),
    }


@golden("trained")
def text_classifier_default_columns() -> Arrays:
    model = make_text_classifier(
        **MAKE_TEXT_CLASSIFIER | {"features": "words+characters"}, n_jobs=n_jobs()
    )
    model.set_params(classifier__calibrate=False, classifier__batch_size=32)
    return predictions(model.fit(texts(), labels()), texts() + UNUSUAL)


TRAINED: dict[str, dict[str, Any]] = {
    "classifier_several_labels": {"several": True, "loss": "ova"},
    "classifier_calibrated_several_labels": {"several": True, "loss": "ova", "calibrate": "auto"},
    "classifier_paper": {
        "variant": "paper",
        "embedding": EmbeddingTables(importance_init="ones"),
        "normalize": "l1",
    },
    "classifier_standard": {"variant": "standard", "normalize": None, "learning_rate": 0.05},
    "classifier_concat": {
        "aggregation": "concat",
        "embedding": EmbeddingTables(append_weight=False),
    },
    "classifier_median": {
        "aggregation": "median",
        "n_hashes": 3,
        "embedding": EmbeddingTables(importance_init="zeros"),
        "schedule": None,
    },
    "classifier_ova": {"loss": "ova", "class_weight": "balanced"},
    "classifier_hinge": {"loss": "hinge"},
    "classifier_calibrated": {"calibrate": "auto"},
    "classifier_calibrated_hinge_early_stopping": {
        "loss": "hinge",
        "calibrate": "auto",
        "early_stopping": EarlyStopping(validation_fraction=0.2),
    },
    "classifier_hsigmoid_own_tree": {
        "loss": "hsigmoid",
        "tree": trees.balanced_tree(8, arity=3),
        "optimizer": "adam",
        "learning_rate": 0.01,
    },
    "classifier_hidden_layer": {
        "hidden_layer_sizes": (16,),
        "optimizer": "adagrad",
        "learning_rate": 0.01,
        "max_epochs": 1,
        "schedule": None,
    },
    "classifier_hidden_layers_early_stopping": {
        **HIDDEN_LAYERS,
        "optimizer": "adagrad",
        "learning_rate": 0.03,
        "max_epochs": 3,
    },
    "classifier_hidden_layers_adam": {
        **HIDDEN_LAYERS,
        "optimizer": "adam",
        "learning_rate": 0.01,
        "max_epochs": 6,
    },
    "classifier_early_stopping": {
        "early_stopping": EarlyStopping(patience=1, validation_fraction=0.2),
        "max_epochs": 6,
    },
    "classifier_adam_linear": {
        "optimizer": "adam",
        "learning_rate": 0.01,
        "schedule": Schedule("linear", average=True),
    },
    "classifier_ngram_dropout": {
        "ngram_dropout": (4, 20),
        "schedule": Schedule(average=True, shuffle=False),
    },
}
golden_table("trained", _fitted, TRAINED)
OF_TEXTS: dict[str, dict[str, Any]] = {
    "text_classifier_words": {},
    "text_classifier_words_and_characters": {"features": "words+characters"},
    "text_classifier_calibrated": {"loss": "ova", "calibrate": "auto"},
    "text_classifier_characters": {
        "features": "characters",
        "ngram_range": (1, 4),
        "loss": "hinge",
    },
}
golden_table("trained", _fitted_to_texts, OF_TEXTS)
