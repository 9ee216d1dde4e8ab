import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import murmurhash3_32

from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.sentences import _sentence_reader
from sklearn_hashnlp.sentences._sentence_reader import (
    N_COUNTERS,
    CachedProjections,
    Paragraphs,
    SentenceReader,
    WordFrequencies,
)
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector
from sklearn_hashnlp.text._word_projections import encode_words
from tests.oracles.sentences import unit_rows, word_weight
from tests.sentence_texts import LISTS, read

READER = SentenceReader(6, 8, (2, 5), 3, WordFrequencies.count(read(LISTS)))
WORDS = ["the", "Straße", "日本", "🙂", "don't", "...", "_", "4", "", "\ud800"]
SENTENCES = st.lists(st.lists(st.integers(0, len(WORDS) - 1), min_size=1, max_size=8), max_size=8)
FEW_COUNTERS = 2**14  # of which the ten words have ten


def paragraphs_of(sentences, words=WORDS):
    lengths = [len(sentence) for sentence in sentences]
    values = np.array([word for sentence in sentences for word in sentence], dtype=np.int32)
    rows = Ragged(values, np.cumsum([0, *lengths], dtype=np.int64))
    return Paragraphs(list(words), rows, np.array([0, len(sentences)] if sentences else [0]))


def counter(word, n_counters=N_COUNTERS):
    return murmurhash3_32(word.encode("utf-8", "surrogatepass"), positive=True) % n_counters


def test_texts_become_lowercase_words_and_punctuation():
    words, rows = encode_words(
        ["Bar, carn!", "", "CARN bar"], first=0, featurizer=READER.featurizer, caller="Me"
    )
    assert words == ["bar", ",", "carn", "!"]
    assert rows.values.tolist() == [0, 1, 2, 3, 2, 0]
    assert rows.offsets.tolist() == [0, 4, 4, 6]


def test_projections_are_floats_of_the_size_and_seed():
    words = READER.featurizer.transform(["bar", "b", "?"])
    rows = READER.projector.transform(words)
    assert rows.dtype == np.float32
    assert rows.shape == (3, 48)
    assert rows.any(axis=1).all()  # a single character has n-grams, too
    assert not np.array_equal(
        rows, SentenceReader(6, 8, (2, 5), 4, READER.frequencies).projector.transform(words)
    )


def test_a_reader_is_restored_from_its_state():
    values, arrays = READER.to_state()
    restored = SentenceReader.from_state(json.loads(json.dumps(values)), arrays)
    words = ["bar", "carn", "never", "?"]
    assert (restored.n_projections, restored.n_bits, restored.ngram_range, restored.seed) == (
        6,
        8,
        (2, 5),
        3,
    )
    assert (
        restored.frequencies.weights(words).tobytes() == READER.frequencies.weights(words).tobytes()
    )
    assert np.array_equal(restored.frequencies.counts, READER.frequencies.counts)
    assert len(arrays["slots"]) == len(arrays["counts"]) < 100


@given(SENTENCES)
def test_a_sentence_counts_once_for_each_of_its_words(sentences):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_sentence_reader, "N_COUNTERS", FEW_COUNTERS)
        frequencies = WordFrequencies.count(paragraphs_of(sentences))
    expected = np.zeros(FEW_COUNTERS, dtype=np.int64)
    for sentence in sentences:
        for word in set(sentence):
            expected[counter(WORDS[word], FEW_COUNTERS)] += 1
    assert frequencies.counts.dtype == np.int32
    np.testing.assert_array_equal(frequencies.counts, expected)
    assert frequencies.n_sentences == len(sentences)


@given(SENTENCES)
def test_weights_are_those_of_the_formula(sentences):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_sentence_reader, "N_COUNTERS", FEW_COUNTERS)
        weights = WordFrequencies.count(paragraphs_of(sentences)).weights(WORDS)
    assert weights.dtype == np.float32
    texts = [[WORDS[word] for word in sentence] for sentence in sentences]
    np.testing.assert_allclose(weights, [word_weight(word, texts) for word in WORDS], rtol=1e-6)


def test_words_of_the_same_hash_are_counted_together_and_once_a_sentence():
    words = [f"w{number}" for number in range(3000)]
    first_of = {}
    first, second = next(
        (first_of[index], word)
        for word in words
        if first_of.setdefault(index := counter(word), word) != word
    )
    frequencies = WordFrequencies.count(paragraphs_of([[0, 1], [0], [2]], [first, second, "other"]))
    assert len(frequencies.counts) == N_COUNTERS
    assert frequencies.counts[counter(first)] == 2


def test_the_idf_of_rare_words_is_bounded():
    frequencies = WordFrequencies(np.zeros(N_COUNTERS, dtype=np.int32), 10**9)
    assert frequencies.weights(["any", "!"]).tolist() == [27.0, 13.5]


def test_without_a_text_all_words_weigh_the_same():
    frequencies = WordFrequencies(np.zeros(N_COUNTERS, dtype=np.int32), 0)
    assert frequencies.weights(["a", "日", "."]).tolist() == [1.0, 1.0, 0.5]
    weights = frequencies.weights([])
    assert (weights.shape, weights.dtype) == ((0,), np.float32)


N_FEATURES = 300
ROW = 4 * N_FEATURES  # bytes
FEATURIZER = CharNgramFeaturizer(ngram_range=(2, 5), split="punctuation", n_jobs=2)
PROJECTOR = SGNNProjector(n_projections=N_FEATURES, n_bits=1, output="float", n_jobs=2)
VOCABULARY = [
    f"{stem}{number}"
    for number in range(40)
    for stem in ("w", "Wort", "日本語", "🙂", "internationalisation")
]
COUNTS = np.random.default_rng(0).integers(0, 9, len(VOCABULARY))


def cached(max_bytes, words=VOCABULARY, counts=COUNTS, featurizer=FEATURIZER):
    return CachedProjections(words, counts, featurizer, PROJECTOR, max_bytes=max_bytes)


ONE_BY_ONE = unit_rows(
    [PROJECTOR.transform(FEATURIZER.transform([word]))[0] for word in VOCABULARY]
)
NONE_CACHED = cached(0)
SOME_CACHED = cached(77 * ROW + ROW - 1)
ALL_CACHED = cached(10**6)


def test_as_many_are_cached_as_fit():
    assert [NONE_CACHED.n_cached, SOME_CACHED.n_cached, ALL_CACHED.n_cached] == [
        0,
        77,
        len(VOCABULARY),
    ]
    assert ALL_CACHED.n_features == N_FEATURES
    assert cached(10**6, [], np.empty(0)).rows(np.empty(0, dtype=np.int64)).shape == (0, N_FEATURES)


@given(st.lists(st.integers(0, len(VOCABULARY) - 1), max_size=50))
def test_cached_rows_have_the_same_bits_as_computed_ones(word_ids):
    expected = ONE_BY_ONE[word_ids].reshape(-1, N_FEATURES)
    for projections in (NONE_CACHED, SOME_CACHED, ALL_CACHED):
        rows = projections.rows(np.array(word_ids, dtype=np.int64))
        assert (rows.shape, rows.dtype) == (expected.shape, np.float32)
        assert rows.tobytes() == expected.tobytes()


def test_the_size_of_chunks_does_not_matter(monkeypatch):
    monkeypatch.setattr(_sentence_reader, "_CHUNK", 7)
    assert cached(10**6).rows(np.arange(len(VOCABULARY))).tobytes() == ONE_BY_ONE.tobytes()


def test_the_most_frequent_words_are_cached(monkeypatch):
    projections = cached(2 * ROW, ["a", "b", "c", "d"], np.array([1, 5, 3, 5]))
    computed = []
    project = projections._project
    monkeypatch.setattr(
        projections, "_project", lambda ids: (computed.extend(ids.tolist()), project(ids))[1]
    )
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
    word_ids = [np.random.default_rng(seed).permutation(len(VOCABULARY)) for seed in range(24)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(SOME_CACHED.rows, word_ids))
    for rows, ids in zip(results, word_ids, strict=True):
        assert rows.tobytes() == ONE_BY_ONE[ids].tobytes()
