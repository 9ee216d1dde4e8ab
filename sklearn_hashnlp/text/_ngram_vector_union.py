"""NgramVectorUnion: n-grams of texts next to the vectors of a pretrained model."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_array, check_is_fitted

from sklearn_hashnlp._idf import smoothed_idf
from sklearn_hashnlp._sklearn import (
    MAX_REAL,
    HasMethods,
    Interval,
    check_fitted,
    fit_context,
    in_configured_sparse_interface,
)
from sklearn_hashnlp.text._documents import as_documents
from sklearn_hashnlp.text._ngram_spec import NgramSpec
from sklearn_hashnlp.text._specs_of import specs_of
from sklearn_hashnlp.text._text_vectorizer import TextVectorizer, with_n_jobs_of

_N_SLOTS = 1_048_573  # a prime; columns are counted modulo it, in one pass


class NgramVectorUnion(TextVectorizer):
    """Convert texts to n-grams and, in additional columns, vectors of a model of other texts."""

    # For a linear classifier that weights n-grams by inverse document frequency and normalizes
    # rows.

    vectorizer_: Any  # the fitted clone of ``vectorizer``
    norm_ratio_: float  # mean ratio of the lengths of rows with and without weighting
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "vectorizer": [HasMethods(["fit", "transform"])],
        "encoder": [HasMethods(["fit", "transform", "get_params"])],
        "weight": [Interval(Real, 0, MAX_REAL, closed="right")],
    }

    def __init__(self, vectorizer: Any, encoder: Any, *, weight: float = 0.5) -> None:
        self.vectorizer = vectorizer  # from texts to a sparse matrix of n-grams
        # A fitted encoder, from texts to a dense array; in a FrozenEstimator it survives clone.
        self.encoder = encoder
        # Length of a unit vector, relative to the mean length of weighted n-gram rows
        self.weight = weight

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Iterable[str], y: Any = None) -> Self:
        """Fit the vectorizer, passing it ``y``, and measure the lengths of its rows."""
        self._fitted_counts(list(as_documents(X, caller=type(self).__name__)), y)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Iterable[str], y: Any = None) -> csr_matrix:
        """Fit the vectorizer, and convert texts, as :meth:`transform`."""
        texts = list(as_documents(X, caller=type(self).__name__))
        return self._join(self._fitted_counts(texts, y), texts)

    @fit_context(prefer_skip_nested_validation=True)
    def _begin_stream(self, X: Iterable[str]) -> csr_matrix:
        """Measure and convert the first texts of a stream, with an unfitted vectorizer."""
        texts = list(as_documents(X, caller=type(self).__name__))
        return self._join(self._fitted_counts(texts, None, fit_vectorizer=False), texts)

    def transform(self, X: Iterable[str]) -> csr_matrix:
        """Convert texts.

        Parameters
        ----------
        X : iterable of str of length n_texts

        Returns
        -------
        csr_matrix of shape (n_texts, n_ngram_columns + n_vector_columns), dtype float32
            The values of the n-grams, followed by the scaled vectors.
        """
        check_fitted(self, "norm_ratio_")
        texts = list(as_documents(X, caller=type(self).__name__))
        return self._join(with_n_jobs_of(self.vectorizer_, self.vectorizer).transform(texts), texts)

    def _specs(self) -> list[NgramSpec]:
        check_fitted(self, "norm_ratio_")
        encoder = (
            self.encoder.estimator if isinstance(self.encoder, FrozenEstimator) else self.encoder
        )
        n_columns = self.encoder.transform([""]).shape[1]
        vector = NgramSpec(
            scheme="dense", name=f"vector of {type(encoder).__name__}", n_features=n_columns
        )
        return [*specs_of(self.vectorizer_), vector]

    def _fitted_counts(
        self, texts: list[Any], y: Any, *, fit_vectorizer: bool = True
    ) -> csr_matrix:
        """Fit a clone of the vectorizer, measure the row lengths, and return the n-grams."""
        try:
            check_is_fitted(self.encoder)
        except NotFittedError as error:
            encoder = (
                self.encoder.estimator
                if isinstance(self.encoder, FrozenEstimator)
                else self.encoder
            )
            raise ValueError(
                f"{type(self).__name__} needs a fitted model that turns texts into vectors, and "
                f"this {type(encoder).__name__} is not fitted. Fit it on other texts, without "
                "labels, or load one. Clones are not fitted either, as in a parameter grid: wrap "
                "it in sklearn.frozen.FrozenEstimator there."
            ) from error
        vectorizer = clone(self.vectorizer)
        counts = csr_matrix(
            (vectorizer.fit(texts, y) if fit_vectorizer else vectorizer).transform(texts)
        )
        slots = counts.indices % _N_SLOTS
        # The IDF of slots, as the classifier computes it
        idf = smoothed_idf(np.bincount(slots, minlength=_N_SLOTS), len(texts))
        weighted = csr_matrix(
            (counts.data * idf[slots], counts.indices, counts.indptr), shape=counts.shape
        )
        lengths = _lengths(counts)
        filled = lengths > 0
        self.vectorizer_ = vectorizer
        self.norm_ratio_ = (
            float(np.mean(_lengths(weighted)[filled] / lengths[filled])) if filled.any() else 1.0
        )
        return counts

    def _join(self, counts: Any, texts: list[Any]) -> csr_matrix:
        counts = csr_matrix(counts)
        name = f"{type(self).__name__} with the vectors of its encoder"
        vectors = self.encoder.transform(texts)
        vectors = check_array(
            vectors, dtype=[np.float32, np.float64], ensure_min_samples=0, estimator=name
        )
        if len(vectors) != len(texts):
            raise ValueError(
                f"{type(self).__name__}: the encoder must return one row for each text. Got "
                f"{len(vectors):,} rows for {len(texts):,} texts."
            )
        scales = self.weight * self.norm_ratio_ * _lengths(counts)
        scaled = (vectors * scales[:, np.newaxis]).astype(np.float32)
        joined = hstack([counts.astype(np.float32, copy=False), csr_matrix(scaled)], format="csr")
        return in_configured_sparse_interface(joined)

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"vectorizer": self.vectorizer_, "norm_ratio": self.norm_ratio_}, {}

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        if not hasattr(values["vectorizer"], "transform"):
            raise ValueError("The vectorizer of an NgramVectorUnion must be a transformer.")
        self.vectorizer_, self.norm_ratio_ = values["vectorizer"], float(values["norm_ratio"])


def _lengths(rows: csr_matrix) -> NDArray[np.float64]:
    squares = rows.multiply(rows).sum(axis=1)
    return np.sqrt(np.asarray(squares, dtype=np.float64).ravel())
