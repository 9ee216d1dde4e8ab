"""TextScorer: scores of texts by a linear model, from strings to labels in one native call."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._threads import check_n_jobs, effective_n_jobs, map_blocks
from sklearn_hashnlp.classifiers.hash_embedding._model import HashEmbeddingModel
from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.text._count_ngrams import text_counters
from sklearn_hashnlp.text._ngram_vector_union import NgramVectorUnion, native_encoder, unfrozen
from sklearn_hashnlp.text._specs_of import specs_of

_SCORER = "_text_scorer"  # the attribute of a model
_MIN_BLOCK = 2**17  # characters for which a thread is started
_MAX_COLUMNS = 2**31 - 1  # of indices of 32 bits


class TextScorer:
    """A vectorizer and a linear model as one native object, built once."""

    def __init__(self, vectorizer: Any, classifier: Any) -> None:
        model: HashEmbeddingModel = classifier._model
        self._vectorizer, self._parameters = vectorizer, _parameters_of(vectorizer)
        self._encoders = _native_encoders(vectorizer)
        self._n_classes, self._multilabel = len(model.last_layer[1]), model.loss.multilabel
        # None if they take more than kernels.
        self._native = _native_model(
            vectorizer, [native for _, native in self._encoders], model, classifier.n_features_in_
        )

    @classmethod
    def of(cls, vectorizer: Any, classifier: Any) -> Self:
        """Return the scorer of a fitted classifier, whose model keeps the last one."""
        kept = vars(classifier._model)
        scorer: Self | None = kept.get(_SCORER)
        if scorer is None or scorer._vectorizer is not vectorizer or scorer._is_changed():
            scorer = kept[_SCORER] = cls(vectorizer, classifier)
        return scorer

    def _is_changed(self) -> bool:
        try:
            return _parameters_of(self._vectorizer) != self._parameters or any(
                encoder._native_encoder() is not native for encoder, native in self._encoders
            )
        except ValueError:  # an array in place of a number
            return True

    def label(self, text: str) -> int | None:
        """Return the index of the largest score; None if kernels do not suffice or for an error."""
        if self._native is None or self._multilabel:
            return None
        try:
            label = self._native.label(text)
        except UnicodeEncodeError:
            return None
        return label if label >= 0 else None

    def score(
        self, texts: list[str], n_jobs: int | None, *, with_scores: bool
    ) -> NDArray[Any] | None:
        """Return the scores, (n_texts, n_classes), or the indices of the largest ones, (n_texts,).

        None if this takes more than kernels, or if there is an error.
        """
        if self._native is None:
            return None
        check_n_jobs(n_jobs)
        native, finite = self._native, list[bool]()
        scores = np.empty((len(texts) if with_scores else 0, self._n_classes))
        labels = np.empty(len(texts), np.int64)

        def score_block(block: slice) -> None:
            own = texts[block]  # a list that no other thread can change meanwhile
            finite.append(native.score(own, scores[block], labels[block]))

        n_blocks = 1 if len(texts) < 2 else sum(map(len, texts)) // _MIN_BLOCK
        n_threads = min(effective_n_jobs(n_jobs), n_blocks) if n_blocks > 1 else 1
        try:
            map_blocks(score_block, len(texts), n_threads)
        except UnicodeEncodeError:
            return None
        return (scores if with_scores else labels) if all(finite) else None


def _parameters_of(vectorizer: Any) -> list[Any]:
    """Copy the parameters of a vectorizer, and of the parts of a union."""
    own = vars(vectorizer)
    if isinstance(vectorizer, NgramVectorUnion):
        encoders = list(map(unfrozen, vectorizer.encoders))
        return [dict(own), encoders, *_parameters_of(vectorizer.vectorizer_)]
    if "transformer_list" not in own:
        return [dict(own)]
    parts = [
        part if isinstance(part, str) else dict(vars(part)) for _, part in own["transformer_list"]
    ]
    return [dict(own), dict(own["transformer_weights"] or {}), parts]


def _native_encoders(vectorizer: Any) -> list[tuple[Any, _native.NgramEncoder]]:
    """Return the encoders of vectors that have a native object, with it."""
    encoders = vectorizer.encoders if isinstance(vectorizer, NgramVectorUnion) else []
    natives = [(unfrozen(encoder), native_encoder(encoder)) for encoder in encoders]
    return [(encoder, native) for encoder, native in natives if native is not None]


def _native_model(
    vectorizer: Any, vectors: list[_native.NgramEncoder], model: HashEmbeddingModel, n_columns: int
) -> _native.TextModel | None:
    linear, weight, norm_ratio = model.calibrated, 0.0, 0.0
    if isinstance(vectorizer, NgramVectorUnion):
        if len(vectors) < len(vectorizer.encoders):
            return None
        weight, norm_ratio = vectorizer.weight_, vectorizer.norm_ratio_
        vectorizer = vectorizer.vectorizer_
    try:
        counters = None if linear is None else text_counters(specs_of(vectorizer))
    except (TypeError, ValueError):  # there is no specification, or parameters are invalid
        return None
    widths = [encoder.n_columns for encoder in vectors]
    if linear is None or counters is None or sum(counters[2]) + sum(widths) != n_columns:
        return None
    if n_columns > _MAX_COLUMNS:
        return None
    prior = np.zeros(len(linear.bias)) if linear.prior is None else linear.prior
    scorer: Any = linear.scorer()  # training changes the layer in place: it must be no copy
    arrays = scorer._replace(weight=linear.weight, bias=linear.bias, prior=prior).flat()
    arguments: list[Any] = [*counters, vectors, weight, norm_ratio, *arrays, arrays]
    return _native.TextModel(*arguments)
