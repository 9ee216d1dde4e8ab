"""Vectors, similarities and search of SGNNSentenceEncoder."""

import numpy as np
import pytest

from sklearn_hashnlp.sentences import _encode_sentences, _fitted_encoder
from tests.sentence_texts import PARAGRAPHS, QUERIES, fitted

ENCODER = fitted()


def test_case_does_not_matter_and_words_do():
    bar, upper, carn, seen, unseen = ENCODER.transform(
        ["bar carn", "BAR Carn", "carn", "bar", "barrr"]
    )
    # equal texts may differ by the rounding of their rows
    np.testing.assert_allclose(bar, upper, atol=1e-6)
    assert not np.allclose(bar, carn)
    assert seen @ unseen < 0.999


def test_emoji_and_other_scripts_have_distinct_vectors():
    texts = ["🙂", "👩🏽‍🔬", "🇫🇷", "日本語", "한국", "ไทย", "é", "e\u0301", "½", "_"]
    vectors = ENCODER.transform(texts)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert not ENCODER.transform(["", " \n", "\u3000"]).any()
    assert len({row.tobytes() for row in vectors}) == len(texts)


def test_long_texts_are_truncated_with_one_warning():
    long = "bar carn belm " * 3334
    with pytest.warns(
        UserWarning, match="the longest text has 10,002 words; texts are truncated to 512"
    ) as caught:
        vectors = ENCODER.transform(["bar", long, long, "bar carn"])
    assert len(caught) == 1
    assert vectors[1].tobytes() == vectors[2].tobytes()
    np.testing.assert_allclose(
        vectors[1], ENCODER.transform(["bar carn belm " * 170 + "bar carn"])[0], atol=1e-6
    )


def test_equal_texts_have_equal_vectors_in_any_batches(monkeypatch):
    texts = np.random.default_rng(0).choice([*QUERIES, *PARAGRAPHS], 300).tolist()
    expected = ENCODER.transform(texts)
    monkeypatch.setattr(_encode_sentences, "_BATCH_WORDS", 30)
    monkeypatch.setattr(_fitted_encoder, "CHUNK_CHARACTERS", 100)
    vectors = ENCODER.transform(texts)
    for text, vector in zip(texts, vectors, strict=True):
        assert np.array_equal(vector, vectors[texts.index(text)])
    np.testing.assert_allclose(vectors, expected, atol=1e-6)


def test_similarity():
    left, right = ["bar carn", "bar", "", "BAR"], ["bar carn", "time", "bar", "bar"]
    similarities = ENCODER.similarity(left, right)
    assert similarities.dtype == np.float32
    expected = np.diag(ENCODER.transform(left) @ ENCODER.transform(right).T)
    np.testing.assert_allclose(similarities, expected, atol=1e-6)
    np.testing.assert_allclose(similarities[[0, 2, 3]], [1, 0, 1], atol=1e-6)
    assert ENCODER.similarity([], []).shape == (0,)
    with pytest.raises(ValueError, match=r"needs as many in A as in B\. Got 1 and 2"):
        ENCODER.similarity(["a"], ["a", "b"])


def test_most_similar():
    vectors = ENCODER.transform(PARAGRAPHS)
    queries = ["bar carn", PARAGRAPHS[7], ""]
    indices, similarities = ENCODER.most_similar(queries, PARAGRAPHS, k=5)
    assert (indices.dtype, similarities.dtype) == (np.int64, np.float32)
    assert indices.shape == similarities.shape == (3, 5)
    for query, nearest, expected in zip(
        ENCODER.transform(queries), indices, similarities, strict=True
    ):
        np.testing.assert_allclose(vectors[nearest] @ query, expected, atol=1e-6)
        np.testing.assert_allclose(np.sort(vectors @ query)[::-1][:5], expected, atol=1e-6)
    assert indices[1, 0] == 7
    assert indices[2].tolist() == [0, 1, 2, 3, 4]  # of equally similar texts the earlier
    assert np.array_equal(ENCODER.most_similar(queries, vectors, k=5)[0], indices)
    assert [part.shape for part in ENCODER.most_similar(queries, PARAGRAPHS[:2])] == [(3, 2)] * 2
    assert [part.shape for part in ENCODER.most_similar([], PARAGRAPHS[:2])] == [(0, 2)] * 2
    assert [part.shape for part in ENCODER.most_similar(queries, [])] == [(3, 0)] * 2
    for k in (0, "5"):
        with pytest.raises(ValueError, match=f"k must be an integer of 1 or more, got {k!r}"):
            ENCODER.most_similar(queries, PARAGRAPHS, k=k)


def test_equally_similar_texts_keep_their_order():
    rng, query = np.random.default_rng(0), ENCODER.transform(QUERIES[:1])
    for n in range(1, 100):
        for k in (n + 1, (n + 1) // 2):
            indices, similarities = ENCODER.most_similar(
                query, rng.normal(size=(2, 24))[[0] * n + [1]], k=k
            )
            assert (np.diff(indices[0][indices[0] < n]) == 1).all()
            assert (np.diff(similarities[0]) <= 0).all()
    indices, _ = ENCODER.most_similar(query, [PARAGRAPHS[0]] * 37 + [PARAGRAPHS[1]], k=38)
    assert indices[0].tolist() in ([*range(37), 37], [37, *range(37)])


def test_the_number_of_parts_does_not_matter(monkeypatch):
    texts = PARAGRAPHS[:3]
    expected = ENCODER.most_similar(PARAGRAPHS, texts, k=2)
    split = np.array_split
    monkeypatch.setattr(
        np, "array_split", lambda rows, parts, *args: split(rows, max(parts, 7), *args)
    )
    indices, _ = ENCODER.most_similar(PARAGRAPHS, texts, k=2)
    assert np.array_equal(indices, expected[0])
