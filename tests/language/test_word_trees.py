"""Trees over words, and the word vectors that they are clustered by."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from sklearn_hashnlp.language import HsigmoidLanguageModel, _language_net
from sklearn_hashnlp.language._language_net import cooccurrence_vectors, word_clusters
from sklearn_hashnlp.language._tokenizer import read_training_data

RNG = np.random.default_rng(0)
NAMES = ["ann", "bob", "cid"]
VERBS = ["sees", "hears"]
THINGS = ["tree", "bird", "song", "rain"]
SENTENCES = [[RNG.choice(NAMES), RNG.choice(VERBS), RNG.choice(THINGS)] for _ in range(400)]


def corpus(order=3, **options):
    return read_training_data(HsigmoidLanguageModel(order=order, **options), SENTENCES)


def test_the_vectors_are_repeatable_and_bounded(monkeypatch):
    data = corpus()
    n_classes = data.tokenizer.vocabulary.n_classes
    first = cooccurrence_vectors(data.windows, n_classes, n_components=4, seed=0)
    assert first.shape == (n_classes, 4)
    assert first.dtype == np.float32
    assert (
        first.tobytes()
        == cooccurrence_vectors(data.windows, n_classes, n_components=4, seed=0).tobytes()
    )
    assert not first[data.tokenizer.vocabulary.unknown_id].any()  # it does not occur
    monkeypatch.setattr(_language_net, "_BLOCK_SIZE", 7)
    np.testing.assert_allclose(
        cooccurrence_vectors(data.windows, n_classes, n_components=4, seed=0), first, atol=1e-6
    )
    monkeypatch.setattr(_language_net, "_MAX_CONTEXT_WORDS", 2)
    assert cooccurrence_vectors(data.windows, n_classes).shape == (n_classes, 4)


def test_the_vectors_are_the_same_at_any_number_of_threads():
    words = np.arange(400)
    sentences = [
        [f"w{i}" for i in RNG.choice(words, 10, p=(words + 1) / (words + 1).sum())]
        for _ in range(500)
    ]
    data = read_training_data(HsigmoidLanguageModel(order=4), sentences)
    vectors = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            vectors.append(
                cooccurrence_vectors(data.windows, data.tokenizer.vocabulary.n_classes, seed=0)
            )
    assert vectors[0].tobytes() == vectors[1].tobytes()


@pytest.mark.parametrize("embedding", ["table", "hash"])
@pytest.mark.parametrize("order", [2, 3, 5])
def test_the_inner_products_are_those_of_the_counts(order, embedding):
    data = corpus(order, embedding=embedding)
    n_classes, ids = data.tokenizer.vocabulary.n_classes, data.tokenizer.vocabulary.word_to_id
    counts = np.zeros((n_classes, order - 1, n_classes + 1))
    for sentence in SENTENCES:
        words = [*["<s>"] * (order - 1), *sentence, "</s>"]
        for end in range(order - 1, len(words)):
            for distance in range(1, order):
                counts[ids[words[end]], distance - 1, ids[words[end - distance]]] += 1 / distance
    counts = counts.reshape(n_classes, -1)
    roots = np.sqrt(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
    vectors = cooccurrence_vectors(data.windows, n_classes)
    np.testing.assert_allclose(vectors @ vectors.T, roots @ roots.T, atol=1e-5)


def test_frequent_words_have_small_clusters():
    counts = 10**6 // np.arange(1, 901)
    tree = word_clusters(counts, RNG.normal(size=(900, 5)).astype(np.float32), seed=0)
    assert tree.max_depth == 2
    assert tree.arities[0] == 45
    below_root, of_equal_words = (
        tree.expected_cost(counts) - 45,
        tree.expected_cost(np.ones(900)) - 45,
    )
    assert below_root < 0.9 * of_equal_words


@pytest.mark.parametrize("n_words", [1, 2, 3, 4, 9, 50])
def test_any_number_of_words_has_clusters(n_words):
    counts = np.arange(n_words, 0, -1)
    tree = word_clusters(counts, RNG.normal(size=(n_words, 3)).astype(np.float32), seed=0)
    assert tree.n_classes == n_words
