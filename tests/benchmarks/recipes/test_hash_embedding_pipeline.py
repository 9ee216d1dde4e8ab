"""Preprocessing and training as in the reference of the hash-embedding experiments."""

from __future__ import annotations

import string
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.recipes.hash_embedding_pipeline import (
    make_network,
    make_ngram_counter,
)
from benchmarks.recipes.hash_embedding_settings import SETTINGS, HashEmbeddingSettings


def reference_words(text):
    """Preprocess as the README of the reference says: lowercase, no punctuation, no single
    characters.
    """
    letters = "".join(
        " " if character in string.punctuation + "\t\n" else character for character in text.lower()
    )
    return [word for word in letters.split(" ") if len(word) > 1]


def ngrams_of(words, least, most):
    return Counter(
        " ".join(words[first : first + n])
        for n in range(least, most + 1)
        for first in range(len(words) - n + 1)
    )


# White space other than the reference's is a part of words there.
TEXT = st.text(st.sampled_from("abcXY19 .,'$-_\t\né漢’–"), max_size=40)


@pytest.mark.parametrize("name", ["hash-embed-nodict", "hash-embed-dict"])
@settings(max_examples=30)
@given(texts=st.lists(TEXT, min_size=1, max_size=6).map(lambda texts: ["at least one", *texts]))
def test_ngrams_equal_the_reference(name, texts):
    counts = make_ngram_counter(SETTINGS[name]).fit_transform(texts)
    least, most = SETTINGS[name].ngram_range
    for row, text in enumerate(texts):
        expected = ngrams_of(reference_words(text), least, most)
        assert sorted(counts[[row]].data.tolist()) == sorted(expected.values())
    total = sum((ngrams_of(reference_words(text), least, most) for text in texts), Counter())
    columns = np.unique(counts.indices, return_inverse=True)[1]
    assert sorted(np.bincount(columns, counts.data).tolist()) == sorted(total.values())


def test_a_dictionary_is_cut_to_its_most_frequent_n_grams():
    three = HashEmbeddingSettings(dictionary=True, n_embeddings=3, n_embeddings_grid=(2, 5))
    texts = ["aa aa aa bb bb cc", "aa bb dd"]
    counts = make_ngram_counter(three).fit_transform(texts)
    assert counts.shape[1] == 5
    cut = make_network(three, 0)["cut"].transform(counts)
    assert cut.shape[1] == 3
    assert cut[:, :2].toarray().tolist() == [[3, 2], [1, 1]]
