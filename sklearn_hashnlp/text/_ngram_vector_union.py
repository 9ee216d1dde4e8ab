"""NgramVectorUnion: n-grams of texts next to the vectors of models of other texts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_array, check_is_fitted

from sklearn_hashnlp._idf import smoothed_idf
from sklearn_hashnlp._sklearn import (
    HasMethods,
    check_fitted,
    fit_context,
    in_configured_sparse_interface,
)
from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels._rows import row_lengths
from sklearn_hashnlp.text._choose_weight import choose_weight, encode_labels, sample_texts
from sklearn_hashnlp.text._documents import as_documents
from sklearn_hashnlp.text._ngram_spec import NgramSpec
from sklearn_hashnlp.text._specs_of import specs_of
from sklearn_hashnlp.text._text_vectorizer import TextVectorizer, with_n_jobs_of

_N_SLOTS = 1_048_573  # a prime; columns are counted modulo it, in one pass
# The weight of the vectors relative to n-grams: the default first, and with fewer texts.
_WEIGHTS = (0.5, 0.25, 1.0)
_MIN_TEXTS, _WEIGHT_OF_FEW = 150, 1.0


class NgramVectorUnion(TextVectorizer):
    """Convert texts to n-grams and, in additional columns, vectors of models of other texts."""

    # For a linear classifier that weights n-grams by inverse document frequency and normalizes
    # rows.

    vectorizer_: Any  # the fitted clone of ``vectorizer``
    norm_ratio_: float  # mean ratio of the lengths of rows with and without weighting
    weight_: float  # length of a unit vector, relative to the mean length of weighted n-gram rows
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "vectorizer": [HasMethods(["fit", "transform"])],
        "encoders": [list],
    }

    def __init__(self, vectorizer: Any, encoders: list[Any]) -> None:
        self.vectorizer = vectorizer  # from texts to a sparse matrix of n-grams
        # Fitted encoders, from texts to a dense array; in a FrozenEstimator they survive clone.
        self.encoders = encoders

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Iterable[str], y: Any = None) -> Self:
        """Fit the vectorizer, measure the lengths of its rows, and choose the vectors' weight."""
        self._fit(X, y)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Iterable[str], y: Any = None) -> csr_matrix:
        """Fit the vectorizer and the weight, and convert texts, as :meth:`transform`."""
        return self._fit(X, y)

    @fit_context(prefer_skip_nested_validation=True)
    def _begin_stream(self, X: Iterable[str]) -> csr_matrix:
        """Measure and convert the first texts of a stream, with an unfitted vectorizer."""
        return self._fit(X, None, fit_vectorizer=False)

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
        counts = with_n_jobs_of(self.vectorizer_, self.vectorizer).transform(texts)
        return self._join(csr_matrix(counts), self._vectors(texts) * np.float32(self.weight_))

    def _specs(self) -> list[NgramSpec]:
        check_fitted(self, "norm_ratio_")
        vectors = [
            NgramSpec(
                scheme="dense",
                name=f"vector of {type(unfrozen(encoder)).__name__}",
                n_features=_n_columns(encoder),
            )
            for encoder in self.encoders
        ]
        return [*specs_of(self.vectorizer_), *vectors]

    def _fit(self, X: Iterable[str], y: Any, *, fit_vectorizer: bool = True) -> csr_matrix:
        texts = list(as_documents(X, caller=type(self).__name__))
        self._check_encoders()
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
        vectors = self._vectors(texts)
        self.weight_ = self._choose_weight(texts, counts, vectors, y)
        return self._join(counts, vectors * np.float32(self.weight_))

    def _choose_weight(
        self, texts: list[str], counts: csr_matrix, vectors: NDArray[np.float32], y: Any
    ) -> float:
        """Return the weight of the vectors with the most correct predictions on left-out texts."""
        if len(texts) < _MIN_TEXTS:
            return _WEIGHT_OF_FEW
        labels = encode_labels(y, len(texts))
        if labels is None:
            return _WEIGHTS[0]
        chosen = sample_texts(len(texts), sum(map(len, texts)))
        rows = self._join(counts[chosen], vectors[chosen])
        n_threads = 1 if getattr(self.vectorizer, "n_jobs", None) in (None, 1) else 2
        return choose_weight(rows, counts.shape[1], _WEIGHTS, labels[chosen], n_threads)

    def _check_encoders(self) -> None:
        for encoder in map(unfrozen, self.encoders):
            try:
                check_is_fitted(encoder)
            except NotFittedError as error:
                raise ValueError(
                    "pretrained must be a fitted model that turns texts into vectors, and this "
                    f"{type(encoder).__name__} is not fitted. Fit it on other texts, "
                    "without labels, or load one. Clones are not fitted either, as in a parameter "
                    "grid: wrap it in sklearn.frozen.FrozenEstimator there."
                ) from error

    def _vectors(self, texts: list[Any]) -> NDArray[np.float32]:
        """Return the vectors of texts by all encoders, side by side."""
        name = f"{type(self).__name__} with the vectors of its encoder"
        parts = []
        for encoder in self.encoders:
            vectors = check_array(
                encoder.transform(texts),
                dtype=[np.float32, np.float64],
                ensure_min_samples=0,
                estimator=name,
            )
            if len(vectors) != len(texts):
                raise ValueError(
                    f"{type(self).__name__}: the encoder must return one row for each text. Got "
                    f"{len(vectors):,} rows for {len(texts):,} texts."
                )
            parts.append(vectors)
        return np.hstack(parts).astype(np.float32)

    def _join(self, counts: csr_matrix, vectors: NDArray[np.float32]) -> csr_matrix:
        """Append vectors, scaled by the mean length of weighted rows, to counts."""
        scales = self.norm_ratio_ * _lengths(counts)
        scaled = (vectors * scales[:, np.newaxis]).astype(np.float32)
        joined = hstack([counts.astype(np.float32, copy=False), csr_matrix(scaled)], format="csr")
        return in_configured_sparse_interface(joined)

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        values = {"norm_ratio": self.norm_ratio_, "weight": self.weight_}
        return {"vectorizer": self.vectorizer_} | values, {}

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        if not hasattr(values["vectorizer"], "transform"):
            raise ValueError("The vectorizer of an NgramVectorUnion must be a transformer.")
        self.vectorizer_, self.norm_ratio_ = values["vectorizer"], float(values["norm_ratio"])
        self.weight_ = float(values["weight"])


def unfrozen(encoder: Any) -> Any:
    """Return the estimator in a FrozenEstimator, which may be in another one."""
    while isinstance(encoder, FrozenEstimator):
        encoder = encoder.estimator
    return encoder


@runtime_checkable
class NativeVectors(Protocol):
    """An encoder whose vectors are computed from strings in one native call."""

    def _native_encoder(self) -> _native.NgramEncoder: ...


def native_encoder(encoder: Any) -> _native.NgramEncoder | None:
    """Return the native object that computes the vectors of an encoder; None if there is none."""
    own = unfrozen(encoder)
    owner = next((cls for cls in type(own).__mro__ if "transform" in vars(cls)), object)
    is_of_package = owner.__module__.partition(".")[0] == "sklearn_hashnlp"
    return own._native_encoder() if is_of_package and isinstance(own, NativeVectors) else None


def _n_columns(encoder: Any) -> int:
    native = native_encoder(encoder)
    return int(encoder.transform([""]).shape[1] if native is None else native.n_columns)


def _lengths(rows: csr_matrix) -> NDArray[np.float64]:
    data = rows.data if rows.dtype.kind == "f" else rows.data.astype(np.float64)
    return row_lengths(rows.indptr, data)  # as TextModel computes them
