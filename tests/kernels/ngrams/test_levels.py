"""Every instruction set counts the same."""

import hashlib

import pytest

from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.text import HashingNgramVectorizer

TEXTS = [
    "some words, and  more",
    "été à la mer",
    "",
    "x" * 3000,
    "a b c " * 900,
    *(f"text {i} of many" for i in range(99)),
]
PARAMETERS = [
    {"ngram_range": (1, 2)},
    {"ngram_range": (1, 3), "norm": "l1", "stop_words": ["of"]},
    {"analyzer": "char", "ngram_range": (1, 4), "n_features": 1_000_003},
    {"analyzer": "char_wb", "ngram_range": (3, 5), "dtype": "float32"},
]


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_every_level_counts_the_same(parameters):
    used, digests = _native.level(), set()
    try:
        for level in _native.levels():
            _native.set_level(level)
            X = HashingNgramVectorizer(**parameters).transform(TEXTS)
            digests.add(
                hashlib.sha256(
                    X.indptr.tobytes() + X.indices.tobytes() + X.data.tobytes()
                ).hexdigest()
            )
    finally:
        _native.set_level(used)
    assert len(digests) == 1
