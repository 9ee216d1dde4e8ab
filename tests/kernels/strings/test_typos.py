"""Typos against an implementation of one text at a time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.strings._typos import DELETION, INSERTION, SWAP, distort_characters

from ...oracles.typos import distort

ALL = [DELETION, SWAP, INSERTION]
TEXT = st.text(st.characters() | st.sampled_from("ab"), max_size=30)
RATE = st.sampled_from([0.0, 0.05, 0.1, 0.3, 1.0]) | st.floats(0, 1)
KINDS = st.lists(st.sampled_from(ALL), min_size=1, max_size=4)


def distorted(texts, rate, kinds, key=0):
    values = np.array([ord(character) for text in texts for character in text], dtype=np.uint32)
    rows = Ragged(values, np.cumsum([0, *map(len, texts)]))
    result = distort_characters(rows, rate=rate, kinds=np.array(kinds), key=np.uint64(key))
    assert result.values.dtype == np.uint32
    return ["".join(map(chr, row)) for row in np.split(result.values, result.offsets[1:-1])]


@given(st.lists(TEXT, max_size=5), RATE, KINDS, st.integers(0, 2**64 - 1))
def test_they_are_those_of_one_text_at_a_time(texts, rate, kinds, key):
    assert distorted([*texts, "x"], rate, kinds, key)[:-1] == [
        distort(text, rate, kinds, key) for text in texts
    ]


def test_recorded_typos():
    texts = ["what is the capital of France ?", "日本語のテキスト", "a\0\0"]
    assert distorted(texts, 0.2, ALL, key=1) == [
        "whtis the apitla of Frrance ",
        "日本語のキテスト",
        "a\0\0a",
    ]
