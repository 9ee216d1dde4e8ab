"""TextScorer: scores of texts by a linear model, from the strings to the labels in one native call."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._threads import effective_n_jobs, map_blocks
from sklearn_hashnlp.classifiers.hash_embedding._model import HashEmbeddingModel
from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.text._count_ngrams import text_counters
from sklearn_hashnlp.text._specs_of import specs_of

_MIN_BLOCK = 2**17  # characters for which a thread is started


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
        """Return the index of the largest score; None if this takes more than kernels, or if there is an error."""
        if self._native is None or self._multilabel:
            return None
        try:
            label = self._native.label(text)
        except UnicodeEncodeError:
            return None
        return label if label >= 0 else None

    def score(
        self, texts: list[str], n_jobs: int | None, *, with_scores: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]] | None:
        """Return the scores, shape (n_texts, n_classes) or (0, n_classes), and the indices of the largest ones.

        None if this takes more than kernels, or if there is an error.
        """
        if self._native is None:
            return None
        native, finite = self._native, list[bool]()
        scores, labels = np.empty((len(texts) if with_scores else 0, self._n_classes)), np.empty(len(texts), np.int64)

        def score_block(block: slice) -> None:
            finite.append(native.score(texts[block], scores[block], labels[block]))

        n_blocks = 1 if len(texts) < 2 else sum(map(len, texts)) // _MIN_BLOCK
        n_threads = min(effective_n_jobs(n_jobs), n_blocks) if n_blocks > 1 else 1
        try:
            map_blocks(score_block, len(texts), n_threads)
        except UnicodeEncodeError:
            return None
        return (scores, labels) if all(finite) else None


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
