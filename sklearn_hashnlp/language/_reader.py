"""Sentences of a corpus as word ids."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.language._sentences import NumberedWindows, Sentences, read_corpus, tokens_of
from sklearn_hashnlp.language._vocabulary import Vocabulary, adopt_vocabulary, learn_vocabulary
from sklearn_hashnlp.language._windows import WordWindows, make_windows
from sklearn_hashnlp.language._word_codes import OpenWords, encode_within, open_words
from sklearn_hashnlp.text._documents import as_documents


@dataclass(frozen=True)
class CorpusReader:
    """Everything that turns sentences into numbers."""

    vocabulary: Vocabulary  # the words
    # Where the user has numbered the words: the vocabulary's number for each of the user's
    translation: NDArray[np.int32] | None
    order: int  # words of a window
    padding: str  # as :func:`make_windows` takes it
    open_words: OpenWords | None  # what contexts show of words, known or not; None is the numbers of known words
    caller: str  # class that reads, for the messages

    def read(self, X: Any) -> WordWindows:
        """Read sentences or windows."""
        return self.windows(read_corpus(X, order=self.order, caller=self.caller))

    def windows(self, corpus: Sentences | NumberedWindows) -> WordWindows:
        """Make the windows of what was read."""
        return make_windows(
            corpus,
            self.vocabulary,
            self.translation,
            order=self.order,
            padding=self.padding,
            open_words=self.open_words,
            caller=self.caller,
        )

    def contexts(self, X: Any) -> NDArray[np.int64]:
        """Read beginnings of sentences as contexts of the word that follows."""
        if isinstance(X, str):
            raise TypeError(
                f"{self.caller} needs a list of contexts, got a single str. Wrap it in a list: [{X!r:.40}]."
            )
        return self.number(
            [
                tokens_of(each, place=at, caller=self.caller)
                for at, each in enumerate(as_documents(X, caller=self.caller))
            ]
        )

    def number(self, beginnings: list[list[str]]) -> NDArray[np.int64]:
        """Make contexts of words."""
        width = self.order - 1
        last = [words[-width:] for words in beginnings]
        place_of = {word: place for place, word in enumerate(dict.fromkeys(chain.from_iterable(last)), start=2)}
        places = np.zeros((len(beginnings), width), dtype=np.int64)  # of <s>
        for row, words in zip(places, last, strict=True):
            if words:
                row[-len(words) :] = [place_of[word] for word in words]
        shown: NDArray[np.int64] = self._codes(list(place_of))[places].astype(np.int64, copy=False)
        return shown

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return words and padding as JSON values and arrays."""
        values = {"words": self.vocabulary.words[:-1], "padding": self.padding}
        return values, {} if self.translation is None else {"translation": self.translation}

    @classmethod
    def from_state(
        cls,
        values: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        *,
        order: int,
        open_words: OpenWords | None = None,
        caller: str,
    ) -> CorpusReader:
        """Make the reader of a stored model."""
        return cls(
            Vocabulary(values["words"]),
            arrays.get("translation"),
            order=order,
            padding=values["padding"],
            open_words=open_words,
            caller=caller,
        )

    def _codes(self, words: list[str]) -> NDArray[Any]:
        """Return what contexts show of ``<s>`` and ``</s>``, and of words within sentences."""
        if self.open_words is not None:
            return encode_within(self.open_words, words)
        vocabulary = self.vocabulary
        return np.concatenate(([vocabulary.begin, vocabulary.end], vocabulary.numbers(words)))


class LanguageCorpus(NamedTuple):
    """What a language model is trained on."""

    reader: CorpusReader  # knows the words
    windows: WordWindows  # what to learn
    valid_windows: WordWindows | None  # what to measure by


def read_language_corpus(
    estimator: Any, X: Any, X_valid: Any, *, seed: int | None, hash_seed: int = 0, reader: CorpusReader | None = None
) -> LanguageCorpus:
    """Read sentences for training, and hold some out where that is asked for."""
    name = type(estimator).__name__
    corpus = read_corpus(X, order=int(estimator.order), caller=name)
    if len(corpus) == 0:
        raise ValueError(f"{name} found no sentence to learn from: X is empty.")
    held_out = np.zeros(len(corpus), dtype=np.bool_)
    if estimator.early_stopping and X_valid is None and seed is not None:
        held_out[_choose(len(corpus), float(estimator.validation_fraction), seed, name)] = True
    if reader is None:
        reader = _make_reader(estimator, corpus, held_out, hash_seed)
    windows = reader.windows(corpus)
    valid_windows = None if X_valid is None else reader.read(X_valid)
    if held_out.any():
        windows, valid_windows = windows.select(~held_out), windows.select(held_out)
    for what, part in (("learn from", windows), ("measure by", valid_windows)):
        if part is not None and len(part) == 0:
            raise ValueError(
                f"{name} found no window of {reader.order} words to {what}: there is no sentence or, with "
                f"padding='reference', none of {reader.order - 2} words. Set padding='full', or a smaller order."
            )
    return LanguageCorpus(reader, windows, valid_windows)


def _choose(n_sentences: int, fraction: float, seed: int, name: str) -> NDArray[np.int64]:
    if n_sentences == 1:
        raise ValueError(
            f"{name}(early_stopping=True) cannot hold a sentence out of one. Hand in more sentences or X_valid, or set "
            "early_stopping=False."
        )
    n_chosen = min(max(1, round(fraction * n_sentences)), n_sentences - 1)
    return np.random.default_rng(seed).permutation(n_sentences)[:n_chosen]


def _make_reader(
    estimator: Any, corpus: Sentences | NumberedWindows, held_out: NDArray[np.bool_], hash_seed: int
) -> CorpusReader:
    name = type(estimator).__name__
    vocabulary: Vocabulary
    translation = None
    if estimator.vocabulary is not None:
        vocabulary, translation = adopt_vocabulary(estimator.vocabulary, caller=name)
    elif isinstance(corpus, NumberedWindows):
        raise ValueError(
            f"{name} got numbers of words from its reader and does not know the words. Hand in the dict that they were "
            "numbered by as vocabulary, or let the reader give sentences."
        )
    else:
        learned = corpus.numbers[np.repeat(~held_out, corpus.lengths)]
        vocabulary = learn_vocabulary(
            corpus.words,
            np.bincount(learned, minlength=len(corpus.words)),
            int((~held_out).sum()),
            min_count=int(estimator.min_count),
            max_words=None if estimator.max_vocabulary is None else int(estimator.max_vocabulary),
        )
    return CorpusReader(
        vocabulary,
        translation,
        order=int(estimator.order),
        padding=estimator.padding,
        open_words=open_words(estimator.embedding, int(estimator.n_projections), int(estimator.n_bits), hash_seed),
        caller=name,
    )
