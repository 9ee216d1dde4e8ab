"""From what a user hands in to windows for training and validation, and the words in them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.estimators._sentences import NumberedWindows, Sentences, read_corpus
from sklearn_hashnlp.estimators._vocabulary import Vocabulary, adopt_vocabulary, learn_vocabulary
from sklearn_hashnlp.estimators._word_windows import WordWindows, make_windows


class TrainingCorpus(NamedTuple):
    """What a language model is trained on.

    Attributes
    ----------
    vocabulary : Vocabulary
        The words.
    translation : ndarray of int32 or None
        Where the user has numbered the words: the vocabulary's number for each of the user's.
    windows : WordWindows
        What to learn.
    valid_windows : WordWindows or None
        What to measure by.
    """

    vocabulary: Vocabulary
    translation: NDArray[np.int32] | None
    windows: WordWindows
    valid_windows: WordWindows | None


def read_training_corpus(estimator: Any, X: Any, X_valid: Any, *, seed: int) -> TrainingCorpus:
    """Read sentences for training, and hold some out where that is asked for.

    Words are learned from those that are trained on alone.

    Parameters
    ----------
    estimator : HsigmoidLanguageModel
        Its parameters count.
    X : object
        As :func:`read_corpus` takes it.
    X_valid : object
        As ``X``; None holds some of ``X`` out if ``early_stopping`` is set.
    seed : int
        Decides which.

    Returns
    -------
    TrainingCorpus
        The windows and the words.

    Raises
    ------
    TypeError, ValueError
        As :func:`read_corpus`, and if there is nothing to learn or to measure by.
    """
    name = type(estimator).__name__
    corpus = read_corpus(X, order=int(estimator.order), caller=name)
    n_sentences = len(corpus)
    if n_sentences == 0:
        raise ValueError(f"{name} found no sentence to learn from: X is empty.")
    held_out = np.zeros(n_sentences, dtype=np.bool_)
    if estimator.early_stopping and X_valid is None:
        if n_sentences == 1:
            raise ValueError(
                f"{name}(early_stopping=True) cannot hold a sentence out of one. Hand in more sentences, X_valid, or set "
                "early_stopping=False."
            )
        n_held_out = min(max(1, round(float(estimator.validation_fraction) * n_sentences)), n_sentences - 1)
        held_out[np.random.default_rng(seed).permutation(n_sentences)[:n_held_out]] = True
    vocabulary, translation = _words(estimator, corpus, held_out)
    every = numbered_windows(estimator, corpus, vocabulary, translation)
    if X_valid is not None:
        valid_corpus = read_corpus(X_valid, order=int(estimator.order), caller=name)
        valid_windows = numbered_windows(estimator, valid_corpus, vocabulary, translation)
        windows = every
    else:
        windows, valid_windows = every.select(~held_out), every.select(held_out) if held_out.any() else None
    for what, part in (("learn from", windows), ("measure by", valid_windows)):
        if part is not None and len(part) == 0:
            raise ValueError(
                f"{name} found no window of {estimator.order} words to {what}: with padding='reference', sentences "
                f"shorter than {int(estimator.order) - 2} words are passed over. Set padding='full', or a smaller order."
            )
    return TrainingCorpus(vocabulary, translation, windows, valid_windows)


def numbered_windows(
    estimator: Any,
    corpus: Sentences | NumberedWindows,
    vocabulary: Vocabulary,
    translation: NDArray[np.int32] | None,
) -> WordWindows:
    """Make the windows of a corpus as the parameters of an estimator say.

    Parameters
    ----------
    estimator : HsigmoidLanguageModel
        Its parameters count.
    corpus : Sentences or NumberedWindows
        What was read.
    vocabulary : Vocabulary
        The words.
    translation : ndarray of int32 or None
        As in :class:`TrainingCorpus`.

    Returns
    -------
    WordWindows
        The windows.
    """
    return make_windows(
        corpus,
        vocabulary,
        translation,
        order=int(estimator.order),
        padding=estimator.padding,
        hashed=estimator.embedding == "hash",
        caller=type(estimator).__name__,
    )


def _words(
    estimator: Any, corpus: Sentences | NumberedWindows, held_out: NDArray[np.bool_]
) -> tuple[Vocabulary, NDArray[np.int32] | None]:
    name = type(estimator).__name__
    if estimator.vocabulary is not None:
        return adopt_vocabulary(estimator.vocabulary, caller=name)
    if isinstance(corpus, NumberedWindows):
        raise ValueError(
            f"{name} got numbers of words from its reader and does not know the words. Hand in the dict that they were "
            "numbered by as vocabulary, or let the reader give sentences."
        )
    learned = corpus.numbers[np.repeat(~held_out, corpus.lengths)]
    vocabulary = learn_vocabulary(
        corpus.words,
        np.bincount(learned, minlength=len(corpus.words)),
        int((~held_out).sum()),
        min_count=int(estimator.min_count),
        max_words=None if estimator.max_vocabulary is None else int(estimator.max_vocabulary),
    )
    return vocabulary, None
