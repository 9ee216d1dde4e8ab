"""Arrays of another byte order, order of dimensions or stride give the same results wherever arrays are taken."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from sklearn_hashnlp import (
    CharNgramFeaturizer,
    HashEmbeddingClassifier,
    HashingNgramVectorizer,
    SGNNClassifier,
    SGNNProjector,
    SGNNWordProjector,
    TextClassifier,
    quantize,
)
from sklearn_hashnlp.sentences import DistilledSentenceEncoder
from sklearn_hashnlp.trees import balanced_tree, cluster_tree, complete_tree, huffman_tree, two_level_tree

TEXTS = ["what a fine film", "I was bored to tears", "funny, warm and wise", "dull from start to end"] * 6
LABELS = np.array(["good", "bad", "good", "bad"] * 6)
NUMBERS = np.random.default_rng(0).integers(-3, 4, (24, 12)).astype(np.float64)
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


def parts(X: csr_matrix, layout: Layout, kind: type = csr_matrix) -> Any:
    """Return the same sparse rows with each of their arrays in another layout."""
    other = kind(X.shape, dtype=X.dtype)
    other.data, other.indices, other.indptr = layout(X.data), layout(X.indices), layout(X.indptr)
    return other


def equal(first: Any, second: Any) -> None:
    """Compare values, in native byte order."""
    if isinstance(first, csr_matrix):
        first, second = first.toarray(), second.toarray()
    np.testing.assert_array_equal(first, second)
    assert np.asarray(second).dtype.isnative


def test_the_layouts_are_what_they_say() -> None:
    for array in (NUMBERS, COUNTS, LABELS):
        for one in LAYOUTS.values():
            np.testing.assert_array_equal(one(array), array)
        assert not big_endian(array).dtype.isnative
        assert not strided(array).flags.c_contiguous
        assert reverse_strided(array).strides[0] < 0


def test_texts_in_arrays(layout: Layout) -> None:
    texts = np.array(TEXTS)
    for vectorizer in (HashingNgramVectorizer(n_features=64), CharNgramFeaturizer(n_features=64)):
        equal(vectorizer.transform(texts), vectorizer.transform(layout(texts)))
        equal(vectorizer.transform(texts), vectorizer.transform(layout(texts.astype(object))))
    projector = SGNNWordProjector(CharNgramFeaturizer(), SGNNProjector(n_projections=2, n_bits=8))
    equal(projector.transform(texts), projector.transform(layout(texts)))


def test_texts_and_labels_of_a_classifier(layout: Layout) -> None:
    texts = np.array(TEXTS)
    native = TextClassifier(random_state=0).fit(texts, LABELS)
    other = TextClassifier(random_state=0).fit(layout(texts), layout(LABELS))
    equal(native.predict_proba(texts), other.predict_proba(layout(texts)))
    np.testing.assert_array_equal(native.predict(texts), other.predict(texts))
    assert native.score(layout(texts), layout(LABELS)) == native.score(texts, LABELS)


@pytest.mark.parametrize("dtype", [np.float64, np.int16, np.uint8])
def test_rows_of_a_projection(layout: Layout, dtype: type) -> None:
    X = np.abs(NUMBERS).astype(dtype)
    for output in ("binary", "float"):
        projector = SGNNProjector(n_projections=2, n_bits=8, output=output)
        equal(projector.transform(X), projector.transform(layout(X)))
        sparse = csr_matrix(X)
        equal(projector.transform(sparse), projector.transform(parts(sparse, layout)))
        equal(projector.transform(sparse), projector.transform(parts(sparse, layout, csr_array)))


def hash_embeddings(**parameters: Any) -> HashEmbeddingClassifier:
    return HashEmbeddingClassifier(
        n_buckets=20, n_embeddings=50, embedding_dim=4, max_epochs=2, random_state=0, **parameters
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_labels_and_weights_of_hash_embeddings(layout: Layout, sparse: bool) -> None:
    labels, weights = np.arange(24) % 3, np.linspace(0.5, 1.5, 24)
    X: Any = csr_matrix(NUMBERS) if sparse else NUMBERS
    other: Any = parts(X, layout) if sparse else layout(X)
    native = hash_embeddings().fit(X, labels, sample_weight=weights)
    trained = hash_embeddings().fit(other, layout(labels), sample_weight=layout(weights))
    equal(native.predict_proba(X), trained.predict_proba(other))
    equal(native.decision_function(X), native.decision_function(other))
    np.testing.assert_array_equal(native.predict(X), trained.predict(other))
    equal(native.predict_topk(X, 2)[0], native.predict_topk(other, 2)[0])


def test_indicator_matrices(layout: Layout) -> None:
    y = (NUMBERS[:, :3] > 0).astype(np.int64)
    native = hash_embeddings(loss="ova").fit(NUMBERS, y)
    equal(native.predict_proba(NUMBERS), hash_embeddings(loss="ova").fit(NUMBERS, layout(y)).predict_proba(NUMBERS))


@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_rows_of_dense_networks(layout: Layout, dtype: type) -> None:
    X = (NUMBERS > 0).astype(dtype)
    native = SGNNClassifier(hidden_layer_sizes=(6,), max_epochs=2, random_state=0).fit(X, LABELS)
    other = SGNNClassifier(hidden_layer_sizes=(6,), max_epochs=2, random_state=0).fit(layout(X), layout(LABELS))
    equal(native.predict_proba(X), other.predict_proba(layout(X)))


def test_rows_of_quantized_networks(layout: Layout) -> None:
    X = (NUMBERS > 0).astype(np.uint8)
    network = quantize(SGNNClassifier(hidden_layer_sizes=(6,), max_epochs=2, random_state=0).fit(X, LABELS))
    equal(network.predict_proba(X), network.predict_proba(layout(X)))


@cache
def learned_vectors() -> tuple[DistilledSentenceEncoder, list[str], Any]:
    vectors = np.random.default_rng(1).normal(size=(24, 50))
    texts = [f"{text} {number}" for number, text in enumerate(TEXTS)]
    return DistilledSentenceEncoder().fit(texts, vectors), texts, vectors


def test_vectors_of_a_teacher(layout: Layout) -> None:
    native, texts, vectors = learned_vectors()
    other = DistilledSentenceEncoder().fit(np.array(texts), layout(vectors))
    encoded = native.transform(texts)
    equal(encoded, other.transform(layout(np.array(texts))))
    indices, similarities = native.most_similar(encoded[:3], encoded, k=2)
    found = native.most_similar(layout(encoded[:3]), layout(encoded), k=2)
    equal(found[0], indices)
    equal(found[1], similarities)


def test_vectors_of_classes(layout: Layout) -> None:
    vectors = np.random.default_rng(2).normal(size=(300, 30))
    assert cluster_tree(300, vectors, random_state=0) == cluster_tree(300, layout(vectors), random_state=0)


@pytest.mark.parametrize("build", [huffman_tree, two_level_tree, balanced_tree, complete_tree])
def test_counts_of_classes(layout: Layout, build: Callable[..., Any]) -> None:
    assert build(COUNTS) == build(layout(COUNTS))
