"""Fingerprints against their definition, sorted ranges and dictionaries."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.ngrams._fingerprints import (
    count_runs,
    find_fingerprints,
    fingerprint_ngrams,
    fingerprint_slots,
)
from sklearn_hashnlp.kernels.strings._units import word_units

from ...oracles import ngrams
from ..strings.test_units import pack, strings

# Of "the", "the hash", "the hash trick", "hash", "hash trick", "trick" and "日本".
GOLDEN = [
    "0xe1faf09459bf53e2",
    "0x8c0fe9fb9b449cbc",
    "0xa82cc01e26a5a9a4",
    "0x88b7118b23383274",
    "0x59488328efab692c",
    "0x3bea8e0e54198527",
    "0xabf41fff61976610",
]


def rows_of(result):
    return [
        result.values[a:b].tolist()
        for a, b in zip(result.offsets[:-1], result.offsets[1:], strict=True)
    ]


def slow_ngrams(units, ngram_range):
    return [
        [ngrams.fingerprint(ngram) for ngram in ngrams.ngrams(words, ngram_range)]
        for (words,) in strings(units)
    ]


def test_recorded_fingerprints():
    result = fingerprint_ngrams(word_units(pack(["the hash trick", "日本"])), (1, 3))
    assert result.offsets.tolist() == [0, 6, 7]
    assert [hex(value) for value in result.values.tolist()] == GOLDEN


@pytest.mark.parametrize("n", [10**6, 2**63, 10**30])
def test_absurd_numbers_do_no_harm(n):
    units = word_units(pack(["a b c d", ""]))
    assert fingerprint_ngrams(units, (n, n)).offsets.tolist() == [0, 0, 0]
    assert rows_of(fingerprint_ngrams(units, (1, n))) == slow_ngrams(units, (1, 4))


@given(st.lists(st.integers(0, 9) | st.integers(0, 2**64 - 1), max_size=50), st.integers(0, 3))
def test_runs_are_counted(fingerprints, threshold):
    values, counts = count_runs(np.sort(np.array(fingerprints, dtype=np.uint64)), threshold)
    expected = sorted(pair for pair in Counter(fingerprints).items() if pair[1] > threshold)
    assert list(zip(values.tolist(), counts.tolist(), strict=True)) == expected


# The slot follows from the last bits: these meet in one slot, and in the last one, from where the
# search goes round.
SLOT_MATES = st.integers(0, 2**64 - 1) | st.sampled_from(
    [0, 2**64 - 1, *(i << 32 | 63 for i in range(8))]
)


@given(
    dictionary=st.lists(SLOT_MATES, unique=True, max_size=40),
    rows=st.lists(st.lists(SLOT_MATES, max_size=10), max_size=5),
    seed=st.integers(0, 3),
)
def test_only_fingerprints_of_the_dictionary_are_looked_up(dictionary, rows, seed):
    rng = np.random.default_rng(seed)
    rows = [
        row + [dictionary[i] for i in rng.integers(len(dictionary), size=5)] if dictionary else row
        for row in rows
    ]
    values = np.array([value for row in rows for value in row], dtype=np.uint64)
    array = np.array(dictionary, dtype=np.uint64)
    result = find_fingerprints(
        Ragged(values, np.cumsum([0, *map(len, rows)])), array, fingerprint_slots(array)
    )
    expected = [[dictionary.index(value) for value in row if value in dictionary] for row in rows]
    assert result.values.dtype == np.int32
    assert [row.tolist() for row in np.split(result.values, result.offsets[1:-1])][
        : len(rows)
    ] == expected
    assert len(result.offsets) == len(rows) + 1


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 1000, 1024, 1025])
def test_no_table_is_more_than_half_full(n):
    slots = fingerprint_slots(np.arange(n, dtype=np.uint64))
    assert np.count_nonzero(slots >= 0) == n
    assert len(slots) >= max(2 * n, 2)
    assert len(slots).bit_count() == 1
