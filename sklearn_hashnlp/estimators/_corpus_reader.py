"""How a language model reads: which words it knows, and what its windows look like."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.estimators._open_words import OpenWords, encode_within
from sklearn_hashnlp.estimators._sentences import NumberedWindows, Sentences, read_corpus, tokens_of
from sklearn_hashnlp.estimators._vocabulary import Vocabulary
from sklearn_hashnlp.estimators._word_windows import WordWindows, make_windows
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

    def _codes(self, words: list[str]) -> NDArray[Any]:
        """Return what contexts show of ``<s>`` and ``</s>``, and of words within sentences."""
        if self.open_words is not None:
            return encode_within(self.open_words, words)
        vocabulary = self.vocabulary
        return np.concatenate(([vocabulary.begin, vocabulary.end], vocabulary.numbers(words)))
