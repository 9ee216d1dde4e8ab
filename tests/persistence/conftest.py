"""A small estimator with learned state, so that these tests need no training."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp.persistence import _model_document


class Centroids(ClassifierMixin, BaseEstimator):
    """Scores a row by its products with the mean rows of the classes."""

    _parameter_constraints = {"scale": [float, int], "options": [tuple, None]}  # noqa: RUF012

    def __init__(self, scale: float = 1.0, options: tuple[Any, ...] | None = None) -> None:
        self.scale = scale
        self.options = options

    def fit(self, X: Any, y: Any) -> Centroids:
        self.classes_, codes = np.unique(y, return_inverse=True)
        rows = [
            np.asarray(X[codes == code].mean(axis=0)).ravel() for code in range(len(self.classes_))
        ]
        self.means_ = np.asfortranarray(np.array(rows))
        self.counts_ = np.bincount(codes)
        return self

    def predict_proba(self, X: Any) -> Any:
        check_is_fitted(self)
        scores = np.exp(self.scale * np.asarray(X @ self.means_.T))
        return scores / scores.sum(axis=1, keepdims=True)

    def transform(self, X: Any) -> Any:
        return self.predict_proba(X)

    def predict(self, X: Any) -> Any:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        values = {
            "classes": self.classes_.tolist(),
            "history": [{"loss": np.float32(0.5), "best": float("nan")}],
        }
        return values, {"means.values": self.means_, "count": np.array(len(self.classes_))}

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.classes_ = np.array(values["classes"])
        self.history_ = values["history"]
        self.means_ = arrays["means.values"]
        if self.means_.shape[0] != int(arrays["count"]):
            raise ValueError("wrong shape")

    def _get_training_state(self) -> tuple[dict[str, Any], dict[str, Any]] | None:
        return ({"steps": 1}, {"counts": self.counts_}) if hasattr(self, "counts_") else None

    def _set_training_state(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.steps_ = values["steps"]
        self.counts_ = arrays["counts"]


@pytest.fixture
def centroids(monkeypatch: pytest.MonkeyPatch) -> type[Centroids]:
    """Let model folders name the class ``Centroids``."""
    module = ModuleType("stand_in_estimators")
    module.Centroids = Centroids  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(_model_document.ALLOWED_CLASSES, "Centroids", module.__name__)
    return Centroids
