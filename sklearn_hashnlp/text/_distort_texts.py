"""Texts with typing errors in them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np

from sklearn_hashnlp._sklearn import Interval, validate_parameter_constraints
from sklearn_hashnlp.kernels import Ragged
from sklearn_hashnlp.kernels._hashes import splitmix64
from sklearn_hashnlp.kernels._typos import DELETION, INSERTION, SWAP, distort_characters
from sklearn_hashnlp.text._documents import CHARACTER_CHUNK, as_documents, in_chunks, plain_texts

_KINDS = {"deletion": DELETION, "swap": SWAP, "insertion": INSERTION}
# A lone surrogate is a character like any other here; whoever cannot encode it will say so.
_CODE_POINTS, _SURROGATES = f"utf-32-{sys.byteorder[0]}e", "surrogatepass"


def distort_texts(
    texts: Any,
    rate: float = 0.05,
    *,
    edits: Sequence[str] = ("deletion", "swap", "insertion"),
    random_state: int = 0,
) -> list[str]:
    """Make random typing errors: delete characters, swap neighbours, insert characters.

    To see how a model bears misspelt texts, and to train one that bears them better: see
    :class:`~sklearn_hashnlp.classifiers.AugmentedTextClassifier`.

    Parameters
    ----------
    texts : iterable of str
        The texts: a list, tuple or generator, a numpy array, a column of pandas, polars or Arrow.
    rate : float, default=0.05
        Edits a character, from 0 (texts stay as they are) to 1. A text of n characters gets ``rate * n`` edits, and
        where that is no whole number the one below or the one above it, so that it is ``rate * n`` on average.
    edits : sequence of {"deletion", "swap", "insertion"}, default=("deletion", "swap", "insertion")
        Kinds of edits, equally frequent. The characters that are deleted, swapped with the next one, or get another one
        beside them are a random choice, blanks and punctuation among them. An inserted character is drawn from those
        of the text itself, and so is of its script.
    random_state : int, default=0
        Seed. What becomes of a text hangs on it and on the text alone, not on the other texts; so equal texts get equal
        errors.

    Returns
    -------
    list of str
        The distorted texts.

    Raises
    ------
    ValueError
        If ``texts`` is a single string or a table, a text is NaN, ``rate`` is not between 0 and 1, or ``edits`` names
        no edit or an unknown one, or ``random_state`` is no int.
    TypeError
        If a text is no ``str``.

    See Also
    --------
    sklearn_hashnlp.classifiers.AugmentedTextClassifier : Trains any text classifier on such texts as well.

    Notes
    -----
    Characters are code points. There are at most ``ceil(rate * n)`` edits, so the Damerau-Levenshtein distance to the
    original, which counts a swap of neighbours as one, is no larger. It may be smaller: two equal neighbours swapped
    are no change, and a character that is swapped with a chosen one has no edit of its own.

    References
    ----------
    .. [1] Damerau (1964). A technique for computer detection and correction of spelling errors. Communications of the
           ACM 7(3).

    Examples
    --------
    >>> from sklearn_hashnlp.text import distort_texts
    >>> distort_texts(["what is the capital of France ?", "who wrote Hamlet ?"], 0.1)
    ['wiat is the capial of France ?', 'who wrote Hamlet? ']
    >>> distort_texts(["Hamlet"], 0.2, edits=["swap"], random_state=1)
    ['Halmte']
    """
    caller = "distort_texts"
    validate_parameter_constraints(
        {"rate": [Interval(Real, 0, 1, closed="both")], "random_state": [Integral]},
        {"rate": rate, "random_state": random_state},
        caller_name=caller,
    )
    chosen = list(edits)
    if not chosen or not set(chosen) <= set(_KINDS):
        raise ValueError(
            f"{caller}: edits must name one or more of {', '.join(map(repr, _KINDS))}, each by a string in a list. "
            f"Got {edits!r}."
        )
    kinds = np.array([_KINDS[edit] for edit in chosen], dtype=np.int64)
    (key,) = splitmix64(int(random_state), 1)
    found: list[str] = []
    for first, chunk in in_chunks(as_documents(texts, caller=caller), n_characters=CHARACTER_CHUNK):
        plain = plain_texts(chunk, first=first, caller=caller)
        distorted = distort_characters(_code_points(plain), rate=float(rate), kinds=kinds, key=key)
        joined = distorted.values.tobytes().decode(_CODE_POINTS, _SURROGATES)
        found += [joined[start:stop] for start, stop in pairwise(distorted.offsets.tolist())]
    return found


def _code_points(texts: list[str]) -> Ragged:
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    values = np.frombuffer(bytearray("".join(texts).encode(_CODE_POINTS, _SURROGATES)), dtype=np.uint32)
    return Ragged(values, offsets)
