"""Kernels use the instruction set that they are told to, and have the same results with each."""

import hashlib

import numpy as np
import pytest

from sklearn_hashnlp.kernels import _native


def test_the_level_is_one_of_this_processors(level):
    assert _native.level() == level
    assert _native.levels()[0] == "baseline"


def test_an_unknown_level_is_refused_and_changes_nothing():
    before = _native.level()
    with pytest.raises(
        ValueError, match=r"^This processor has no instruction set of the level v9$"
    ):
        _native.set_level("v9")
    assert _native.level() == before


def test_hashes_are_the_same_at_each_level(level):
    # hashing reads up to 32 bytes more
    text = np.random.default_rng(0).integers(256, size=5032, dtype=np.uint8)
    offsets = np.minimum(np.cumsum(np.arange(101)), 5000)
    hashes = np.empty(len(offsets) - 1, dtype=np.int32)
    _native.hash_rows(text, offsets, 42, hashes)
    assert hashlib.sha256(hashes.tobytes()).hexdigest()[:16] == "a39ba6d459dbe3d8"
