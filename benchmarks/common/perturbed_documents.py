"""As many documents as one wants, made of real ones: repeated, with some of their words drawn anew."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice

import numpy as np

from .labelled_sets import Rows

SHARE = 0.3
_BLOCK = 1000  # documents whose random numbers are drawn at once


def perturbed(rows: Rows, share: float = SHARE, seed: int = 0) -> Iterator[tuple[str, str]]:
    """Give texts and labels without end, one at a time.

    Each is a random one of the texts in which a share of the words gives way to draws from all words of all texts, so
    frequent words stay frequent, pairs of words that were never seen keep coming, and no two documents are the same.
    The same seed gives the same documents, and a longer run begins with those of a shorter one.
    """
    documents = [[sys.intern(word) for word in text.split()] for text in rows.texts]  # one object a word
    words = [word for document in documents for word in document]
    rng = np.random.default_rng(seed)
    while True:
        for place in rng.integers(len(documents), size=_BLOCK):
            copy = list(documents[place])
            others = np.flatnonzero(rng.random(len(copy)) < share)
            for position, drawn in zip(others.tolist(), rng.integers(len(words), size=len(others)), strict=True):
                copy[position] = words[drawn]
            yield " ".join(copy), rows.labels[place]


def parts(documents: Iterator[tuple[str, str]], total: int, size: int) -> Iterator[Rows]:
    """Cut the first ``total`` documents into parts of ``size``, the last one shorter."""
    for start in range(0, total, size):
        yield Rows(*map(list, zip(*islice(documents, min(size, total - start)), strict=True)))
