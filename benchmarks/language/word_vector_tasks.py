"""Evaluation of word vectors: analogies, neighbors of the same kind, sentence similarity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.preprocessing import normalize

from benchmarks.common.fasttext_peers import TOKENS
from benchmarks.language.sentence_tasks import Pairs
from benchmarks.language.word_lists import GROUPS, RELATIONS

# Halves of the analogies: pairs at even indices of a relation, and at odd ones
HALVES = ("chosen on", "test")
PARTNERS = 10  # pairs that follow a pair, each of which makes a question with it
_BLOCK = 256  # questions at once


class Question(NamedTuple):
    """The question which word is to ``third`` as ``second`` is to ``first``."""

    relation: str
    first: str
    second: str
    third: str
    answer: str


def questions(words: Sequence[str], half: str) -> Iterator[Question]:
    """Yield the questions of one half of the pairs of known words; no pair is in both halves."""
    known = set(words)
    for relation, text in RELATIONS.items():
        pairs = [pair.split("-") for pair in text.split()][HALVES.index(half) :: 2]
        pairs = [pair for pair in pairs if known.issuperset(pair)]
        for i, (first, second) in enumerate(pairs):
            for j in range(1, min(PARTNERS, len(pairs) - 1) + 1):
                third, answer = pairs[(i + j) % len(pairs)]
                if len({first, second, third, answer}) == 4:
                    yield Question(relation, first, second, third, answer)


def analogies(words: Sequence[str], vectors: NDArray[np.float32], half: str) -> dict[str, float]:
    """Return the accuracy of ``second - first + third`` per relation, in percent."""
    units = normalize(vectors)
    index_of = {word: index for index, word in enumerate(words)}
    asked = list(questions(words, half))
    ids = np.array([[index_of[word] for word in question[1:]] for question in asked])
    correct = []
    for start in range(0, len(ids), _BLOCK):
        first, second, third, answer = ids[start : start + _BLOCK].T
        similarities = (units[second] - units[first] + units[third]) @ units.T
        for excluded in (first, second, third):
            similarities[np.arange(len(excluded)), excluded] = -np.inf
        correct.extend((similarities.argmax(axis=1) == answer).tolist())
    relations = np.array([question.relation for question in asked])
    return {
        name: 100 * float(np.mean(np.array(correct)[relations == name]))
        for name in RELATIONS
        if name in relations
    }


def neighbors(words: Sequence[str], vectors: NDArray[np.float32]) -> dict[str, float]:
    """Return nearest neighbors of the same group and mean average precision, in percent."""
    index_of = {word: index for index, word in enumerate(words)}
    groups_of: dict[str, set[str]] = {}
    for group, text in GROUPS.items():
        for word in text.split():
            if word in index_of:
                groups_of.setdefault(word, set()).add(group)
    listed = sorted(groups_of)
    units = normalize(vectors[[index_of[word] for word in listed]])
    similarities = units @ units.T
    np.fill_diagonal(similarities, -np.inf)
    order = np.argsort(-similarities, axis=1, kind="stable")[:, :-1]  # the word itself is last
    same = np.array(
        [[bool(groups_of[one] & groups_of[other]) for other in listed] for one in listed]
    )
    relevant = np.take_along_axis(same, order, axis=1)
    precision = np.cumsum(relevant, axis=1) / np.arange(1, relevant.shape[1] + 1)
    found = relevant.sum(axis=1)
    average_precision = (precision * relevant).sum(axis=1)[found > 0] / found[found > 0]
    return {
        "nearest of the same group": 100 * float(relevant[:, 0].mean()),
        "average precision": 100 * float(average_precision.mean()),
    }


def sentence_similarity(words: Sequence[str], vectors: NDArray[np.float32], pairs: Pairs) -> float:
    """Return 100 times Spearman's correlation of human scores and mean word vectors' cosines."""
    units = normalize(vectors)
    index_of = {word: index for index, word in enumerate(words)}

    def embed(texts: Sequence[str]) -> NDArray[np.float64]:
        ids = [
            [index_of[word] for word in TOKENS.findall(text.lower()) if word in index_of]
            for text in texts
        ]
        return normalize(
            np.array([units[row].sum(axis=0) if row else np.zeros(units.shape[1]) for row in ids])
        )

    cosines = (embed(pairs.left) * embed(pairs.right)).sum(axis=1)
    return 100 * float(spearmanr(cosines, pairs.scores).statistic)


def nearest(words: Sequence[str], vectors: NDArray[np.float32], word: str, n: int) -> list[str]:
    """Return the words of the most similar vectors."""
    units = normalize(vectors)
    order = np.argsort(-(units @ units[words.index(word)]), kind="stable")[: n + 1]
    return [words[index] for index in order.tolist() if words[index] != word][:n]
