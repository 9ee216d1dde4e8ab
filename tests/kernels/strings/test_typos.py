"""Typos against an implementation of one text at a time, and their laws."""

import numpy as np
import pytest
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
    result = distort_characters(rows, rate=rate, kinds=np.array(kinds), key=key)
    assert result.values.dtype == np.uint32
    return ["".join(map(chr, row)) for row in np.split(result.values, result.offsets[1:-1])]


@given(st.lists(TEXT, max_size=5), RATE, KINDS, st.integers(0, 2**64 - 1))
def test_they_are_those_of_one_text_at_a_time(texts, rate, kinds, key):
    assert distorted([*texts, "x"], rate, kinds, key)[:-1] == [distort(text, rate, kinds, key) for text in texts]


def test_all_positions_kinds_and_counts_have_the_right_frequency():
    text = "abcdefghij"  # each character once, so that one edit shows where it was
    results = [distorted([text], 0.1, [kind], key)[0] for kind in ALL for key in range(2000)]
    deleted, swapped, inserted = results[:2000], results[2000:4000], results[4000:]
    lost = [next(iter(set(text) - set(one))) for one in deleted]
    assert [lost.count(character) for character in text] == pytest.approx([200] * 10, abs=60)
    positions = [next(i for i in range(10) if one[i] != text[i]) for one in swapped]
    assert [positions.count(i) for i in range(9)] == pytest.approx([200] * 8 + [400], abs=60)  # the last one goes back
    twice = [next(character for character in text if one.count(character) == 2) for one in inserted]
    assert [twice.count(character) for character in text] == pytest.approx([200] * 10, abs=60)
    mixed = [len(distorted([text], 0.1, ALL, key)[0]) for key in range(3000)]
    assert [mixed.count(length) for length in (9, 10, 11)] == pytest.approx([1000] * 3, abs=120)
    lengths = [len(distorted([text], 0.25, [DELETION], key)[0]) for key in range(2000)]
    assert {*lengths} == {7, 8}
    assert np.mean(lengths) == pytest.approx(7.5, abs=0.05)


def test_recorded_typos():
    texts = ["what is the capital of France ?", "日本語のテキスト", "a\0\0"]
    assert distorted(texts, 0.2, ALL, key=1) == ["whtis the apitla of Frrance ", "日本語のキテスト", "a\0\0a"]
