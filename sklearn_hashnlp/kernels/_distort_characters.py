"""Typing errors: characters deleted, swapped and inserted at random."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels._splitmix64 import GAMMA, mix_word

DELETION, SWAP, INSERTION = 0, 1, 2
"""The kinds of edits."""

_LOW = np.uint64(2**32 - 1)
_HALF = np.uint64(32)


@compiled
def _distort(
    characters: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    rate: float,
    kinds: NDArray[np.int64],
    key: Number,
    out: NDArray[np.uint32],
    ends: NDArray[np.int64],
) -> None:
    n_kinds = np.uint64(len(kinds))
    to = 0
    ends[0] = 0
    for text in range(len(offsets) - 1):
        start, stop = offsets[text], offsets[text + 1]
        length = stop - start
        # The text's own stream of random words begins where a hash of its characters ends.
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
                # Knuth's algorithm S: as many of the characters that follow as edits are left, all alike.
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


def distort_characters(texts: Ragged, *, rate: float, kinds: NDArray[np.int64], key: int) -> Ragged:
    """Make typing errors in each text.

    Of a text of n characters, m = floor(rate n + u) are chosen, u in [0, 1), all sets of m alike, and each has an edit
    of one of the kinds, all alike: it goes; it changes places with the one after it (the last one: with the one before
    it; the one after it then has no edit of its own); or a character drawn from those of the text comes before or after
    it. What is drawn hangs on the key and the text's characters alone.

    Parameters
    ----------
    texts : Ragged of uint32
        The code points of each text.
    rate : float
        Edits a character, in [0, 1].
    kinds : ndarray of int64
        One or more of DELETION, SWAP and INSERTION.
    key : int
        Seed, in [0, 2**64).

    Returns
    -------
    Ragged of uint32
        The code points of each distorted text.

    References
    ----------
    .. [1] Knuth (1997). The art of computer programming, volume 2, section 3.4.2: algorithm S.
    .. [2] Steele, Lea & Flood (2014). Fast splittable pseudorandom number generators. OOPSLA, figure 17.

    Examples
    --------
    >>> import numpy as np
    >>> text = np.array([97, 98, 99, 100], dtype=np.uint32)
    >>> swapped = distort_characters(Ragged(text, np.array([0, 4])), rate=0.25, kinds=np.array([SWAP]), key=0)
    >>> "".join(map(chr, swapped.values))
    'acbd'
    """
    out = np.empty(2 * len(texts.values), dtype=np.uint32)
    ends = np.empty(len(texts.offsets), dtype=np.int64)
    _distort(texts.values, texts.offsets, rate, kinds, np.uint64(key), out, ends)
    return Ragged(out[: ends[-1]], ends)
