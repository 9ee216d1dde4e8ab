"""The linear model to compare with: TF-IDF of words and characters, and a tuned LinearSVC.

The n-grams are the same as scikit-learn's, hashed to 2**30 columns for speed (equal counts, next to
no collisions), so that they are counted once for all folds of a cross-validation.
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from benchmarks.common.fasttext_peers import TOKENS
from sklearn_hashnlp.text import HashingNgramVectorizer

STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0)  # C
_FOLDS = 3
# With more rows, C is chosen on one part of ten, and the form of the features on a sample.
_MANY_ROWS = 40_000
_SAMPLE = 10_000


@dataclass
class Counts:
    """Counts of word and character n-grams of the same texts, as they are or in lowercase."""

    words: Any
    characters: Any

    @classmethod
    def of(cls, texts: list[str], *, lowercase: bool) -> Counts:
        """Count the n-grams of texts."""
        options = {
            "n_features": 2**30,
            "alternate_sign": False,
            "norm": None,
            "dtype": np.float32,
            "n_jobs": 1,
        }
        options["lowercase"] = lowercase
        words = HashingNgramVectorizer(token_pattern=TOKENS.pattern, ngram_range=(1, 2), **options)
        characters = HashingNgramVectorizer(analyzer="char_wb", ngram_range=(2, 5), **options)
        return cls(words.transform(texts), characters.transform(texts))

    def take(self, rows: NDArray[np.int64]) -> Counts:
        """Return the counts of some rows."""
        return Counts(self.words[rows], self.characters[rows])


class TfidfSvm:
    """TF-IDF of words 1-2 (with punctuation) and characters 2-5 within words, and a linear SVM."""

    def __init__(self, C: float, sublinear: bool) -> None:
        self.C = C
        self.sublinear = sublinear

    def fit(self, counts: Counts, labels: NDArray[Any]) -> TfidfSvm:
        """Train on counts."""
        self._columns = [np.unique(matrix.indices) for matrix in (counts.words, counts.characters)]
        self._tfidf = [TfidfTransformer(sublinear_tf=self.sublinear) for _ in self._columns]
        parts = [
            tfidf.fit_transform(_compact(matrix, columns))
            for tfidf, matrix, columns in zip(
                self._tfidf, (counts.words, counts.characters), self._columns, strict=True
            )
        ]
        with warnings.catch_warnings():
            # A large C may not converge, and is not chosen then.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self._svm = LinearSVC(C=self.C, random_state=0).fit(
                scipy.sparse.hstack(parts, format="csr"), labels
            )
        return self

    def predict(self, counts: Counts) -> NDArray[Any]:
        """Predict labels."""
        parts = [
            tfidf.transform(_compact(matrix, columns))
            for tfidf, matrix, columns in zip(
                self._tfidf, (counts.words, counts.characters), self._columns, strict=True
            )
        ]
        return np.asarray(self._svm.predict(scipy.sparse.hstack(parts, format="csr")))


def _compact(matrix: Any, columns: NDArray[Any]) -> Any:
    """Return the columns of a matrix that occur in training, without the others."""
    at = np.searchsorted(columns, matrix.indices)
    known = columns[np.minimum(at, len(columns) - 1)] == matrix.indices
    indptr = np.concatenate(([0], np.cumsum(known)))[matrix.indptr]
    return scipy.sparse.csr_matrix(
        (matrix.data[known].astype(np.float64), at[known], indptr),
        shape=(matrix.shape[0], len(columns)),
    )


def choose(forms: dict[bool, Counts], labels: NDArray[Any]) -> dict[str, Any]:
    """Choose the case, ``sublinear_tf`` and C, one after the other, by cross-validation."""
    n_rows = len(labels)
    rows = np.arange(n_rows)
    if n_rows > _MANY_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(n_rows, _SAMPLE, replace=False))
    tried = []

    def score(
        lowercase: bool,
        sublinear: bool,
        C: float,
        rows: NDArray[np.int64],
        n_splits: int,
        n_used: int,
    ) -> float:
        counts, part = forms[lowercase].take(rows), labels[rows]
        correct, total = 0, 0
        for train, valid in list(_folds(part, n_splits))[:n_used]:
            model = TfidfSvm(C, sublinear).fit(counts.take(train), part[train])
            correct += int((model.predict(counts.take(valid)) == part[valid]).sum())
            total += len(valid)
        tried.append(
            {
                "lowercase": lowercase,
                "sublinear": sublinear,
                "C": C,
                "accuracy": 100 * correct / total,
            }
        )
        return correct / total

    best = {"lowercase": True, "sublinear": True, "C": 1.0}
    known = {True: score(**best, rows=rows, n_splits=_FOLDS, n_used=_FOLDS)}
    if False in forms:
        cased = score(**best | {"lowercase": False}, rows=rows, n_splits=_FOLDS, n_used=_FOLDS)
        if cased > known[True]:
            best["lowercase"], known[True] = False, cased
    known[False] = score(**best | {"sublinear": False}, rows=rows, n_splits=_FOLDS, n_used=_FOLDS)
    best["sublinear"] = known[True] >= known[False]
    every = {"rows": np.arange(n_rows), "n_splits": _FOLDS, "n_used": _FOLDS}
    strengths = {}
    if n_rows > _MANY_ROWS:
        every |= {"n_splits": 10, "n_used": 1}
    else:
        strengths[1.0] = max(known.values())
    for C in STRENGTHS:
        if C not in strengths:
            strengths[C] = score(**best | {"C": C}, **every)
        if C > 1 and strengths[C] < strengths[1.0] - 0.01:
            break  # a larger C takes long, and is worse
    best["C"] = max(strengths, key=lambda C: (strengths[C], -C))
    return best | {"tried": tried}


def _folds(labels: NDArray[Any], n_splits: int) -> Any:
    """Return stratified folds; labels with fewer rows than folds are one class for this purpose."""
    counts = Counter(labels.tolist())
    groups = np.array([label if counts[label] >= n_splits else "" for label in labels.tolist()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # fewer rare rows than folds
        yield from StratifiedKFold(n_splits, shuffle=True, random_state=0).split(
            np.zeros(len(labels)), groups
        )
