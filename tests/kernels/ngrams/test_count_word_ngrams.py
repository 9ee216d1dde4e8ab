"""Counts of n-grams of word ids."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_hashnlp.kernels.ngrams import _count_word_ngrams
from sklearn_hashnlp.kernels.ngrams._count_word_ngrams import extend_ngrams, sort_positions


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-1, 4), max_size=40), st.integers(0, 2**40))
def test_ngrams_are_counted_sorted_and_linked(ids, bits):
    """Word 4 may begin an n-gram and not end one, and -1 is in none."""
    text = np.array(ids, dtype=np.int32)
    counted = np.array([bits >> i & 1 for i in range(len(ids))], dtype=np.bool_)
    positions = sort_positions(text, 4)
    ends = text
    known = [(word,) for word in range(5)]
    for n in (2, 3, 4):
        level, ends = extend_ngrams(text, counted, positions, ends, len(known))
        ngrams = [tuple(ids[end - n : end]) for end in range(n, len(ids) + 1)]
        expected: Counter[tuple[int, ...]] = Counter()
        for end, ngram in enumerate(ngrams, start=n):
            if min(ngram) >= 0 and max(ngram[1:]) < 4:
                expected[ngram] += int(counted[end - 1])
        found = [
            (*known[parent], word) for parent, word in zip(level.parents, level.words, strict=True)
        ]
        assert found == sorted(expected)
        assert dict(zip(found, level.counts.tolist(), strict=True)) == expected
        assert [known[suffix] for suffix in level.suffixes] == [ngram[1:] for ngram in found]
        assert [found[i] if i >= 0 else None for i in ends[n - 1 :]] == [
            ngram if ngram in expected else None for ngram in ngrams
        ]
        known = found


def test_a_text_with_more_tokens_than_int32_is_refused(monkeypatch):
    monkeypatch.setattr(_count_word_ngrams, "MAX_TOKENS", 3)
    with pytest.raises(ValueError, match="at most 3 tokens"):
        sort_positions(np.zeros(4, dtype=np.int32), 1)
