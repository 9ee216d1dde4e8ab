"""Codes of words in contexts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.language._vocabulary import (
    DEFAULT_TOKENS,
    HashEncoder,
    ProjectionEncoder,
    encode_with_special_tokens,
    hash_words,
)
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=5),
    st.integers(1, 12),
    st.integers(1, 20),
    st.integers(0, 2**31 - 1),
)
def test_a_code_is_the_hash_and_the_packed_bits(words, n_projections, n_bits, seed):
    codes = ProjectionEncoder(n_projections, n_bits, seed).encode(words)
    n = n_projections * n_bits
    assert codes.shape == (len(words), 1 + -(-n // 64))
    assert codes[:, 0].tolist() == hash_words(words).tolist()
    if words:
        projector = SGNNProjector(n_projections=n_projections, n_bits=n_bits, random_state=seed)
        bits = np.unpackbits(np.ascontiguousarray(codes[:, 1:]).view(np.uint8), axis=1)
        np.testing.assert_array_equal(bits[:, :n], projector.transform(CharNgramFeaturizer().transform(words)))
        assert not bits[:, n:].any()


def test_special_tokens_within_are_unknown_words():
    for words in (HashEncoder(), ProjectionEncoder(2, 5, 0)):
        codes = encode_with_special_tokens(words, ["a", "<s>", "</s>"], DEFAULT_TOKENS)
        expected = words.encode(["<s>", "</s>", "a", "<unk>", "<unk>"])
        np.testing.assert_array_equal(codes, expected)
        assert not np.array_equal(codes[0], codes[3])


def test_lone_surrogates_are_refused():
    with pytest.raises(ValueError, match=r"embedding='sgnn'.*'a\\ud800' holds the lone surrogate '\\ud800'"):
        ProjectionEncoder(2, 5, 0).encode(["b", "a\ud800"])


def test_hashes_are_the_same_everywhere():
    assert hash_words(["hash", "trick"]).tolist() == [1455707387, 553385734]
    assert HashEncoder().encode(["hash", "trick"]).tolist() == [1455707387, 553385734]
