"""The ridge regression of vectors on the most frequent words, word pairs and character n-grams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sklearn_hashnlp._idf import map_distinct, smoothed_idf
from sklearn_hashnlp._threads import map_in_order
from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels._hashes import murmur3
from sklearn_hashnlp.kernels._ragged import Ragged, encoded, of_lengths
from sklearn_hashnlp.kernels.linear._sparse_products import add_product, pair_fingerprints
from sklearn_hashnlp.kernels.ngrams._fingerprints import (
    find_fingerprints,
    fingerprint_ngrams,
    fingerprint_slots,
)
from sklearn_hashnlp.kernels.ngrams._int4_table import Int4Table
from sklearn_hashnlp.kernels.ngrams._ngram_encoder import ngram_encoder
from sklearn_hashnlp.kernels.strings._units import word_character_units
from sklearn_hashnlp.sentences._ngram_weights import (
    CHARACTER_WEIGHT,
    NGRAM_RANGE,
    NORM_POWER,
    ngram_weights,
    pair_weights,
    word_weights,
)
from sklearn_hashnlp.text._documents import encoder, pack

_MIN_PAIR_TEXTS = 2
_MIN_NGRAM_WORDS = 2  # an n-gram of one word alone is that word
_HIGH_SEED, _LOW_SEED = 0x9747B28C, 0
_CHUNK = 2**20  # characters of words whose n-grams are computed at once
_TARGET_BLOCK = 64  # targets that are fitted at once, which bounds the memory
_SOLVED = 1e-13  # of the first squared gradient: the resolution of float32
_TINY = np.finfo(np.float64).tiny

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class NgramDictionary:
    """The n-grams of a regression, by their hashes: words, character n-grams, pairs of words."""

    fingerprints: NDArray[np.uint64]  # (n_columns,)
    counts: NDArray[np.int32]  # (n_columns,): the number of training texts with it
    sizes: tuple[int, int, int]  # words, character n-grams, pairs
    n_texts: int

    @cached_property
    def _slots(self) -> NDArray[np.int32]:
        return fingerprint_slots(self.fingerprints)

    @cached_property
    def _idf(self) -> NDArray[np.float32]:
        return smoothed_idf(self.counts, self.n_texts).astype(np.float32)

    @cached_property
    def _pair_weights(self) -> NDArray[np.float64]:
        return pair_weights(self._idf)

    def encoder(
        self, coefficients: Matrix | Int4Table, mean: NDArray[np.float32], max_words: int
    ) -> _native.NgramEncoder:
        """Return the native encoder of texts: rows of :meth:`design` times the coefficients."""
        weights, of_unknown = ngram_weights(self.counts, self.sizes, self.n_texts)
        return ngram_encoder(
            self.fingerprints,
            self.sizes[0],
            weights,
            coefficients,
            mean,
            ngram_range=NGRAM_RANGE,
            unknown_weight=of_unknown,
            character_weight=CHARACTER_WEIGHT,
            norm_power=NORM_POWER,
            max_words=max_words,
        )

    @classmethod
    def learn(cls, words: list[str], rows: Ragged, max_columns: int) -> NgramDictionary:
        """Select the most frequent n-grams of texts, given as rows of word ids."""
        once = distinct_ids_of_rows(rows, len(words))
        word_counts = np.bincount(once.values, minlength=len(words))
        word_hashes = word_fingerprints(words)
        characters = character_fingerprints(words)
        ngrams, which, n_words = np.unique(
            characters.values, return_inverse=True, return_counts=True
        )
        owners = np.repeat(np.arange(len(words)), np.diff(characters.offsets))
        ngram_counts = np.bincount(
            which, weights=word_counts[owners], minlength=len(ngrams)
        ).astype(np.int64)
        known = n_words >= _MIN_NGRAM_WORDS
        pairs, pair_counts = np.unique(
            _distinct_pairs(word_hashes, rows).values, return_counts=True
        )
        frequent = pair_counts >= _MIN_PAIR_TEXTS
        candidates = [
            (word_hashes, word_counts),
            (ngrams[known], ngram_counts[known]),
            (pairs[frequent], pair_counts[frequent]),
        ]
        threshold = _threshold(np.concatenate([counts for _, counts in candidates]), max_columns)
        parts = [_most_frequent(*candidate, threshold) for candidate in candidates]
        fingerprints, counts = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        sizes = len(parts[0][0]), len(parts[1][0]), len(parts[2][0])
        return cls(fingerprints, counts.astype(np.int32), sizes, len(rows.offsets) - 1)

    def design(self, words: list[str], rows: Ragged) -> Design:
        """Return the rows of texts: n-grams of words, weighted by idf, and pairs of words."""
        hashes = word_fingerprints(words)
        spellings, counts = self._spellings(words, hashes)
        once = distinct_ids_of_rows(rows, len(words))
        weights = word_weights(smoothed_idf(counts, self.n_texts)).astype(np.float32)
        norms = np.sqrt(
            np.bincount(_owners(once), np.square(weights[once.values]), len(rows.offsets) - 1)
        )
        divisors = map_distinct(lambda norm: norm**NORM_POWER if norm > 0 else 1.0, norms)
        n_texts, n_columns = len(rows.offsets) - 1, len(self.fingerprints)
        outer = _csr(once, weights[once.values] / divisors[_owners(once)], (n_texts, len(words)))
        pairs = find_fingerprints(_distinct_pairs(hashes, rows), self.fingerprints, self._slots)
        pair_weights = self._pair_weights[pairs.values] / divisors[_owners(pairs)]
        return Design(outer, spellings, _csr(pairs, pair_weights, (n_texts, n_columns)))

    def _spellings(
        self, words: list[str], hashes: NDArray[np.uint64]
    ) -> tuple[csr_array, NDArray[np.int32]]:
        """Return the n-grams of words, and the number of training texts with each word."""
        characters = character_fingerprints(words)
        hashes_of_both = Ragged(
            np.insert(characters.values, characters.offsets[:-1], hashes),
            characters.offsets + np.arange(len(words) + 1),
        )
        found = find_fingerprints(hashes_of_both, self.fingerprints, self._slots)
        is_word = found.values < self.sizes[0]
        owners = _owners(found)
        counts = np.zeros(len(words), dtype=np.int32)
        counts[owners[is_word]] = self.counts[found.values[is_word]]
        values = np.where(is_word, 0, self._idf[found.values])
        norms = np.sqrt(np.bincount(owners, np.square(values), len(words)))
        values = np.where(
            is_word, 1, CHARACTER_WEIGHT * values / np.where(norms > 0, norms, 1)[owners]
        )
        return _csr(found, values, (len(words), len(self.fingerprints))), counts


def word_fingerprints(words: list[str]) -> NDArray[np.uint64]:
    """Hash words to 64 bits: the MurmurHash3_x86_32 of two seeds."""
    rows = encoded(words)
    high, low = (
        murmur3(rows, seed=seed).view(np.uint32).astype(np.uint64)
        for seed in (_HIGH_SEED, _LOW_SEED)
    )
    return high << np.uint64(32) | low


def character_fingerprints(words: list[str]) -> Ragged:
    """Hash the distinct character n-grams of each word to 64 bits."""
    # Words need no checks: their texts were checked.
    packed = pack(words, encoder(words), lowercase=False, max_characters=_CHUNK)
    parts = [
        fingerprint_ngrams(word_character_units(texts, before="<", after=">"), NGRAM_RANGE)
        for texts in packed
    ]
    lengths = np.concatenate([np.zeros(0, np.int64), *(np.diff(part.offsets) for part in parts)])
    return of_lengths(
        np.concatenate([np.zeros(0, np.uint64), *(part.values for part in parts)]), lengths
    )


def distinct_ids_of_rows(rows: Ragged, n_ids: int) -> Ragged:
    """Return the distinct ids of each row, ascending."""
    keys = _owners(rows) * max(n_ids, 1) + rows.values
    keys.sort()
    keys = keys[np.diff(keys, prepend=-1) > 0]
    owners, values = np.divmod(keys, max(n_ids, 1))
    return of_lengths(values, np.bincount(owners, minlength=len(rows.offsets) - 1))


def _distinct_pairs(hashes: NDArray[np.uint64], rows: Ragged) -> Ragged:
    """Return the fingerprints of the distinct pairs of neighboring words of each row, ascending."""
    pairs = Ragged(*pair_fingerprints(hashes, rows.values, rows.offsets))
    owners = _owners(pairs)
    order = np.lexsort((pairs.values, owners))
    values, owners = pairs.values[order], owners[order]
    first = np.ones(len(values), dtype=np.bool_)
    first[1:] = (values[1:] != values[:-1]) | (owners[1:] != owners[:-1])
    return of_lengths(values[first], np.bincount(owners[first], minlength=len(rows.offsets) - 1))


def _owners(rows: Ragged) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(rows.offsets) - 1), np.diff(rows.offsets))


def _threshold(counts: NDArray[np.int64], max_columns: int) -> int:
    """Return the smallest count that at most ``max_columns`` n-grams reach."""
    if len(counts) <= max_columns:
        return 0
    return (
        int(np.partition(counts, len(counts) - max_columns - 1)[len(counts) - max_columns - 1]) + 1
    )


def _most_frequent(
    fingerprints: NDArray[np.uint64], counts: NDArray[np.int64], threshold: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the n-grams that reach a count, the most frequent first."""
    order = np.lexsort((fingerprints, -counts))
    order = order[: np.count_nonzero(counts >= threshold)]
    return fingerprints[order], counts[order]


def _csr(rows: Ragged, values: NDArray[Any], shape: tuple[int, int]) -> csr_array:
    indptr = rows.offsets.astype(np.int64)
    return csr_array((values.astype(np.float32), rows.values.astype(np.int32), indptr), shape=shape)


class Design(NamedTuple):
    """A design matrix, ``outer @ inner + direct``, with the n-grams of each word stored once."""

    outer: csr_array  # (n_rows, n_groups)
    inner: csr_array  # (n_groups, n_columns)
    direct: csr_array  # (n_rows, n_columns)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        n_rows, n_columns = self.direct.shape
        return int(n_rows), int(n_columns)

    def transpose(self) -> Design:
        """Return the transposed matrix."""
        return Design(*(csr_array(part.T) for part in (self.inner, self.outer, self.direct)))

    def __matmul__(self, dense: Matrix) -> Matrix:
        return multiply(self.direct, dense, multiply(self.outer, multiply(self.inner, dense)))


def multiply(matrix: csr_array, dense: Matrix, out: Matrix | None = None) -> Matrix:
    """Return the product of a sparse and a dense matrix, added to ``out``, for any thread count."""
    out = np.zeros((matrix.shape[0], dense.shape[1]), dtype=np.float32) if out is None else out
    add_product(matrix.indptr, matrix.indices, matrix.data, dense, out)
    return out


# The coefficients minimize |design @ coefficients - targets|^2 + alpha |coefficients|^2.
def ridge_regression(
    design: Design,
    targets: Matrix,  # (n_rows, n_targets)
    alpha: float,
    *,
    n_steps: int,
    n_threads: int = 1,
    # called with the number of targets fitted, and of all
    report: Callable[[int, int], Any] | None = None,
) -> tuple[Matrix, NDArray[np.float64]]:
    """Return the coefficients, and the sum of squared residuals at first and after each step."""
    coefficients = np.zeros((design.shape[1], targets.shape[1]), dtype=np.float32)
    blocks = [
        slice(start, start + _TARGET_BLOCK) for start in range(0, targets.shape[1], _TARGET_BLOCK)
    ]
    transposed = design.transpose()

    def fit(block: slice) -> NDArray[np.float64]:
        residuals = targets[:, block].copy()
        return _fit_block(design, transposed, residuals, alpha, n_steps, coefficients[:, block])

    losses = np.zeros(n_steps + 1)
    for block, losses_of_block in zip(blocks, map_in_order(fit, blocks, n_threads), strict=True):
        losses += losses_of_block
        if report is not None:
            report(min(block.stop, targets.shape[1]), targets.shape[1])
    return coefficients, losses


# Hestenes & Stiefel (1952), for the normal equations. Each target has its own step length; all
# targets of a block share the products with the design matrix, which cost most.
def _fit_block(
    design: Design, transposed: Design, residuals: Matrix, alpha: float, n_steps: int, out: Matrix
) -> NDArray[np.float64]:
    """Fit some targets, which become their residuals, and write their coefficients to ``out``."""
    solution = np.zeros((design.shape[1], residuals.shape[1]), dtype=np.float32)
    gradient = transposed @ residuals
    direction, square = gradient.copy(), _dot(gradient, gradient)
    losses, smallest = [_dot(residuals, residuals).sum()], _SOLVED * square
    for _ in range(n_steps):
        change = design @ direction
        curvature = transposed @ change
        curvature += np.float32(alpha) * direction
        # The direction of a solved target consists of rounding errors, or of zeros.
        step = (
            square / np.maximum(_dot(direction, curvature), _TINY) * (square > smallest)
        ).astype(np.float32)
        solution += step * direction
        residuals -= step * change
        gradient -= step * curvature
        before, square = square, _dot(gradient, gradient)
        direction *= (square / np.maximum(before, _TINY)).astype(np.float32)
        direction += gradient
        losses.append(_dot(residuals, residuals).sum())
    out[:] = solution
    return np.array(losses)


def _dot(left: Matrix, right: Matrix) -> NDArray[np.float64]:
    """Return the dot products of columns, summed in float64 row by row."""
    products: NDArray[np.float64] = np.einsum("ij,ij->j", left, right, dtype=np.float64)
    return products
