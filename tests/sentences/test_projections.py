from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.sentences import _projections
from sklearn_hashnlp.sentences._projections import CachedProjections
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector

N_FEATURES = 300
ROW = 4 * N_FEATURES  # bytes
FEATURIZER = CharNgramFeaturizer(ngram_range=(2, 5), split="punctuation", n_jobs=2)
PROJECTOR = SGNNProjector(n_projections=N_FEATURES, n_bits=1, output="float", n_jobs=2)
WORDS = [f"{stem}{number}" for number in range(40) for stem in ("w", "Wort", "日本語", "🙂", "internationalisation")]
COUNTS = np.random.default_rng(0).integers(0, 9, len(WORDS))


def cached(max_bytes, words=WORDS, counts=COUNTS, featurizer=FEATURIZER):
    return CachedProjections(words, counts, featurizer, PROJECTOR, max_bytes=max_bytes)


def one_by_one(words, featurizer=FEATURIZER):
    rows = [PROJECTOR.transform(featurizer.transform([word]))[0] for word in words]
    return np.array([row / (np.sqrt((row**2).sum()) or 1) for row in rows])


ALONE = one_by_one(WORDS)
NONE_KEPT, SOME_KEPT, ALL_KEPT = cached(0), cached(77 * ROW + ROW - 1), cached(10**6)


def test_as_many_are_kept_as_fit():
    assert [NONE_KEPT.n_cached, SOME_KEPT.n_cached, ALL_KEPT.n_cached] == [0, 77, len(WORDS)]
    assert ALL_KEPT.n_features == N_FEATURES


def test_rows_are_unit_projections():
    rows = ALL_KEPT.rows(np.arange(len(WORDS)))
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-6)


@given(st.lists(st.integers(0, len(WORDS) - 1), max_size=50))
def test_rows_are_the_same_bit_for_bit_from_the_cache_and_anew_and_in_any_company(numbers):
    wanted = ALONE[numbers].reshape(-1, N_FEATURES)
    for projections in (NONE_KEPT, SOME_KEPT, ALL_KEPT):
        found = projections.rows(np.array(numbers, dtype=np.int64))
        assert (found.shape, found.dtype) == (wanted.shape, np.float32)
        assert found.tobytes() == wanted.tobytes()


def test_rows_are_the_same_however_many_are_projected_at_once(monkeypatch):
    monkeypatch.setattr(_projections, "_CHUNK", 7)
    assert cached(10**6).rows(np.arange(len(WORDS))).tobytes() == ALONE.tobytes()


def test_words_that_come_most_often_are_kept(monkeypatch):
    projections = cached(2 * ROW, ["a", "b", "c", "d"], np.array([1, 5, 3, 5]))
    asked = []
    project = projections._project
    monkeypatch.setattr(projections, "_project", lambda numbers: (asked.extend(numbers.tolist()), project(numbers))[1])
    projections.rows(np.array([3, 2, 1, 0]))
    assert asked == [2, 0]
    projections.rows(np.array([1, 3]))
    assert asked == [2, 0]


def test_a_word_too_short_for_any_ngram_is_zero():
    featurizer = CharNgramFeaturizer(ngram_range=(5, 5))
    found = cached(10**6, ["a", "words"], np.ones(2), featurizer).rows(np.arange(2))
    assert not found[0].any()
    assert np.linalg.norm(found[1]) == pytest.approx(1)


def test_there_may_be_no_words():
    projections = cached(10**6, [], np.empty(0))
    assert projections.rows(np.empty(0, dtype=np.int64)).shape == (0, N_FEATURES)


def test_what_is_given_is_a_copy():
    projections = cached(10**6)
    projections.rows(np.arange(3))[:] = 0
    assert projections.rows(np.arange(3)).tobytes() == ALONE[:3].tobytes()


def test_threads_may_ask_at_the_same_time():
    numbers = [np.random.default_rng(seed).permutation(len(WORDS)) for seed in range(24)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(SOME_KEPT.rows, numbers))
    for rows, wanted in zip(found, numbers, strict=True):
        assert rows.tobytes() == ALONE[wanted].tobytes()
