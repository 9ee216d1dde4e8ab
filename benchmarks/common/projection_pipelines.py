"""The pipelines that bench_sgnn.py times: rows of projections from words or texts."""

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

from sklearn_hashnlp.kernels import _project_rows
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector, project_words

N_PROJECTIONS, N_BITS = 80, 14
VOCABULARY_SIZE = 25_000
WORDS_A_TEXT = 40

WORDS_ONCE = "ours, words of texts once"
OURS = ("ours", "ours, each row by itself", "ours, signs", "ours, float")
EIGHTY = ("80 projections, fixed vocabulary", "80 projections, fitted vocabulary")
ONE = ("one projection, fixed vocabulary", "one projection, fitted vocabulary")
SIDES = (*OURS, *EIGHTY, *ONE)


def run_side(side: str, rows: Sequence[str], vocabulary: Sequence[str]) -> Any:
    """Fit a pipeline to rows and project them; whatever that gives. Rows are words, or texts of several."""
    if side == "ours, each row by itself":
        with patch.object(_project_rows, "first_equal_rows", _each_by_itself):
            return ours().fit_transform(rows)
    if side == WORDS_ONCE:
        texts = [" ".join(rows[start : start + WORDS_A_TEXT]) for start in range(0, len(rows), WORDS_A_TEXT)]
        projector = SGNNProjector(n_projections=N_PROJECTIONS, n_bits=N_BITS)
        return project_words(texts, featurizer=CharNgramFeaturizer(), projector=projector).projections
    if side in OURS:
        return ours({"ours, signs": "sign"}.get(side, "normal"), float_output="float" in side).fit_transform(rows)
    return peer(side, vocabulary).fit_transform(rows)


def ours(hyperplanes: str = "normal", *, float_output: bool = False) -> Pipeline:
    projector = SGNNProjector(
        n_projections=N_PROJECTIONS,
        n_bits=N_BITS,
        hyperplanes=hyperplanes,
        output="float" if float_output else "binary",
    )
    return make_pipeline(CharNgramFeaturizer(), projector)


def peer(side: str, vocabulary: Sequence[str]) -> Pipeline:
    """Make the source's pipeline: counts of character 1- to 3-grams within marked words, then random projections.

    ``char_wb`` marks words by blanks, as ``<`` and ``>`` do in ours.
    """
    fixed = vocabulary if "fixed" in side else None
    counts = CountVectorizer(analyzer="char_wb", lowercase=False, ngram_range=(1, 3), vocabulary=fixed)
    if side in ONE:
        return make_pipeline(counts, SparseRandomProjection(N_PROJECTIONS * N_BITS, random_state=0))
    union = FeatureUnion(
        [(f"projection {t}", SparseRandomProjection(N_BITS, random_state=t)) for t in range(N_PROJECTIONS)]
    )
    return make_pipeline(counts, union)


def fixed_vocabulary() -> list[str]:
    """Give the vocabulary of the source: the most frequent n-grams of a made-up text."""
    signs = sorted(set(string.printable) - set(string.digits) - {" "})
    made = [" ", *signs, *string.digits]
    made += [first + second for first in signs for second in signs]
    made += [first + letter + second for first in signs for second in signs for letter in string.ascii_lowercase]
    made += [first + second for first in string.digits for second in string.digits]
    counts = CountVectorizer(analyzer="char", lowercase=False, ngram_range=(1, 3), max_features=VOCABULARY_SIZE)
    return sorted(counts.fit([" ".join(made)]).vocabulary_)


def _each_by_itself(indptr: NDArray[np.int64], *_values: Any) -> NDArray[np.int64]:
    return np.arange(len(indptr) - 1)
