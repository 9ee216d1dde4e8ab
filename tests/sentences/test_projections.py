from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.sentences import _reader
from sklearn_hashnlp.sentences._reader import CachedProjections
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector
from tests.oracles.sentences import unit_rows

N_FEATURES = 300
ROW = 4 * N_FEATURES  # bytes
FEATURIZER = CharNgramFeaturizer(ngram_range=(2, 5), split="punctuation", n_jobs=2)
PROJECTOR = SGNNProjector(n_projections=N_FEATURES, n_bits=1, output="float", n_jobs=2)
WORDS = [f"{stem}{number}" for number in range(40) for stem in ("w", "Wort", "日本語", "🙂", "internationalisation")]
COUNTS = np.random.default_rng(0).integers(0, 9, len(WORDS))


def cached(max_bytes, words=WORDS, counts=COUNTS, featurizer=FEATURIZER):
    return CachedProjections(words, counts, featurizer, PROJECTOR, max_bytes=max_bytes)


ONE_BY_ONE = unit_rows([PROJECTOR.transform(FEATURIZER.transform([word]))[0] for word in WORDS])
NONE_CACHED, SOME_CACHED, ALL_CACHED = cached(0), cached(77 * ROW + ROW - 1), cached(10**6)


def test_as_many_are_cached_as_fit():
    assert [NONE_CACHED.n_cached, SOME_CACHED.n_cached, ALL_CACHED.n_cached] == [0, 77, len(WORDS)]
    assert ALL_CACHED.n_features == N_FEATURES
    assert cached(10**6, [], np.empty(0)).rows(np.empty(0, dtype=np.int64)).shape == (0, N_FEATURES)


@given(st.lists(st.integers(0, len(WORDS) - 1), max_size=50))
def test_rows_are_the_same_bit_for_bit_from_the_cache_and_computed_with_any_others(word_ids):
    expected = ONE_BY_ONE[word_ids].reshape(-1, N_FEATURES)
    for projections in (NONE_CACHED, SOME_CACHED, ALL_CACHED):
        rows = projections.rows(np.array(word_ids, dtype=np.int64))
        assert (rows.shape, rows.dtype) == (expected.shape, np.float32)
        assert rows.tobytes() == expected.tobytes()


def test_the_size_of_chunks_does_not_matter(monkeypatch):
    monkeypatch.setattr(_reader, "_CHUNK", 7)
    assert cached(10**6).rows(np.arange(len(WORDS))).tobytes() == ONE_BY_ONE.tobytes()


def test_the_most_frequent_words_are_cached(monkeypatch):
    projections = cached(2 * ROW, ["a", "b", "c", "d"], np.array([1, 5, 3, 5]))
    computed = []
    project = projections._project
    monkeypatch.setattr(projections, "_project", lambda ids: (computed.extend(ids.tolist()), project(ids))[1])
    projections.rows(np.array([3, 2, 1, 0]))
    assert computed == [2, 0]
    projections.rows(np.array([1, 3]))
    assert computed == [2, 0]


def test_a_word_without_ngrams_is_zero():
    featurizer = CharNgramFeaturizer(ngram_range=(5, 5))
    rows = cached(10**6, ["a", "words"], np.ones(2), featurizer).rows(np.arange(2))
    assert not rows[0].any()
    assert np.linalg.norm(rows[1]) == pytest.approx(1)


def test_rows_are_copies():
    projections = cached(10**6)
    projections.rows(np.arange(3))[:] = 0
    assert projections.rows(np.arange(3)).tobytes() == ONE_BY_ONE[:3].tobytes()


def test_threads_may_look_up_at_the_same_time():
    word_ids = [np.random.default_rng(seed).permutation(len(WORDS)) for seed in range(24)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(SOME_CACHED.rows, word_ids))
    for rows, ids in zip(results, word_ids, strict=True):
        assert rows.tobytes() == ONE_BY_ONE[ids].tobytes()
