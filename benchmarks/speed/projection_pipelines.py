"""The pipelines that bench_sgnn.py times: projections of words or texts."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.random_projection import SparseRandomProjection

from sklearn_hashnlp.kernels.projections import _project_rows
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector, project_words

N_PROJECTIONS, N_BITS = 80, 14
VOCABULARY_SIZE = 25_000
WORDS_A_TEXT = 40

WORDS_ONCE = "ours, words of texts once"
OURS = ("ours", "ours, each row by itself", "ours, signs", "ours, float")
EIGHTY = ("80 projections, fixed vocabulary", "80 projections, fitted vocabulary")
ONE = ("one projection, fixed vocabulary", "one projection, fitted vocabulary")
PIPELINES = (*OURS, *EIGHTY, *ONE)


def run_pipeline(method: str, rows: Sequence[str], vocabulary: Sequence[str]) -> Any:
    """Fit a pipeline to words or texts and return its projections."""
    if method == "ours, each row by itself":
        with patch.object(_project_rows, "first_equal_rows", _no_equal_rows):
            return ours().fit_transform(rows)
    if method == WORDS_ONCE:
        texts = [
            " ".join(rows[start : start + WORDS_A_TEXT])
            for start in range(0, len(rows), WORDS_A_TEXT)
        ]
        projector = SGNNProjector(n_projections=N_PROJECTIONS, n_bits=N_BITS)
        return project_words(
            texts, featurizer=CharNgramFeaturizer(), projector=projector
        ).projections
    if method in OURS:
        return ours(
            {"ours, signs": "sign"}.get(method, "normal"), float_output="float" in method
        ).fit_transform(rows)
    return reference(method, vocabulary).fit_transform(rows)


def ours(hyperplanes: str = "normal", *, float_output: bool = False) -> Pipeline:
    projector = SGNNProjector(
        n_projections=N_PROJECTIONS,
        n_bits=N_BITS,
        hyperplanes=hyperplanes,
        output="float" if float_output else "binary",
    )
    return make_pipeline(CharNgramFeaturizer(), projector)


def reference(method: str, vocabulary: Sequence[str]) -> Pipeline:
    """Build the reference pipeline: counts of character 1- to 3-grams, then random projections."""
    fixed = vocabulary if "fixed" in method else None
    counts = CountVectorizer(
        analyzer="char_wb", lowercase=False, ngram_range=(1, 3), vocabulary=fixed
    )
    if method in ONE:
        return make_pipeline(counts, SparseRandomProjection(N_PROJECTIONS * N_BITS, random_state=0))
    union = FeatureUnion(
        [
            (f"projection {t}", SparseRandomProjection(N_BITS, random_state=t))
            for t in range(N_PROJECTIONS)
        ]
    )
    return make_pipeline(counts, union)


def fixed_vocabulary() -> list[str]:
    """Return the reference's vocabulary: the most frequent n-grams of a synthetic text."""
    signs = sorted(set(string.printable) - set(string.digits) - {" "})
    synthetic = [" ", *signs, *string.digits]
    synthetic += [first + second for first in signs for second in signs]
    synthetic += [
        first + letter + second
        for first in signs
        for second in signs
        for letter in string.ascii_lowercase
    ]
    synthetic += [first + second for first in string.digits for second in string.digits]
    counts = CountVectorizer(
        analyzer="char", lowercase=False, ngram_range=(1, 3), max_features=VOCABULARY_SIZE
    )
    return sorted(counts.fit([" ".join(synthetic)]).vocabulary_)


def _no_equal_rows(indptr: NDArray[np.int64], *_values: Any) -> NDArray[np.int64]:
    return np.arange(len(indptr) - 1)
