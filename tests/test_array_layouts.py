"""Arrays of another byte order, order of dimensions or stride give the same results wherever arrays
are taken.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from sklearn_hashnlp.sentences import DistilledSentenceEncoder
from sklearn_hashnlp.trees import (
    balanced_tree,
    cluster_tree,
    complete_tree,
    huffman_tree,
    two_level_tree,
)
from tests.contract.estimators import CASES, CLASSIFIERS
from tests.trainings import assert_same_bits

TEXTS = [
    "what a fine film",
    "I was bored to tears",
    "funny, warm and wise",
    "dull from start to end",
] * 6
COUNTS = np.array([5, 1, 7, 2, 2, 9], dtype=np.int64)

Layout = Callable[[Any], Any]


def big_endian(array: Any) -> Any:
    return array.astype(array.dtype.newbyteorder(">"))


def strided(array: Any) -> Any:
    """Return every second element of an array with others in between, in both dimensions."""
    wide = np.repeat(array, 2, axis=0)
    wide[1::2] = wide[::-1][::2]
    return wide[::2] if array.ndim == 1 else np.repeat(wide, 2, axis=1)[::2, ::2]


def reverse_strided(array: Any) -> Any:
    return array[::-1].copy()[::-1]


def read_only(array: Any) -> Any:
    array = array.copy()
    array.setflags(write=False)
    return array


LAYOUTS: dict[str, Layout] = {
    "big-endian": big_endian,
    "Fortran": lambda array: np.array(array, order="F"),
    "strided": strided,
    "reverse-strided": reverse_strided,
    "read-only": read_only,
}


@pytest.fixture(params=LAYOUTS.values(), ids=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> Layout:
    result: Layout = request.param
    return result


def parts(X: Any, layout: Layout) -> Any:
    """Return the same sparse rows with each of their arrays in another layout."""
    other = csr_array(X.shape, dtype=X.dtype)
    other.data = layout(X.data)
    other.indices = layout(X.indices)
    other.indptr = layout(X.indptr)
    return other


def equal(first: Any, second: Any) -> None:
    """Compare values, in native byte order."""
    if issparse(first):
        assert first.shape == second.shape
        assert (first != second).nnz == 0
        assert second.dtype.isnative
    else:
        np.testing.assert_array_equal(first, second)
        assert np.asarray(second).dtype.isnative


NAMES = [
    *(
        "HashingNgramVectorizer",
        "CharNgramFeaturizer",
        "SGNNWordProjector",
        "SGNNProjector",
        "TextClassifier",
    ),
    *("HashEmbeddingClassifier", "HashEmbeddingClassifier, several labels"),
    *("SGNNClassifier", "SGNNClassifier, packed, adagrad", "QuantizedSGNNClassifier"),
]


def fit(name: str, change: Layout) -> Any:
    case = CASES[name]
    weights = {"sample_weight": change(np.linspace(0.5, 1.5, 80))} if name in CLASSIFIERS else {}
    return case.make().fit(change(case.X), None if case.y is None else change(case.y), **weights)


@cache
def native_model(name: str) -> Any:
    return fit(name, lambda value: value)


@pytest.mark.parametrize("name", NAMES)
def test_texts_rows_labels_and_weights(name: str, layout: Layout) -> None:
    def change(value: Any) -> Any:
        return parts(value, layout) if issparse(value) else layout(np.array(value))

    case = CASES[name]
    native, other = native_model(name), fit(name, change)
    for method in case.answers:
        found, expected = (
            getattr(other, method)(change(case.asked)),
            getattr(native, method)(case.asked),
        )
        if method == "predict":  # labels have the dtype of those of fit
            assert_same_bits(found, expected)
        else:
            assert_same_bits(expected, found)


@cache
def learned_vectors() -> tuple[DistilledSentenceEncoder, list[str], Any]:
    vectors = np.random.default_rng(1).normal(size=(24, 50))
    texts = [f"{text} {number}" for number, text in enumerate(TEXTS)]
    return DistilledSentenceEncoder().fit(texts, vectors), texts, vectors


def test_vectors_of_a_teacher(layout: Layout) -> None:
    native, texts, vectors = learned_vectors()
    other = DistilledSentenceEncoder().fit(np.array(texts), layout(vectors))
    encoded = native.transform(texts)
    assert_same_bits(encoded, other.transform(layout(np.array(texts))))
    indices, similarities = native.most_similar(encoded[:3], encoded, k=2)
    found = native.most_similar(layout(encoded[:3]), layout(encoded), k=2)
    equal(found[0], indices)
    equal(found[1], similarities)


def test_vectors_of_classes(layout: Layout) -> None:
    vectors = np.random.default_rng(2).normal(size=(300, 30))
    assert cluster_tree(300, vectors, random_state=0) == cluster_tree(
        300, layout(vectors), random_state=0
    )


@pytest.mark.parametrize("build", [huffman_tree, two_level_tree, balanced_tree, complete_tree])
def test_counts_of_classes(layout: Layout, build: Callable[..., Any]) -> None:
    assert build(COUNTS) == build(layout(COUNTS))
