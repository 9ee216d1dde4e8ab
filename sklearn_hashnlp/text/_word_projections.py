"""Texts as sequences of projected words; each distinct word is projected once."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sklearn_hashnlp.kernels._ragged import Ragged, of_lengths
from sklearn_hashnlp.text._char_ngram_featurizer import CharNgramFeaturizer
from sklearn_hashnlp.text._documents import as_documents, check_encodable, plain_texts
from sklearn_hashnlp.text._sgnn_projector import SGNNProjector

_WORDS_AND_PUNCTUATION = re.compile(r"\w+|[^\w\s]")


class WordProjections(NamedTuple):
    """Projections of the distinct words of texts, and the word ids of each text.

    The projections of the words of text i, in their order, are
    ``projections[rows.values[rows.offsets[i]:rows.offsets[i + 1]]]``.

    Parameters
    ----------
    projections : ndarray of shape (n_distinct_words, n_columns)
        The projection of each distinct word.
    rows : Ragged of int64
        The word ids of each text: row indices of ``projections``.
    """

    projections: NDArray[Any]
    rows: Ragged


def project_words(
    texts: Iterable[str],
    *,
    featurizer: CharNgramFeaturizer,
    projector: SGNNProjector,
    level: Literal["word", "document"] = "word",
) -> WordProjections:
    """Project the words of texts for a sequence model, or each text as a whole.

    Each distinct word is projected once. Nothing is fitted and no vocabulary is stored: any word
    has a projection.

    Parameters
    ----------
    texts : iterable of str
        The texts whose words are projected; each distinct word once.
    featurizer : CharNgramFeaturizer
        Converts words to rows. Its ``split`` and ``lowercase`` define the words. For
        ``level='word'`` its ``analyzer`` must be 'char'.
    projector : SGNNProjector
        Projects the rows.
    level : {"word", "document"}, default="word"
        Whether a text is the sequence of its words, or a single item with all n-grams of the text.

    Returns
    -------
    WordProjections
        The projections and the word ids of each text.

    Examples
    --------
    >>> from sklearn_hashnlp.text import (
    ...     CharNgramFeaturizer,
    ...     SGNNProjector,
    ...     project_words,
    ... )
    >>> texts = ["the cat", "", "the cat and the dog"]
    >>> projections, rows = project_words(
    ...     texts, featurizer=CharNgramFeaturizer(), projector=SGNNProjector()
    ... )
    >>> projections.shape, rows.values.tolist(), rows.offsets.tolist()
    ((4, 1120), [0, 1, 0, 1, 2, 0, 3], [0, 2, 2, 7])
    """
    caller = "project_words"
    if level not in ("word", "document"):
        raise ValueError(f"{caller}: level must be 'word' or 'document', got {level!r}.")
    documents = list(as_documents(texts, caller=caller))
    projector = with_array_output(projector)
    if level == "document":
        rows = np.arange(len(documents) + 1)
        return WordProjections(
            projector.transform(featurizer.transform(documents)), Ragged(rows[:-1], rows)
        )
    words, word_ids = encode_words(documents, first=0, featurizer=featurizer, caller=caller)
    if not words:  # scikit-learn raises an error for a matrix without rows
        empty = projector.transform(featurizer.transform([""]))[:0]
        return WordProjections(empty, word_ids)
    return WordProjections(projector.transform(featurizer.transform(words)), word_ids)


def with_array_output(projector: SGNNProjector) -> SGNNProjector:
    """Return a copy that returns arrays, even if ``sklearn.set_config`` sets another container."""
    copy: SGNNProjector = clone(projector).set_output(transform="default")
    return copy


def encode_words(
    documents: list[Any], *, first: int, featurizer: CharNgramFeaturizer, caller: str
) -> tuple[list[str], Ragged]:
    """Return the distinct words of texts, and the word ids of each text."""
    split = _splitter(featurizer, caller)
    # A new word gets the next id.
    vocabulary: defaultdict[str, int] = defaultdict()
    vocabulary.default_factory = vocabulary.__len__
    rows = []
    for index, text in enumerate(plain_texts(documents, first=first, caller=caller)):
        words = split(text)
        if not text.isascii():
            check_encodable(words, position=first + index, caller=caller)
        rows.append([vocabulary[word] for word in words])
    values = np.fromiter(chain.from_iterable(rows), dtype=np.int64)
    return list(vocabulary), of_lengths(values, [*map(len, rows)])


def _splitter(featurizer: CharNgramFeaturizer, caller: str) -> Callable[[str], list[str]]:
    """Return the function that splits a text into words like the featurizer."""
    if not isinstance(featurizer, CharNgramFeaturizer):
        raise TypeError(f"{caller}: featurizer must be a CharNgramFeaturizer, got {featurizer!r}.")
    if featurizer.analyzer != "char":
        raise ValueError(
            f"{caller}: a single word has no skip-grams. Got a featurizer with "
            f"analyzer={featurizer.analyzer!r}; set analyzer='char'."
        )
    split: Callable[[str], list[str]] = (
        _WORDS_AND_PUNCTUATION.findall if featurizer.split == "punctuation" else str.split
    )
    if featurizer.lowercase:
        # Lowercase first, as in the featurizer: some characters become two, and one of them may be
        # punctuation.
        return lambda text: split(text.lower())
    return split
