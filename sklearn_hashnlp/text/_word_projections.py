"""Texts as sequences of projected words, each word of a batch projected once."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import Ragged
from sklearn_hashnlp.text._char_ngram_featurizer import CharNgramFeaturizer
from sklearn_hashnlp.text._documents import as_documents, check_encodable, plain_texts
from sklearn_hashnlp.text._sgnn_projector import SGNNProjector

_WORDS_AND_MARKS = re.compile(r"\w+|[^\w\s]")


class WordProjections(NamedTuple):
    """Projections of the different words of some texts, and which of them make up each text.

    The projections of the words of text i, in their order, are
    ``projections[rows.values[rows.offsets[i]:rows.offsets[i + 1]]]``.

    Parameters
    ----------
    projections : ndarray of shape (n_different_words, n_columns)
        Projected rows.
    rows : Ragged of int64
        The row numbers of each text's words.
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
    """Project texts for a sequence model: a row a word, or a row from all n-grams of a text.

    Equal words are projected once, however often they come. Nothing is learned and no vocabulary is kept: a word that
    was never seen before has its projection like any other.

    Parameters
    ----------
    texts : iterable of str
        The texts: a list, tuple or generator, a numpy array, a column of pandas, polars or Arrow.
    featurizer : CharNgramFeaturizer
        Makes rows of words. Its ``split`` and ``lowercase`` say what words are. For ``level='word'`` its ``analyzer``
        must be 'char'.
    projector : SGNNProjector
        Projects the rows.
    level : {"word", "document"}, default="word"
        Whether a text is the sequence of its words, or a sequence of one: itself.

    Returns
    -------
    WordProjections
        The projections and, for each text, the numbers of their rows.

    Raises
    ------
    ValueError
        If ``level`` or a parameter has a value that it cannot have, ``texts`` is a single string or a table, or a text
        is NaN or holds a lone surrogate.
    TypeError
        If a text is no ``str``, or ``featurizer`` is no CharNgramFeaturizer. The message names a text by its position.

    Examples
    --------
    >>> from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector, project_words
    >>> texts = ["the cat", "", "the cat and the dog"]
    >>> projections, rows = project_words(texts, featurizer=CharNgramFeaturizer(), projector=SGNNProjector())
    >>> projections.shape, rows.values.tolist(), rows.offsets.tolist()
    ((4, 1120), [0, 1, 0, 1, 2, 0, 3], [0, 2, 2, 7])
    """
    caller = "project_words"
    if level not in ("word", "document"):
        raise ValueError(f"{caller}: level must be 'word' or 'document', got {level!r}.")
    documents = list(as_documents(texts, caller=caller))
    if level == "document":
        rows = np.arange(len(documents) + 1)
        return WordProjections(projector.transform(featurizer.transform(documents)), Ragged(rows[:-1], rows))
    words, words_of_texts = number_words(documents, first=0, featurizer=featurizer, caller=caller)
    if not words:  # scikit-learn refuses a matrix without rows
        none = projector.transform(featurizer.transform([""]))[:0]
        return WordProjections(none, words_of_texts)
    return WordProjections(projector.transform(featurizer.transform(words)), words_of_texts)


def number_words(
    documents: list[Any], *, first: int, featurizer: CharNgramFeaturizer, caller: str
) -> tuple[list[str], Ragged]:
    """Return the different words of some texts, and the numbers of the words that make up each text."""
    words_of = _splitter(featurizer, caller)
    # A word that is not there yet gets the next number.
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    offsets = np.zeros(len(documents) + 1, dtype=np.int64)
    rows = []
    for place, text in enumerate(plain_texts(documents, first=first, caller=caller)):
        words = words_of(text)
        if not text.isascii():
            check_encodable(words, position=first + place, caller=caller)
        rows.append([numbers[word] for word in words])
        offsets[place + 1] = offsets[place] + len(words)
    values = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(offsets[-1]))
    return list(numbers), Ragged(values, offsets)


def _splitter(featurizer: CharNgramFeaturizer, caller: str) -> Callable[[str], list[str]]:
    """Return the function that splits a text into the words that the featurizer finds in it."""
    if not isinstance(featurizer, CharNgramFeaturizer):
        raise TypeError(f"{caller}: featurizer must be a CharNgramFeaturizer, got {featurizer!r}.")
    if featurizer.analyzer != "char":
        raise ValueError(
            f"{caller}: a single word has no skip-grams. Got a featurizer with analyzer={featurizer.analyzer!r}; "
            "set analyzer='char'."
        )
    split: Callable[[str], list[str]] = _WORDS_AND_MARKS.findall if featurizer.split == "punctuation" else str.split
    if featurizer.lowercase:
        # Before the split, as the featurizer does it: some characters become two, and one of them may be a mark.
        return lambda text: split(text.lower())
    return split
