"""Vectors of texts by ridge regression on hashed n-grams, fitted to the vectors that another model computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_array
from threadpoolctl import threadpool_limits

from sklearn_hashnlp._threads import map_blocks
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.linear._sparse_products import add_product
from sklearn_hashnlp.sentences._ngram_design import NgramDictionary
from sklearn_hashnlp.sentences._ridge import multiply, ridge_regression

_STEPS = 30  # of conjugate gradients; the loss on other texts hardly changes after 20
_ROW_BLOCK = 2**12  # vectors whose second moments are summed at once


@dataclass(frozen=True)
class VectorRegression:
    """Sentence vectors as sums of the coefficients of n-grams."""

    dictionary: NgramDictionary
    coefficients: NDArray[np.float32]  # (n_ngrams, dim)
    mean: NDArray[np.float32]  # (dim,): added to the sums

    @classmethod
    def fit(
        cls,
        words: list[str],
        rows: Ragged,  # the word ids of each text
        vectors: NDArray[np.floating],  # (n_texts, n_columns)
        *,
        max_ngrams: int,
        n_components: int | None,
        alpha: float,
        n_threads: int,
        verbose: int,
    ) -> tuple[VectorRegression, list[float]]:
        """Fit vectors of unit length by least squares; return also the share of them that each step leaves."""
        targets, mean = center(vectors, n_components)
        dictionary = NgramDictionary.learn(words, rows, max_ngrams)

        def report(n_fitted: int, n_targets: int) -> None:
            if verbose:
                print(f"learning from vectors: {n_fitted} of {n_targets} columns", flush=True)

        coefficients, losses = ridge_regression(
            dictionary.design(words, rows), targets, alpha, n_steps=_STEPS, n_threads=n_threads, report=report
        )
        if verbose:
            print(f"learning from vectors: {losses[-1] / losses[0]:.4f} of the variance is left", flush=True)
        return cls(dictionary, coefficients, mean), (losses[1:] / losses[0]).tolist()

    @property
    def dim(self) -> int:
        """Number of columns of a vector."""
        return int(self.coefficients.shape[1])

    def encode(self, words: list[str], rows: Ragged, n_threads: int) -> NDArray[np.float32]:
        """Return unit vectors of texts, zero for a text without words."""
        design = self.dictionary.design(words, rows)
        of_words = multiply(design.inner, self.coefficients)
        vectors = np.zeros((design.shape[0], self.dim), dtype=np.float32)

        def encode_block(block: slice) -> None:
            out = vectors[block]
            for matrix, dense in ((design.outer, of_words), (design.direct, self.coefficients)):
                indptr = matrix.indptr[block.start : block.stop + 1]
                add_product(indptr, matrix.indices, matrix.data, dense, out)
            out += self.mean
            lengths = np.sqrt(np.einsum("ij,ij->i", out, out))
            out /= np.where(lengths > 0, lengths, 1)[:, np.newaxis]

        map_blocks(encode_block, len(vectors), n_threads, min_rows=64)
        vectors[np.diff(rows.offsets) == 0] = 0
        return vectors

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return JSON values and arrays for :meth:`from_state`; the coefficients can be saved in lower precision."""
        dictionary = self.dictionary
        return {"sizes": list(dictionary.sizes), "n_texts": dictionary.n_texts}, {
            "fingerprints": dictionary.fingerprints,
            "counts": dictionary.counts,
            "coefficients.values": self.coefficients,
            "mean": self.mean,
        }

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> VectorRegression:
        """Build a regression from its state."""
        n_words, n_ngrams, n_pairs = values["sizes"]
        fingerprints, counts, coefficients = (
            arrays[name] for name in ("fingerprints", "counts", "coefficients.values")
        )
        n_columns = n_words + n_ngrams + n_pairs
        if not n_columns == len(fingerprints) == len(counts) == len(coefficients):
            raise ValueError(
                f"Expected {n_columns} n-grams, got {len(fingerprints)} hashes, {len(counts)} counts and "
                f"{len(coefficients)} rows of coefficients."
            )
        dictionary = NgramDictionary(fingerprints, counts, (n_words, n_ngrams, n_pairs), values["n_texts"])
        return cls(dictionary, coefficients, arrays["mean"])


def is_matrix(y: Any) -> bool:
    """Check whether ``y`` is a matrix of numbers, and not labels: these have one column, or zeros and ones."""
    if y is None or sp.issparse(y):
        return False
    try:
        array = np.asarray(y)
    except ValueError:  # lists of labels have different lengths
        return False
    if array.ndim < 2 or array.dtype.kind not in "fiu" or array.shape[1] == 1:
        return False
    is_zero = array.dtype.kind == "f" and not array.any()  # vectors that are refused later, with a better message
    return is_zero or bool(((array != 0) & (array != 1)).any())


def check_vectors(y: Any, n_texts: int, *, caller: str) -> NDArray[np.floating]:
    """Check the vectors to learn, one row for each text."""
    array = np.asarray(y)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)  # or check_array would round big-endian float64
    vectors: NDArray[np.floating] = check_array(
        array, dtype=[np.float32, np.float64], order="C", ensure_min_samples=0, input_name="y", estimator=caller
    )  # in C order, as sums depend on it
    if len(vectors) != n_texts:
        raise ValueError(
            f"{caller}: y must have one row for each text of X. Got {len(vectors):,} rows and {n_texts:,} texts; texts "
            "are not split into sentences, and with y X holds no lists or files."
        )
    if not vectors.any():
        raise ValueError(f"{caller}: all vectors of y are zero, so there is nothing to learn from them.")
    return vectors


def center(vectors: NDArray[np.floating], n_components: int | None) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return vectors, scaled to unit length, without their mean, and what is to be added to their predictions.

    With ``n_components`` their principal components, of which no mean is restored: a cosine similarity without what
    all texts have in common agrees better with human judgement. Without, the vectors themselves and their mean.
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    scales = 1 / np.where(lengths > 0, lengths, 1)
    blocks = [slice(start, start + _ROW_BLOCK) for start in range(0, len(vectors), _ROW_BLOCK)]
    mean = np.zeros(vectors.shape[1])
    for block in blocks:
        mean += (vectors[block] * scales[block, np.newaxis]).sum(axis=0)
    mean /= len(vectors)
    n_columns = vectors.shape[1] if n_components is None else min(n_components, vectors.shape[1])
    targets = np.empty((len(vectors), n_columns), dtype=np.float32)
    with threadpool_limits(1, user_api="blas"):  # more threads would sum in another order
        axes = np.eye(vectors.shape[1])
        if n_components is not None:
            moment = np.zeros((vectors.shape[1],) * 2)
            for block in blocks:
                rows = vectors[block] * scales[block, np.newaxis] - mean
                moment += rows.T @ rows
            axes = np.linalg.eigh(moment)[1][:, ::-1][:, :n_columns]
        for block in blocks:
            targets[block] = (vectors[block] * scales[block, np.newaxis] - mean) @ axes
    restored = mean if n_components is None else np.zeros(n_columns)
    return targets, restored.astype(np.float32)
