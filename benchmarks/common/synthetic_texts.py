"""Synthetic texts: of many labels, and real documents with words replaced at random."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.data import Rows

N_WORDS = 20_000
PAIRS_PER_LABEL = 4  # a word may occur in pairs of several labels
PAIRS_PER_TEXT = 2
NOISE_PER_TEXT = 12


def synthetic_rows(n_texts: int, n_labels: int, seed: int) -> Rows:
    """Generate texts of two word pairs of their label among twelve other words, by Zipf's law."""
    words = np.array([f"w{number}" for number in range(N_WORDS)])
    pairs_of: NDArray[np.int64] = np.random.default_rng(n_labels).integers(
        0, N_WORDS, (n_labels, PAIRS_PER_LABEL, 2)
    )
    rng = np.random.default_rng((n_labels, seed))
    labels = rng.choice(n_labels, n_texts, p=_zipf(n_labels, flattened=n_labels / 40))
    noise = rng.choice(N_WORDS, (n_texts, NOISE_PER_TEXT), p=_zipf(N_WORDS))
    texts = []
    for label, others in zip(labels.tolist(), noise, strict=True):
        pairs = pairs_of[label, rng.choice(PAIRS_PER_LABEL, PAIRS_PER_TEXT, replace=False)]
        parts: list[Sequence[int]] = [*([word] for word in others.tolist()), *pairs.tolist()]
        texts.append(
            " ".join(words[word] for index in rng.permutation(len(parts)) for word in parts[index])
        )
    return Rows(texts, [f"label {label}" for label in labels.tolist()])


def _zipf(n: int, flattened: float = 0.0) -> NDArray[np.float64]:
    weights = 1 / (1 + flattened + np.arange(n))
    return np.asarray(weights / weights.sum())


SHARE = 0.3
_BLOCK = 1000  # documents per draw of random numbers


def perturbed(rows: Rows, share: float = SHARE, seed: int = 0) -> Iterator[tuple[str, str]]:
    """Generate texts and labels without end, with a share of the words drawn from all texts."""
    # Equal words are one object.
    documents = [[sys.intern(word) for word in text.split()] for text in rows.texts]
    words = [word for document in documents for word in document]
    rng = np.random.default_rng(seed)
    while True:
        for index in rng.integers(len(documents), size=_BLOCK):
            copy = list(documents[index])
            others = np.flatnonzero(rng.random(len(copy)) < share)
            for position, drawn in zip(
                others.tolist(), rng.integers(len(words), size=len(others)), strict=True
            ):
                copy[position] = words[drawn]
            yield " ".join(copy), rows.labels[index]


def chunks(documents: Iterator[tuple[str, str]], total: int, size: int) -> Iterator[Rows]:
    """Split the first ``total`` documents into chunks of ``size``; the last one may be shorter."""
    for start in range(0, total, size):
        yield Rows(*map(list, zip(*islice(documents, min(size, total - start)), strict=True)))
