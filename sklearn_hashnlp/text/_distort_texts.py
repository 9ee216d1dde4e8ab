"""Texts with random typos."""

from __future__ import annotations

import sys
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, Final

import numpy as np

from sklearn_hashnlp._hash_specification import splitmix64
from sklearn_hashnlp._sklearn import Interval, validate_parameter_constraints
from sklearn_hashnlp.kernels._ragged import of_lengths
from sklearn_hashnlp.kernels.strings._typos import DELETION, INSERTION, SWAP, distort_characters
from sklearn_hashnlp.text._documents import CHARACTER_CHUNK, as_documents, in_chunks, plain_texts

_EDITS: Final = np.array([DELETION, SWAP, INSERTION], dtype=np.int64)
# Lone surrogates are treated like other characters.
_CODE_POINTS, _SURROGATES = f"utf-32-{sys.byteorder[0]}e", "surrogatepass"


def distort_texts(
    texts: Any,
    rate: float = 0.05,
    *,
    random_state: int = 0,
) -> list[str]:
    """Add random typos to texts: deleted, swapped and inserted characters.

    Useful for testing the robustness of a model to misspelled texts, and for data augmentation
    [2]_: train on the texts and on distorted copies of them.

    Parameters
    ----------
    texts : iterable of str
        The texts to distort; they are not changed.
    rate : float, default=0.05
        Edits per character, from 0 (texts are unchanged) to 1. A text of n characters gets
        ``rate * n`` edits, rounded up or down at random so that their mean is ``rate * n``:
        deletions, swaps with the next character, and insertions of characters of the text.
    random_state : int, default=0
        Seed. The typos only depend on the seed and the text, so equal texts get equal typos.

    Returns
    -------
    list of str
        The distorted texts, at a Damerau-Levenshtein distance [1]_ of at most ``ceil(rate * n)``.

    References
    ----------
    .. [1] Damerau (1964). A technique for computer detection and correction of spelling errors.
           Communications of the ACM 7(3).
    .. [2] Belinkov & Bisk (2018). Synthetic and natural noise both break neural machine
           translation. ICLR, section 5.

    Examples
    --------
    >>> from sklearn_hashnlp.text import distort_texts
    >>> distort_texts(
    ...     ["what is the capital of France ?", "who wrote Hamlet ?"], 0.1
    ... )
    ['wiat is the capial of France ?', 'who wrote Hamlet? ']
    """
    caller = "distort_texts"
    validate_parameter_constraints(
        {"rate": [Interval(Real, 0, 1, closed="both")], "random_state": [Integral]},
        {"rate": rate, "random_state": random_state},
        caller_name=caller,
    )
    (key,) = splitmix64(int(random_state), 1)
    distorted_texts: list[str] = []
    for first, chunk in in_chunks(as_documents(texts, caller=caller), n_characters=CHARACTER_CHUNK):
        plain = plain_texts(chunk, first=first, caller=caller)
        encoded = bytearray("".join(plain).encode(_CODE_POINTS, _SURROGATES))
        characters = of_lengths(np.frombuffer(encoded, dtype=np.uint32), [*map(len, plain)])
        distorted = distort_characters(
            characters, rate=float(rate), kinds=_EDITS, key=np.uint64(key)
        )
        joined = distorted.values.tobytes().decode(_CODE_POINTS, _SURROGATES)
        distorted_texts += [
            joined[start:stop] for start, stop in pairwise(distorted.offsets.tolist())
        ]
    return distorted_texts
