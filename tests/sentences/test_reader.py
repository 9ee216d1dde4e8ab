import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import murmurhash3_32

from sklearn_hashnlp.kernels import Ragged
from sklearn_hashnlp.sentences._paragraphs import Paragraphs
from sklearn_hashnlp.sentences._reader import N_COUNTERS, WordFrequencies

WORDS = ["the", "Straße", "日本", "🙂", "don't", "...", "_", "4", "", "\ud800"]


def paragraphs_of(sentences, words=WORDS):
    lengths = [len(sentence) for sentence in sentences]
    values = np.array([number for sentence in sentences for number in sentence], dtype=np.int32)
    rows = Ragged(values, np.cumsum([0, *lengths], dtype=np.int64))
    return Paragraphs(list(words), rows, np.array([0, len(sentences)] if sentences else [0]))


SENTENCES = st.lists(st.lists(st.integers(0, len(WORDS) - 1), min_size=1, max_size=8), max_size=8)


def counter(word):
    return murmurhash3_32(word.encode("utf-8", "surrogatepass")) % N_COUNTERS


def slow_weight(word, sentences):
    df = sum(word in {WORDS[number] for number in sentence} for sentence in sentences)
    idf = math.log((1 + len(sentences)) / (1 + df)) + 1
    return min(idf, 9) ** 1.5 * (1 if any(map(str.isalnum, word)) else 0.5)


@given(SENTENCES)
def test_a_sentence_counts_once_for_each_of_its_words(sentences):
    found = WordFrequencies.count(paragraphs_of(sentences))
    wanted = np.zeros(N_COUNTERS, dtype=np.int64)
    for sentence in sentences:
        for number in set(sentence):
            wanted[counter(WORDS[number])] += 1
    assert found.counts.dtype == np.int32
    np.testing.assert_array_equal(found.counts, wanted)
    assert found.n_sentences == len(sentences)


@given(SENTENCES)
def test_weights_are_those_of_the_formula(sentences):
    found = WordFrequencies.count(paragraphs_of(sentences)).weights(WORDS)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [slow_weight(word, sentences) for word in WORDS], rtol=1e-6)


@given(SENTENCES, SENTENCES)
def test_counts_of_two_texts_are_those_of_both(left, right):
    found = WordFrequencies.count(paragraphs_of(left)) + WordFrequencies.count(paragraphs_of(right))
    both = WordFrequencies.count(paragraphs_of(left + right))
    np.testing.assert_array_equal(found.counts, both.counts)
    assert found.counts.dtype == np.int32
    assert found.n_sentences == both.n_sentences


def test_words_that_share_a_counter_are_counted_together_and_once_a_sentence():
    words = [f"w{number}" for number in range(3000)]
    counters = {}
    first, second = next(
        (counters[place], word) for word in words if counters.setdefault(place := counter(word), word) != word
    )
    found = WordFrequencies.count(paragraphs_of([[0, 1], [0], [2]], [first, second, "other"]))
    assert found.counts[counter(first)] == 2


def test_rare_words_count_no_more_than_a_bound():
    frequencies = WordFrequencies(np.zeros(N_COUNTERS, dtype=np.int32), 10**9)
    assert frequencies.weights(["any", "!"]).tolist() == [27.0, 13.5]


def test_without_a_text_all_words_count_alike():
    frequencies = WordFrequencies(np.zeros(N_COUNTERS, dtype=np.int32), 0)
    assert frequencies.weights(["a", "日", "."]).tolist() == [1.0, 1.0, 0.5]


@pytest.mark.parametrize("words", [[], ()])
def test_no_words_have_no_weights(words):
    found = WordFrequencies(np.zeros(N_COUNTERS, dtype=np.int32), 3).weights(words)
    assert (found.shape, found.dtype) == ((0,), np.float32)
