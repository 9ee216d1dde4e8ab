"""Vocabulary-free text learning for scikit-learn.

The names below load their folder, and with it numba or torch, on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "AugmentedTextClassifier": "classifiers",
    "CharNgramFeaturizer": "text",
    "FrequentNgramVectorizer": "text",
    "HashEmbeddingClassifier": "classifiers",
    "HashingNgramVectorizer": "text",
    "HsigmoidLanguageModel": "language",
    "QuantizedSGNNClassifier": "classifiers",
    "SGNNClassifier": "classifiers",
    "SGNNProjector": "text",
    "SGNNSentenceEncoder": "sentences",
    "SGNNWordProjector": "text",
    "export_predictor": "classifiers",
    "load_model": "persistence",
    "make_text_classifier": "classifiers",
    "quantize": "classifiers",
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
