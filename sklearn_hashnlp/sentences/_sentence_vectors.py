"""The methods that sentence encoders share: vectors, similarities and search."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_array, check_is_fitted

from sklearn_hashnlp._sklearn import ArrayTransformerMixin, ParameterChecks, TextInputMixin
from sklearn_hashnlp.sentences._sentence_reader import warn_of_truncation

CHUNK_CHARACTERS = 2**21  # about 400,000 words, of which 30,000 are distinct


# scikit-learn has no types
class SentenceVectors(
    TextInputMixin,
    ParameterChecks,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    ArrayTransformerMixin,
):
    """A transformer of texts to unit vectors, compared by cosine similarity."""

    n_jobs: int | None
    max_words: int

    @property
    @abstractmethod
    def _n_features_out(self) -> int:
        """Number of columns of the vectors."""

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Compute sentence vectors.

        Parameters
        ----------
        X : iterable of str
            Sentences or short texts. They are not split into sentences, but truncated to
            ``max_words`` words, with a warning.

        Returns
        -------
        ndarray of shape (n_texts, dim), dtype float32
            Unit vectors; zeros for a text without words. A row does not depend on the other texts,
            except for rounding errors (1e-6), nor on ``n_jobs``; rows of equal texts are equal.

        Raises
        ------
        ValueError
            If ``X`` is a single string or a table, or ``context_weight`` is invalid.
        TypeError
            If a text is not a ``str``.
        """
        return self._encode(X)

    @abstractmethod
    def _encode(self, X: Any) -> NDArray[np.float32]:
        """Compute sentence vectors as an array, even if ``set_output`` has set a container."""

    def _warn_of_truncation(self, longest: int) -> None:
        advice = "Set max_words, or split texts into sentences and take the mean of their vectors."
        warn_of_truncation(longest, self.max_words, "text", advice, caller=type(self).__name__)

    def similarity(self, A: Any, B: Any) -> NDArray[np.float32]:
        """Compute the cosine similarities of pairs of texts.

        Parameters
        ----------
        A, B : iterable of str
            The first and the second text of each pair.

        Returns
        -------
        ndarray of shape (n_pairs,), dtype float32
            Cosine similarities, from -1 to 1; 0 where a text has no words.

        Raises
        ------
        ValueError
            If ``A`` and ``B`` have different lengths.
        """
        left, right = self._encode(A), self._encode(B)
        if len(left) != len(right):
            raise ValueError(
                f"{type(self).__name__}.similarity compares pairs of texts, and needs as many in A "
                f"as in B. Got {len(left)} and {len(right)}. For all pairs: encoder.transform(A) @ "
                "encoder.transform(B).T."
            )
        similarities: NDArray[np.float32] = np.einsum("ij,ij->i", left, right)
        return similarities.clip(-1, 1)  # rounding errors exceed 1

    def most_similar(
        self, queries: Any, texts: Any, k: int = 10
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Find the most similar texts of each query.

        Parameters
        ----------
        queries : iterable of str, or ndarray or data frame of shape (n_queries, dim)
            The texts to search for, or their vectors.
        texts : iterable of str, or ndarray or data frame of shape (n_texts, dim)
            The texts to search, or their vectors, computed once by :meth:`transform` for many
            searches. Vectors of another length than 1, such as means of vectors, are normalized.
        k : int, default=10
            Number of texts to return for each query; all if there are fewer.

        Returns
        -------
        indices : ndarray of shape (n_queries, k), dtype int64
            Indices of the texts, the most similar first; of equally similar texts the earlier comes
            first.
        similarities : ndarray of shape (n_queries, k), dtype float32
            Their cosine similarities, from -1 to 1.

        Raises
        ------
        ValueError
            If ``k`` is not a positive integer, or vectors have another number of columns, NaN or
            infinite values.
        """
        if not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(
                f"{type(self).__name__}.most_similar: k must be an integer of 1 or more, got {k!r}."
            )
        check_is_fitted(self)
        query_vectors, vectors = self._vectors(queries, "queries"), self._vectors(texts, "texts")
        shape = len(query_vectors), min(k, len(vectors))
        indices, similarities = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.float32)
        # In parts, to bound the scores in memory.
        n_parts = max(1, -(-len(query_vectors) * max(len(vectors), 1) // 2**26))
        for part in np.array_split(np.arange(len(query_vectors)), n_parts):
            for row, scores in zip(part, query_vectors[part] @ vectors.T, strict=True):
                indices[row], similarities[row] = _nearest(query_vectors[row], vectors, scores, k)
        return indices, similarities

    def _vectors(self, X: Any, name: str) -> NDArray[np.float32]:
        """Return the vectors of texts, or rows of numbers as such vectors."""
        if len(getattr(X, "shape", ())) != 2 or (rows := np.asarray(X)).dtype.kind not in "fiu":
            return self._encode(X)
        vectors: NDArray[np.float32] = check_array(
            rows, dtype=np.float32, order="C", ensure_min_samples=0, input_name=name
        )  # in C order, as the last bits of sums depend on it
        if vectors.shape[1] != self._n_features_out:
            raise ValueError(
                f"{type(self).__name__}.most_similar: the vectors of {name} have "
                f"{vectors.shape[1]} columns and this encoder's have {self._n_features_out}. "
                "Compute them with its transform."
            )
        norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        norms[norms == 0] = 1
        if (np.abs(norms - 1) > 1e-5).any():
            vectors = vectors / norms[:, None]
        return vectors


def _nearest(
    query: NDArray[np.float32],  # (dim,)
    vectors: NDArray[np.float32],  # (n, dim)
    scores: NDArray[np.float32],  # (n,): of a matrix product
    k: int,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the rows with the k highest similarities, the first on ties, and the similarities."""
    # A matrix product rounds differently at the edges of its blocks. It only selects rows; their
    # similarities are then summed one by one, in the same order.
    rows = np.arange(len(scores))
    if k < len(scores):
        tolerance = 2 * len(query) * np.finfo(np.float32).eps
        rows = np.flatnonzero(scores >= np.partition(scores, -k)[-k] - tolerance)
    # Clipped, because rounding errors lead to cosines above 1.
    similarities = np.einsum("ij,j->i", vectors[rows], query).clip(-1, 1)
    best = np.argsort(-similarities, kind="stable")[:k]
    return rows[best], similarities[best]
