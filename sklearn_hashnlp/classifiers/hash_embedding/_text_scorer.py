"""TextScorer: scores of one text by a linear model, from the string to the label in one native call."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.classifiers.hash_embedding._model import HashEmbeddingModel
from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.text._count_ngrams import text_counters
from sklearn_hashnlp.text._specs_of import specs_of


class TextScorer:
    """A vectorizer and a linear model as one native object, built once."""

    def __init__(self, vectorizer: Any, model: HashEmbeddingModel) -> None:
        """Raise a TypeError or ValueError if they take more than kernels."""
        linear, counters = model.calibrated, text_counters(specs_of(vectorizer))
        if linear is None or counters is None:
            raise ValueError("This model is not linear, or its n-grams are not counted by kernels alone.")
        self._vectorizer, self._model, self._parameters = vectorizer, model, dict(vars(vectorizer))
        self._n_classes = len(linear.bias)
        self._native = _native.TextModel(*counters, *linear.scorer().flat())

    @classmethod
    def of(cls, vectorizer: Any, model: HashEmbeddingModel) -> Self | None:
        """Return the scorer, or None if they take more than kernels."""
        try:
            return cls(vectorizer, model)
        except (TypeError, ValueError):
            return None

    def scores_by(self, vectorizer: Any, model: HashEmbeddingModel) -> bool:
        """Return whether it was built from these, with the parameters that they have now."""
        return model is self._model and vectorizer is self._vectorizer and vars(vectorizer) == self._parameters

    def label(self, text: str) -> int | None:
        """Return the index of the largest score; None if a score is not finite, or a text may have several labels."""
        label = -1 if self._model.loss.multilabel else self._native.label(text)
        return label if label >= 0 else None

    def scores(self, text: str) -> NDArray[np.float64] | None:  # (1, n_classes)
        """Return the scores of all classes, or None if one is not finite."""
        scores = np.empty((1, self._n_classes))
        return scores if self._native.score(text, scores[0]) else None
