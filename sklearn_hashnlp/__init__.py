"""Vocabulary-free text learning for scikit-learn.

The names below load their folder, and with it numba or torch, on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "AugmentedTextClassifier": "estimators",
    "CharNgramFeaturizer": "text",
    "FrequentNgramVectorizer": "text",
    "HashEmbeddingClassifier": "estimators",
    "HashingNgramVectorizer": "text",
    "HsigmoidLanguageModel": "estimators",
    "QuantizedSGNNClassifier": "estimators",
    "SGNNClassifier": "estimators",
    "SGNNProjector": "text",
    "SGNNSentenceEncoder": "estimators",
    "SGNNWordProjector": "text",
    "export_predictor": "estimators",
    "load_model": "persistence",
    "make_text_classifier": "estimators",
    "quantize": "estimators",
    "save_model": "persistence",
}

__all__ = [
    "AugmentedTextClassifier",
    "CharNgramFeaturizer",
    "FrequentNgramVectorizer",
    "HashEmbeddingClassifier",
    "HashingNgramVectorizer",
    "HsigmoidLanguageModel",
    "QuantizedSGNNClassifier",
    "SGNNClassifier",
    "SGNNProjector",
    "SGNNSentenceEncoder",
    "SGNNWordProjector",
    "__version__",
    "export_predictor",
    "load_model",
    "make_text_classifier",
    "quantize",
    "save_model",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
