"""Random typos: characters deleted, swapped and inserted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import compiled
from sklearn_hashnlp.kernels._hashes import GAMMA, mix_word
from sklearn_hashnlp.kernels._intrinsics import in_huge_pages
from sklearn_hashnlp.kernels._ragged import Ragged

DELETION, SWAP, INSERTION = 0, 1, 2
"""Kinds of edits."""

_LOW = np.uint64(2**32 - 1)
_HALF = np.uint64(32)


@compiled
def distort_characters(texts: Ragged, *, rate: float, kinds: NDArray[np.int64], key: np.uint64) -> Ragged:
    """Make typos in each text: ``floor(rate * n + u)`` edits of its n characters, u in [0, 1)."""
    # An edit deletes a character, swaps it with the next one (the last with the one before it), or inserts before or
    # after it a random character of the text.
    characters, offsets = texts
    out = in_huge_pages(np.empty(2 * len(characters), np.uint32))
    ends = np.empty(len(offsets), dtype=np.int64)
    n_kinds = np.uint64(len(kinds))
    to = 0
    ends[0] = 0
    for text in range(len(offsets) - 1):
        start, stop = offsets[text], offsets[text + 1]
        length = stop - start
        # The random stream of a text is seeded by a hash of its characters, so equal texts have equal typos.
        state = key
        for at in range(start, stop):
            state = mix_word((state + GAMMA) ^ np.uint64(characters[at]))
        state += GAMMA
        share = np.float64(mix_word(state) >> _HALF) / 2.0**32
        left = np.uint64(min(np.int64(rate * length + share), length))
        begin, at = to, start
        while at < stop:
            if left > np.uint64(0):
                state += GAMMA
                word = mix_word(state)
                # Knuth's algorithm S: of the remaining characters, as many as edits are left, with equal probability.
                if (word >> _HALF) * np.uint64(stop - at) >> _HALF < left:
                    left -= np.uint64(1)
                    kind = kinds[np.int64((word & _LOW) * n_kinds >> _HALF)]
                    if kind == DELETION:
                        at += 1
                        continue
                    if kind == INSERTION:
                        state += GAMMA
                        word = mix_word(state)
                        drawn = characters[start + np.int64((word >> _HALF) * np.uint64(length) >> _HALF)]
                        after = np.int64(word & np.uint64(1))
                        out[to + after] = characters[at]
                        out[to + 1 - after] = drawn
                        to += 2
                        at += 1
                        continue
                    if at + 1 < stop:
                        out[to] = characters[at + 1]
                        out[to + 1] = characters[at]
                        to += 2
                        at += 2
                        continue
                    if to > begin:
                        out[to] = out[to - 1]
                        out[to - 1] = characters[at]
                        to += 1
                        at += 1
                        continue
            out[to] = characters[at]
            to += 1
            at += 1
        ends[text + 1] = to
    return Ragged(out[:to], ends)
