from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.sentences import _cooccurrence
from sklearn_hashnlp.sentences._cooccurrence import ppmi_vectors
from sklearn_hashnlp.sentences._sentence_reader import Paragraphs
from tests.oracles import sentences as oracle

SENTENCES = st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=12), max_size=12)


def paragraphs_of(sentences, n_words=10):
    """Return sentences of word ids, each a paragraph."""
    values = np.array([word for sentence in sentences for word in sentence], dtype=np.int32)
    offsets = np.concatenate(
        ([0], np.cumsum([len(sentence) for sentence in sentences], dtype=np.int64))
    )
    words = [f"word{word_id}" for word_id in range(n_words)]
    return Paragraphs(words, Ragged(values, offsets), np.arange(len(sentences) + 1))


@given(
    SENTENCES,
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from([2, 5, 20]),
    st.sampled_from([0.75, 1.0]),
    st.sampled_from([0.0, 0.25, 1.0]),
)
@example([], 1, 1, 2, 1.0, 0.0)
@example([[3], [4], [3]], 1, 1, 2, 1.0, 0.0)
@example([[1, 2]], 1, 2, 2, 1.0, 0.0)
def test_similarities_are_those_of_the_definition(
    sentences, window, min_count, n_contexts, smoothing, power
):
    options = {
        "window": window,
        "min_count": min_count,
        "n_contexts": n_contexts,
        "smoothing": smoothing,
    }
    word_ids, vectors, counts = ppmi_vectors(
        paragraphs_of(sentences), n_components=12, power=power, **options
    )
    words, similarities = oracle.ppmi_similarities(sentences, power, **options)
    assert word_ids.tolist() == words
    assert vectors.shape == (len(words), 12)
    np.testing.assert_allclose(vectors @ vectors.T, similarities, atol=2e-4)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    occurrences = Counter(word for sentence in sentences for word in sentence)
    assert counts.tolist() == [occurrences[word] for word in words]
    assert (word_ids.dtype, vectors.dtype, counts.dtype) == (np.int64, np.float32, np.int64)


@given(SENTENCES, st.integers(1, 4))
def test_the_size_of_blocks_does_not_matter(sentences, window):
    text = paragraphs_of(sentences)
    whole = ppmi_vectors(text, n_components=12, window=window, min_count=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_cooccurrence, "_TEXT_BLOCK", 3)
        parts = ppmi_vectors(text, n_components=12, window=window, min_count=1)
    assert whole[0].tolist() == parts[0].tolist()
    np.testing.assert_allclose(whole[1] @ whole[1].T, parts[1] @ parts[1].T, atol=2e-4)


def test_fewer_components_have_the_largest_singular_values():
    topics = np.random.default_rng(0).permutation(60).reshape(6, 10)
    rng = np.random.default_rng(1)
    sentences = [rng.choice(topics[number % 6], 8).tolist() for number in range(600)]
    word_ids, vectors, _ = ppmi_vectors(
        paragraphs_of(sentences, 60), n_components=6, window=2, power=0.5
    )
    _, values = oracle.ppmi(sentences, window=2, min_count=3, n_contexts=20_000, smoothing=0.75)
    rows = np.zeros((60, 60))
    for (word, context), value in values.items():
        rows[word, context] = value
    left, singular_values, _ = np.linalg.svd(rows[word_ids])
    assert singular_values[5] > 2 * singular_values[6]  # so that the largest six are clear
    expected = left[:, :6] * singular_values[:6] ** 0.5
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(vectors @ vectors.T, expected @ expected.T, atol=0.005)


def test_same_seed_same_bytes_at_any_number_of_threads():
    rng = np.random.default_rng(0)
    text = paragraphs_of(
        [(rng.integers(0, 900, rng.integers(1, 15)) ** 2 // 900).tolist() for _ in range(3000)], 900
    )
    results = []
    for n_threads in (1, 2, 1):
        with threadpool_limits(n_threads, user_api="blas"):
            results.append(ppmi_vectors(text, n_components=40, seed=7))
    for other in results[1:]:
        assert all(a.tobytes() == b.tobytes() for a, b in zip(results[0], other, strict=True))
