"""Texts of very many made-up labels, each of which has a few n-grams of its own among words that tell nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from .data import Rows

N_WORDS = 20_000
OWN_PAIRS = 4  # of each label; each of the words may be in pairs of other labels too
PAIRS_A_TEXT = 2
NOISE_A_TEXT = 12


def made_up_rows(n_texts: int, n_labels: int, seed: int) -> Rows:
    """Make texts of two of their label's own pairs of words among twelve other words.

    Labels and other words are drawn by Zipf's law, the labels' flattened so that the rarest of 10,000 is a tenth as
    frequent as the mean one. Labels and pairs depend on ``n_labels`` alone, what is drawn on ``seed`` too.
    """
    words = np.array([f"w{number}" for number in range(N_WORDS)])
    own: NDArray[np.int64] = np.random.default_rng(n_labels).integers(0, N_WORDS, (n_labels, OWN_PAIRS, 2))
    rng = np.random.default_rng((n_labels, seed))
    labels = rng.choice(n_labels, n_texts, p=_zipf(n_labels, flattened=n_labels / 40))
    noise = rng.choice(N_WORDS, (n_texts, NOISE_A_TEXT), p=_zipf(N_WORDS))
    texts = []
    for label, others in zip(labels.tolist(), noise, strict=True):
        pairs = own[label, rng.choice(OWN_PAIRS, PAIRS_A_TEXT, replace=False)]
        parts: list[Sequence[int]] = [*([word] for word in others.tolist()), *pairs.tolist()]
        texts.append(" ".join(words[word] for place in rng.permutation(len(parts)) for word in parts[place]))
    return Rows(texts, [f"label {label}" for label in labels.tolist()])


def _zipf(n: int, flattened: float = 0.0) -> NDArray[np.float64]:
    weights = 1 / (1 + flattened + np.arange(n))
    return np.asarray(weights / weights.sum())


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
