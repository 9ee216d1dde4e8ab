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
        self._vectorizer, self._parameters = vectorizer, dict(vars(vectorizer))
        self._n_classes, self._multilabel = len(model.last_layer[1]), model.loss.multilabel
        self._native = _native_model(vectorizer, model)  # None if they take more than kernels

    @classmethod
    def of(cls, vectorizer: Any, model: HashEmbeddingModel) -> Self:
        """Return the scorer of a model, which keeps the last one."""
        scorer: Self | None = vars(model).get("_text_scorer")
        if scorer is None or scorer._vectorizer is not vectorizer or scorer._parameters != vars(vectorizer):
            scorer = cls(vectorizer, model)
            vars(model)["_text_scorer"] = scorer
        return scorer

    def label(self, text: str) -> int | None:
        """Return the index of the largest score; None if this takes more than kernels."""
        label = -1 if self._native is None or self._multilabel else self._native.label(text)
        return label if label >= 0 else None

    def scores(self, text: str) -> NDArray[np.float64] | None:  # (1, n_classes)
        """Return the scores of all classes; None if this takes more than kernels."""
        scores = np.empty((1, self._n_classes))
        return scores if self._native is not None and self._native.score(text, scores[0]) else None


def _native_model(vectorizer: Any, model: HashEmbeddingModel) -> _native.TextModel | None:
    linear = model.calibrated
    try:
        counters = None if linear is None else text_counters(specs_of(vectorizer))
    except (TypeError, ValueError):  # there is no specification, or parameters are invalid
        return None
    if linear is None or counters is None:
        return None
    prior = np.zeros(len(linear.bias)) if linear.prior is None else linear.prior
    scorer: Any = linear.scorer()
    scorer = scorer._replace(weight=linear.weight, bias=linear.bias, prior=prior)
    arguments: list[Any] = [*counters, *scorer.flat()]
    return _native.TextModel(*arguments)
