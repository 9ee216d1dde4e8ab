from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from sklearn_hashnlp.kernels import Ragged
from sklearn_hashnlp.sentences import _cooccurrence
from sklearn_hashnlp.sentences._cooccurrence import ppmi_vectors
from sklearn_hashnlp.sentences._paragraphs import Paragraphs

TEXTS = st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=12), max_size=12)


def paragraphs_of(sentences, n_words=10):
    """Give sentences of word numbers, each a paragraph."""
    values = np.array([word for sentence in sentences for word in sentence], dtype=np.int32)
    offsets = np.concatenate(([0], np.cumsum([len(sentence) for sentence in sentences], dtype=np.int64)))
    words = [f"word{number}" for number in range(n_words)]
    return Paragraphs(words, Ragged(values, offsets), np.arange(len(sentences) + 1))


def random_paragraphs(n_sentences=400, n_words=60, seed=0):
    rng = np.random.default_rng(seed)
    return paragraphs_of(
        [(rng.integers(0, n_words, rng.integers(1, 15)) ** 2 // n_words).tolist() for _ in range(n_sentences)], n_words
    )


def slow_information(sentences, *, window, min_count, n_contexts, smoothing):
    """Give the frequent words, and their positive information as a dictionary of (word, context)."""
    counts = Counter(word for sentence in sentences for word in sentence)
    frequent = sorted((word for word in counts if counts[word] >= min_count), key=lambda word: (-counts[word], word))
    contexts = frequent[:n_contexts]
    pairs = Counter()
    for sentence in sentences:
        for i, word in enumerate(sentence):
            for j, context in enumerate(sentence):
                if 0 < abs(i - j) <= window and word in frequent and context in contexts:
                    pairs[word, context] += 1 / abs(i - j)
    of_word, of_context = Counter(), Counter()
    for (word, context), count in pairs.items():
        of_word[word] += count
        of_context[context] += count
    total = sum(count**smoothing for count in of_context.values())
    information = {}
    for (word, context), count in pairs.items():
        value = math.log(count * total / (of_word[word] * of_context[context] ** smoothing))
        if value > 1e-5:
            information[word, context] = value
    return frequent, information


def slow_cosines(sentences, power, **options):
    """Give the words that have a vector, and the vectors' inner products."""
    frequent, information = slow_information(sentences, **options)
    rows = np.array([[information.get((word, context), 0.0) for context in range(10)] for word in sorted(frequent)])
    rows = rows.reshape(-1, 10)
    kept = rows.any(axis=1)
    left, sizes, _ = np.linalg.svd(rows[kept], full_matrices=False)
    real = sizes > 1e-5 * sizes.max(initial=0)
    vectors = left[:, real] * sizes[real] ** power
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.sort(frequent)[kept].tolist(), vectors @ vectors.T


@given(
    TEXTS,
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from([2, 5, 20]),
    st.sampled_from([0.75, 1.0]),
    st.sampled_from([0.0, 0.25, 1.0]),
)
def test_the_cosines_are_those_of_the_definition(sentences, window, min_count, n_contexts, smoothing, power):
    options = {"window": window, "min_count": min_count, "n_contexts": n_contexts, "smoothing": smoothing}
    numbers, targets, counts = ppmi_vectors(paragraphs_of(sentences), n_components=12, power=power, **options)
    words, cosines = slow_cosines(sentences, power, **options)
    assert numbers.tolist() == words
    assert targets.shape == (len(words), 12)
    np.testing.assert_allclose(targets @ targets.T, cosines, atol=2e-4)
    np.testing.assert_allclose(np.linalg.norm(targets, axis=1), 1, atol=1e-6)
    occurrences = Counter(word for sentence in sentences for word in sentence)
    assert counts.tolist() == [occurrences[word] for word in words]
    assert (numbers.dtype, targets.dtype, counts.dtype) == (np.int64, np.float32, np.int64)


@given(TEXTS, st.integers(1, 4))
def test_pairs_are_counted_alike_in_blocks_of_any_size(sentences, window):
    text = paragraphs_of(sentences)
    whole = ppmi_vectors(text, n_components=12, window=window, min_count=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_cooccurrence, "_BLOCK", 3)
        parts = ppmi_vectors(text, n_components=12, window=window, min_count=1)
    assert whole[0].tolist() == parts[0].tolist()
    np.testing.assert_allclose(whole[1] @ whole[1].T, parts[1] @ parts[1].T, atol=2e-4)


def test_fewer_components_are_the_greatest():
    topics = np.random.default_rng(0).permutation(60).reshape(6, 10)
    rng = np.random.default_rng(1)
    sentences = [rng.choice(topics[number % 6], 8).tolist() for number in range(600)]
    numbers, targets, _ = ppmi_vectors(paragraphs_of(sentences, 60), n_components=6, window=2, power=0.5)
    _, information = slow_information(sentences, window=2, min_count=3, n_contexts=20_000, smoothing=0.75)
    rows = np.zeros((60, 60))
    for (word, context), value in information.items():
        rows[word, context] = value
    left, sizes, _ = np.linalg.svd(rows[numbers])
    assert sizes[5] > 2 * sizes[6]  # so that the six greatest are no matter of chance
    vectors = left[:, :6] * sizes[:6] ** 0.5
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(targets @ targets.T, vectors @ vectors.T, atol=0.005)


@pytest.mark.parametrize("sentences", [[], [[3]], [[3], [4], [3]], [[1, 2]]], ids=["none", "one", "alone", "two rare"])
def test_without_any_pair_no_word_has_a_vector(sentences):
    min_count = 2 if sentences == [[1, 2]] else 1
    numbers, targets, counts = ppmi_vectors(paragraphs_of(sentences), n_components=5, min_count=min_count)
    assert numbers.shape == counts.shape == (0,)
    assert targets.shape == (0, 5)


def test_fewer_words_than_components_leave_the_last_ones_empty():
    numbers, targets, _ = ppmi_vectors(paragraphs_of([[0, 1], [2, 3]] * 3), n_components=9)
    assert numbers.tolist() == [0, 1, 2, 3]
    assert targets.shape == (4, 9)
    assert not targets[:, 4:].any()
    np.testing.assert_allclose(targets @ targets.T, np.eye(4), atol=1e-6)


def test_a_seed_gives_the_same_bytes_at_any_number_of_threads():
    text = random_paragraphs(n_sentences=3000, n_words=900)
    found = []
    for n_threads in (1, 2, 1):
        with threadpool_limits(n_threads, user_api="blas"):
            found.append(ppmi_vectors(text, n_components=40, seed=7))
    for other in found[1:]:
        assert all(a.tobytes() == b.tobytes() for a, b in zip(found[0], other, strict=True))


def test_words_of_one_topic_are_near():
    rng = np.random.default_rng(0)
    sentences = [(rng.permutation(10) + 10 * (number % 3)).tolist() for number in range(600)]
    numbers, targets, _ = ppmi_vectors(paragraphs_of(sentences, 30), n_components=3)
    assert numbers.tolist() == list(range(30))
    cosines = (targets @ targets.T).reshape(3, 10, 3, 10)
    for topic in range(3):
        assert cosines[topic, :, topic].min() > 0.9
        assert abs(cosines[topic, :, (topic + 1) % 3]).max() < 0.1
