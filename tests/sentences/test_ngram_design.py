"""The rows of texts against dictionaries of n-grams as strings."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.sentences._ngram_regression import (
    NgramDictionary,
    character_fingerprints,
    distinct_ids_of_rows,
)
from sklearn_hashnlp.sentences._sentence_reader import read_texts

TEXTS = [
    "The cat sat on the mat.",
    "the cat, the cats",
    "",
    "A dog sat on the cat!",
    "naïve cafés 日本語",
    "dogs sat on the mat",
]


def read(texts):
    return read_texts(texts, max_words=99, caller="Me")


def tokens(texts):
    words, rows = read(texts)
    return [
        [words[i] for i in rows.values[a:b]]
        for a, b in zip(rows.offsets, rows.offsets[1:], strict=False)
    ]


def ngrams(word):
    marked = f"<{word}>"
    return {marked[i : i + n] for n in (3, 4, 5) for i in range(len(marked) - n + 1)}


def counted(texts):
    """Return in how many texts each n-gram is, in the three parts of a dictionary."""
    rows = tokens(texts)
    words = Counter(word for row in rows for word in set(row))
    of_word = {word: ngrams(word) for word in words}
    n_words = Counter(ngram for some in of_word.values() for ngram in some)
    characters = Counter()
    for word, count in words.items():
        characters.update({ngram: count for ngram in of_word[word] if n_words[ngram] >= 2})
    pairs = Counter(pair for row in rows for pair in set(pairwise(row)))
    return words, characters, Counter({pair: count for pair, count in pairs.items() if count >= 2})


def expected_values(texts, queries):
    """Return the sorted values of each row of the dense design matrix."""
    words, characters, pairs = counted(texts)
    n_texts = len(texts)

    def idf(count):
        return math.log((1 + n_texts) / (1 + min(count, n_texts))) + 1

    result = []
    for row in tokens(queries):
        values = Counter()
        norm = math.sqrt(sum(idf(words[word]) ** 3 for word in set(row)))
        for word in set(row):
            weight = idf(words[word]) ** 1.5
            own = {ngram: idf(characters[ngram]) for ngram in ngrams(word) if ngram in characters}
            length = math.sqrt(sum(value**2 for value in own.values()))
            if word in words:
                values["word", word] += weight
            for ngram, value in own.items():
                values["ngram", ngram] += weight * value / length * CHARACTER_WEIGHT
        for pair in set(pairwise(row)):
            if pair in pairs:
                values["pair", pair] += 0.5 * idf(pairs[pair]) ** 1.5
        result.append(sorted(value / norm**0.7 for value in values.values()))
    return result


CHARACTER_WEIGHT = 1.5


def test_dictionary():
    words, rows = read(TEXTS)
    dictionary = NgramDictionary.learn(words, rows, 10_000)
    parts = counted(TEXTS)
    assert dictionary.sizes == tuple(map(len, parts))
    assert dictionary.n_texts == len(TEXTS)
    bounds = np.cumsum([0, *dictionary.sizes])
    for part, begin, end in zip(parts, bounds[:-1], bounds[1:], strict=True):
        assert dictionary.counts[begin:end].tolist() == sorted(part.values(), reverse=True)
    assert len(set(dictionary.fingerprints.tolist())) == bounds[-1]


def test_rows():
    dictionary = NgramDictionary.learn(*read(TEXTS), 10_000)
    queries = [*TEXTS, "the unknown cat on the mat", "zzz"]
    design = dictionary.design(*read(queries))
    dense = (design.outer @ design.inner + design.direct).toarray()
    for row, expected in zip(dense, expected_values(TEXTS, queries), strict=True):
        np.testing.assert_allclose(np.sort(row[row != 0]), expected, rtol=1e-5)
    assert not dense[2].any()


@pytest.mark.parametrize("max_columns", [1, 5, 20])
def test_only_the_most_frequent(max_columns):
    dictionary = NgramDictionary.learn(*read(TEXTS), max_columns)
    counts = sorted((count for part in counted(TEXTS) for count in part.values()), reverse=True)
    assert len(dictionary.counts) <= max_columns
    kept = sorted(dictionary.counts.tolist(), reverse=True)
    assert kept == [count for count in counts if count > counts[max_columns]]


def test_no_words():
    assert character_fingerprints([]).offsets.tolist() == [0]
    dictionary = NgramDictionary.learn([], Ragged(np.empty(0, np.int64), np.zeros(3, np.int64)), 10)
    assert dictionary.sizes == (0, 0, 0)
    assert dictionary.design(*read(["", "cat"])).shape == (2, 0)


def test_distinct():
    rows = Ragged(np.array([3, 1, 3, 0, 2, 2]), np.array([0, 3, 3, 4, 6]))
    result = distinct_ids_of_rows(rows, 4)
    assert result.values.tolist() == [1, 3, 0, 2]
    assert result.offsets.tolist() == [0, 2, 2, 3, 4]
