"""Classifiers of texts, of sparse rows and of projected rows; torch is imported on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "AugmentedTextClassifier": "_augmented_text_classifier",
    "HashEmbeddingClassifier": "_hash_embedding_classifier",
    "QuantizedSGNNClassifier": "_quantized_sgnn_classifier",
    "SGNNClassifier": "_sgnn_classifier",
    "export_predictor": "_export_predictor",
    "make_text_classifier": "_text_classifier",
    "quantize": "_quantized_sgnn_classifier",
}

__all__ = [
    "AugmentedTextClassifier",
    "HashEmbeddingClassifier",
    "QuantizedSGNNClassifier",
    "SGNNClassifier",
    "export_predictor",
    "make_text_classifier",
    "quantize",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
