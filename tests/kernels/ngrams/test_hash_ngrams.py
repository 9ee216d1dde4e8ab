"""Hashes of n-grams and skip-grams against strings and scikit-learn."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import murmurhash3_32

from sklearn_hashnlp.kernels.ngrams._count_ngrams import hash_ngrams, hash_skipgrams
from sklearn_hashnlp.kernels.strings._units import character_units, word_character_units, word_units

from ...oracles.ngrams import ngrams, skipgrams
from ...strategies import TEXTS
from ..strings.test_units import pack, strings


def rows_of(hashes):
    return [
        sorted(hashes.values[a:b].tolist())
        for a, b in zip(hashes.offsets[:-1], hashes.offsets[1:], strict=True)
    ]


def slow_ngrams(units, ngram_range, joiner, *, whole=False):
    rows = []
    for segments in strings(units):
        units_of_ngrams = []
        for segment in segments:
            units_of_ngrams += ngrams(segment, ngram_range)
            if whole and 0 < len(segment) < ngram_range[0]:
                units_of_ngrams.append(segment)
        rows.append(
            sorted(murmurhash3_32(joiner.join(ngram).encode()) for ngram in units_of_ngrams)
        )
    return rows


RANGES = st.tuples(st.integers(1, 9), st.integers(0, 12)).map(lambda pair: (pair[0], sum(pair)))


@pytest.mark.parametrize("length", [15, 16, 17, 1023, 1024, 1025, 3000])
@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 4), (3, 9), (16, 16), (20, 40)])
def test_lines_of_single_bytes_longer_than_one_stride(length, ngram_range):
    text = ("the quick brown fox. " * 200)[:length]
    units = character_units(pack([text, "x", text]))
    assert rows_of(hash_ngrams(units, ngram_range)) == slow_ngrams(units, ngram_range, "")


@given(texts=TEXTS, min_n=st.integers(1, 3), more=st.integers(0, 2), max_skip=st.integers(0, 3))
def test_skipgrams(texts, min_n, more, max_skip):
    units = word_units(pack([text[:20] for text in texts]))
    expected = [
        sorted(
            murmurhash3_32(gram.encode())
            for n in range(min_n, min_n + more + 1)
            for gram in skipgrams(segments[0], n, max_skip)
        )
        for segments in strings(units)
    ]
    assert rows_of(hash_skipgrams(units, (min_n, min_n + more), max_skip=max_skip)) == expected


def test_skipgrams_of_the_paper():
    # Guthrie et al. 2006, section 2: the 2-skip-bigrams and the 2-skip-trigrams of a sentence.
    units = word_units(pack(["Insurgents killed in ongoing fighting"]))
    assert hash_skipgrams(units, (2, 2), max_skip=2).offsets[-1] == 9
    assert hash_skipgrams(units, (3, 3), max_skip=2).offsets[-1] == 10
    assert hash_skipgrams(units, (3, 3), max_skip=0).offsets[-1] == 3


@pytest.mark.parametrize("n", [10**6, 2**63, 10**30])
def test_absurd_numbers_do_no_harm(n):
    units = word_units(pack(["a b c d", ""]))
    assert hash_ngrams(units, (n, n)).offsets.tolist() == [0, 0, 0]
    assert rows_of(hash_ngrams(units, (1, n))) == slow_ngrams(units, (1, 4), " ")
    assert rows_of(hash_ngrams(units, (n, n), short_segments_whole=True)) == slow_ngrams(
        units, (4, 4), " "
    )
    # With any number of words left out, the skip-grams are all subsets.
    assert hash_skipgrams(units, (1, n), max_skip=n).offsets.tolist() == [0, 2**4 - 1, 2**4 - 1]


@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 2), (2, 2)])
def test_words_and_pairs_of_any_length(ngram_range):
    # Up to 23 bytes are hashed without a branch.
    words = [
        " ".join("ab" * n for n in range(1, 16)),
        "x" * 22 + " " + "y" * 23,
        "z" * 24,
        "",
        "a " * 3000,
    ]
    units = word_units(pack(words))
    assert rows_of(hash_ngrams(units, ngram_range)) == slow_ngrams(units, ngram_range, " ")


@pytest.mark.parametrize("ngram_range", [(1, 3), (3, 5), (4, 11), (5, 40)])
@pytest.mark.parametrize("whole", [False, True])
def test_characters_of_many_words_at_once(ngram_range, whole):
    # Words of up to 64 characters are hashed in windows of 1024, unless a character has several
    # bytes.
    lengths = [*range(1, 20), 61, 62, 63, 64, 200, 3, 1100, 2]
    texts = [
        " ".join("abcdefg"[n % 7] * n for n in lengths) * 3,
        "é " + "the same word " * 150,
        "naïve words and plain ones",
    ]
    units = word_character_units(pack(texts), before="<", after=">")
    hashes = hash_ngrams(units, ngram_range, short_segments_whole=whole)
    assert rows_of(hashes) == slow_ngrams(units, ngram_range, "", whole=whole)


# A read behind a page that may not be read ends the process: what a kernel reads there would leave
# no other trace.
GUARDED = """
import ctypes, mmap
import numpy as np
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.ngrams._count_ngrams import hash_ngrams
from sklearn_hashnlp.kernels.strings._units import Texts, character_units, word_units
from sklearn_hashnlp.kernels._hashes import PADDING

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
text = b"some words\\n" * 40
lines = Ragged(np.frombuffer(text, dtype=np.uint8), np.arange(41) * 11)
texts = Texts(lines, np.ones(40, dtype=bool), True)
for units, ranges in (
    (character_units(texts), [(n, n) for n in (1, 4, 28, 29, 40, 64, 65, 1000)]),
    (word_units(texts), [(1, 1), (1, 2), (2, 2), (1, 5)]),
):
    used = int(units.boundaries[-1]) + PADDING
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    address = libc.mmap(None, 2 * mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
    assert libc.mprotect(address + mmap.PAGESIZE, mmap.PAGESIZE, 0) == 0
    block = (ctypes.c_uint8 * used).from_address(address + mmap.PAGESIZE - used)
    guarded = np.frombuffer(block, dtype=np.uint8)
    guarded[:] = units.text[:used]
    for ngram_range in ranges:
        expected = hash_ngrams(units, ngram_range)
        hashed = hash_ngrams(units._replace(text=guarded), ngram_range)
        assert np.array_equal(hashed.values, expected.values)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="pages are protected by Linux's mprotect")
def test_no_byte_is_read_behind_the_padding():
    done = subprocess.run(
        [sys.executable, "-c", GUARDED], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
