"""Golden configurations of the self-governing network, its integer form, and its exported file."""

from __future__ import annotations

import runpy
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from sklearn_hashnlp import (
    QuantizedSGNNClassifier,
    SGNNClassifier,
    SGNNWordProjector,
    export_predictor,
    load_model,
    quantize_classifier,
    save_model,
)
from sklearn_hashnlp.training import EarlyStopping, Schedule
from tests.golden._classifiers import best_labels, losses, predictions, weights
from tests.golden._features import featurizer, projector
from tests.golden._register import UNUSUAL, Arrays, golden, golden_table, indicator, labels, texts

SGNN_CLASSIFIER: dict[str, Any] = {
    "hidden_layer_sizes": (32, 16),
    "calibrate": False,
    "schedule": Schedule("linear"),
    "max_epochs": 3,
    "random_state": 0,
}
SIZES: dict[str, Any] = {"n_projections": 20, "n_bits": 14}


def network(**settings: Any) -> SGNNClassifier:
    """Return a small network."""
    return SGNNClassifier(**SGNN_CLASSIFIER | settings)


@cache
def bits(output: str) -> NDArray[Any]:
    """Return the projections of all texts."""
    return projector(**SIZES, output=output).transform(featurizer().transform(texts() + UNUSUAL))


def _fitted(output: str = "binary", **settings: Any) -> Arrays:
    model = network(**settings).fit(bits(output)[: len(texts())], labels())
    return predictions(model, bits(output)) | losses(model)


@golden("trained")
def network_hidden_layers() -> Arrays:
    model = network().fit(bits("binary")[: len(texts())], labels(), sample_weight=weights())
    return predictions(model, bits("binary")) | losses(model) | best_labels(model, bits("binary"))


@golden("trained")
def network_several_labels() -> Arrays:
    model = network(loss="ova").fit(bits("sign")[: len(texts())], indicator(labels()))
    return predictions(model, bits("sign"))


@golden("trained")
def network_partial_fit_saved() -> Arrays:
    X, y = bits("binary")[: len(texts())], labels()
    model = network(learning_rate=0.01).partial_fit(X[:160], y[:160], classes=np.unique(y))
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, folder, precision="float32", training_state=True)
        loaded = load_model(folder)
    return predictions(loaded.partial_fit(X[160:], y[160:]), bits("binary"))


@golden("trained")
def network_warm_start() -> Arrays:
    X, y = bits("binary")[: len(texts())], labels()
    model = network(warm_start=True, max_epochs=1).fit(X, y)
    return predictions(model.set_params(learning_rate=0.001).fit(X, y), bits("binary"))


@cache
def _pipeline() -> Pipeline:
    steps = [
        ("featurizer", featurizer()),
        ("projector", projector(**SIZES)),
        ("classifier", network()),
    ]
    return Pipeline(steps).fit(texts(), labels())


@golden("trained")
def network_in_integers() -> Arrays:
    X = bits("binary")
    fitted = QuantizedSGNNClassifier(network(max_epochs=1)).fit(X[: len(texts())], labels())
    rounded = quantize_classifier(_pipeline())
    return predictions(rounded, texts() + UNUSUAL) | {
        f"own_{n}": a for n, a in predictions(fitted, X).items()
    }


@golden("trained")
def exported_predictor() -> Arrays:
    words = SGNNWordProjector(featurizer(), projector(**SIZES))
    by_words = Pipeline([("projector", words), ("classifier", network(max_epochs=1))]).fit(
        texts(), labels()
    )
    arrays: Arrays = {}
    with tempfile.TemporaryDirectory() as folder:
        for level, model in (("documents", _pipeline()), ("words", by_words)):
            path = Path(folder, f"{level}.py")
            export_predictor(model, path)
            module = runpy.run_path(str(path))
            arrays[f"{level}_labels"] = np.asarray(module["predict"](texts()[:80]))
            arrays[f"{level}_probabilities"] = module["predict_proba"](texts()[:80])
    return arrays


TRAINED: dict[str, dict[str, Any]] = {
    "network_packed": {
        "output": "packed", "packed": True, "class_weight": "balanced", "loss": "ova",
        "learning_rate": 0.01,
    },
    "network_early_stopping": {
        "output": "float", "schedule": Schedule("linear", plateau=(1, 0.5)), "max_epochs": 5,
        "early_stopping": EarlyStopping(patience=2, validation_fraction=0.1),
    },
    "network_plain": {
        "hidden_layer_sizes": (),
        "optimizer": "adagrad",
        "learning_rate": 0.1,
        "schedule": Schedule("linear", average=True),
        "dropout": 0.0,
    },
    "network_calibrated": {
        "calibrate": "auto", "early_stopping": EarlyStopping(validation_fraction=0.2),
    },
}  # fmt: skip
golden_table("trained", _fitted, TRAINED)
