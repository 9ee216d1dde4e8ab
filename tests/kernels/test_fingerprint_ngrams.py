import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import murmurhash3_32

from sklearn_hashnlp.kernels import fingerprint_ngrams, word_units
from sklearn_hashnlp.kernels._hashes import splitmix64

from ..strategies import TEXTS
from .test_units import pack, strings

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


def slow_fingerprint(words):
    """Give the fingerprint of an n-gram by the definition."""
    state = 0
    for word in words:
        high, low = (murmurhash3_32(word.encode(), seed=seed, positive=True) for seed in (0x9747B28C, 0))
        (state,) = splitmix64(state ^ (high << 32 | low), 1)
    return state


def rows_of(found):
    return [found.values[a:b].tolist() for a, b in zip(found.offsets[:-1], found.offsets[1:], strict=True)]


def slow_ngrams(units, ngram_range):
    rows = []
    for (words,) in strings(units):
        spans = [(i, i + n) for i in range(len(words)) for n in range(ngram_range[0], ngram_range[1] + 1)]
        rows.append([slow_fingerprint(words[a:b]) for a, b in spans if b <= len(words)])
    return rows


@given(texts=TEXTS, min_n=st.integers(1, 5), more=st.integers(0, 8))
def test_any_text(texts, min_n, more):
    units = word_units(pack(texts))
    found = fingerprint_ngrams(units, (min_n, min_n + more))
    assert found.values.dtype == "uint64"
    assert rows_of(found) == slow_ngrams(units, (min_n, min_n + more))


def test_golden_vectors():
    found = fingerprint_ngrams(word_units(pack(["the hash trick", "日本"])), (1, 3))
    assert found.offsets.tolist() == [0, 6, 7]
    assert [hex(value) for value in found.values.tolist()] == GOLDEN


def test_the_parts_of_an_ngram_and_their_order_count():
    ngrams = ["a", "b", "a b", "b a", "ab", "a a", "a a a", "aa", "aaa", "a b c", "ab c", "a bc", "abc", "c b a"]
    found = [fingerprint_ngrams(word_units(pack([ngram])), (n, n)).values for n in (1, 2, 3) for ngram in ngrams]
    different = {value for values in found for value in values.tolist()}
    words = [tuple(ngram.split()) for ngram in ngrams]
    assert len(different) == len({w[i : i + n] for w in words for n in (1, 2, 3) for i in range(len(w) - n + 1)})


@pytest.mark.parametrize("n", [10**6, 2**63, 10**30])
def test_absurd_numbers_do_no_harm(n):
    units = word_units(pack(["a b c d", ""]))
    assert fingerprint_ngrams(units, (n, n)).offsets.tolist() == [0, 0, 0]
    assert rows_of(fingerprint_ngrams(units, (1, n))) == slow_ngrams(units, (1, 4))
