"""Windows of words: contexts and their next words."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._rows import gather_windows
from sklearn_hashnlp.language._sentences import NumberedWindows, Sentences, tokens_of
from sklearn_hashnlp.language._vocabulary import BEGIN, END, Vocabulary
from sklearn_hashnlp.language._word_codes import OpenWords, encode_within


def sentence_windows(sentence: Any, *, order: int, padding: str) -> list[tuple[list[str], str]]:
    """Return which words of a sentence a language model predicts, and from which words before them."""
    width = order - 1
    tokens = tokens_of(sentence, place=0, caller="sentence_windows")
    words = [*[BEGIN] * (width if padding == "full" else 1), *tokens, END]
    return [(words[at - width : at], words[at]) for at in range(width, len(words))]


class WordWindows:
    """All windows of a corpus, which are made when they are asked for."""

    def __init__(
        self,
        inputs: NDArray[np.int32],
        targets: NDArray[np.int32],
        positions: NDArray[Any],
        offsets: NDArray[np.int64],
        order: int,
        codes: NDArray[np.int64] | None = None,
    ) -> None:
        self.inputs = inputs
        self.targets = targets
        self.positions = positions
        self.offsets = offsets
        self.order = order
        self.codes = codes

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def y(self) -> NDArray[np.int32]:
        """The words that are to be predicted."""
        found: NDArray[np.int32] = self.targets[self.positions]
        return found

    def take(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Gather the contexts and targets of some windows."""
        context, target = gather_windows(self.inputs, self.targets, self.positions, rows, self.order - 1)
        if self.codes is not None:
            context = self.codes[context]
        return context, target

    def digest(self) -> int:
        """Return a number that tells other windows, or their order, from these."""
        found = 0
        for array in (self.inputs, self.targets, self.positions):
            found = zlib.crc32(np.ascontiguousarray(array).data, found)
        if self.codes is not None:
            found = zlib.crc32(np.ascontiguousarray(self.codes).data, found)
        return found

    def select(self, chosen: NDArray[np.bool_]) -> WordWindows:
        """Make a set of the windows of some sentences."""
        lengths = np.diff(self.offsets)
        positions = self.positions[np.repeat(chosen, lengths)]
        offsets = np.concatenate(([0], np.cumsum(lengths[chosen])))
        return WordWindows(self.inputs, self.targets, positions, offsets, self.order, self.codes)

    def spread(self, n_windows: int) -> WordWindows:
        """Make a set of windows that stand evenly in this one, each for itself."""
        rows = np.unique(np.linspace(0, len(self) - 1, min(n_windows, len(self))).astype(np.int64))
        offsets = np.arange(len(rows) + 1)
        return WordWindows(self.inputs, self.targets, self.positions[rows], offsets, self.order, self.codes)


def make_windows(
    corpus: Sentences | NumberedWindows,
    vocabulary: Vocabulary,
    translation: NDArray[np.int32] | None,
    *,
    order: int,
    padding: str,
    open_words: OpenWords | None,
    caller: str,
) -> WordWindows:
    """Return the words of a corpus their numbers and put marks between its sentences."""
    if isinstance(corpus, NumberedWindows):
        numbers = _translate(corpus.windows, vocabulary, translation, caller)
        shown, codes = numbers, None
        if open_words is not None:
            shown, codes = _show(open_words.encode(vocabulary.words), numbers)
        n_windows = len(corpus.windows)
        positions = np.arange(1, n_windows + 1, dtype=np.int64) * order - 1
        return WordWindows(shown, numbers, positions, np.arange(n_windows + 1), order, codes)
    n_begin = order - 1 if padding == "full" else 1
    n_words = len(corpus.lengths) * (n_begin + 1) + len(corpus.numbers)
    # Where each sentence begins with its marks, and where each of its tokens goes.
    lengths = corpus.lengths + n_begin + 1
    begins = np.cumsum(lengths) - lengths
    shift = np.arange(1, len(corpus.lengths) + 1) * (n_begin + 1) - 1
    places = np.arange(len(corpus.numbers)) + np.repeat(shift, corpus.lengths)
    targets = np.full(n_words, vocabulary.begin, dtype=np.int32)
    targets[begins + lengths - 1] = vocabulary.end
    targets[places] = vocabulary.numbers(corpus.words)[corpus.numbers]
    inputs, codes = targets, None
    if open_words is not None:
        inputs = (targets != vocabulary.begin).astype(np.int32)  # 0 is <s> and 1 is </s>
        inputs[places] = corpus.numbers + 2
        inputs, codes = _show(encode_within(open_words, corpus.words), inputs)
    n_targets = np.maximum(lengths - (order - 1), 0)
    offsets = np.concatenate(([0], np.cumsum(n_targets)))
    positions = np.arange(offsets[-1]) + np.repeat(begins + order - 1 - offsets[:-1], n_targets)
    positions = positions.astype(np.int32 if n_words < 2**31 else np.int64)
    return WordWindows(inputs, targets, positions, offsets, order, codes)


def _show(codes: NDArray[Any], numbers: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64] | None]:
    """Put codes of one number into the text itself; of longer ones there is one a distinct word."""
    return (codes[numbers], None) if codes.ndim == 1 else (numbers, codes)


def _translate(
    windows: NDArray[np.int64], vocabulary: Vocabulary, translation: NDArray[np.int32] | None, caller: str
) -> NDArray[np.int32]:
    if translation is None:
        raise ValueError(
            f"{caller} got numbers of words from its reader and does not know the words. Hand in the dict that they "
            "were numbered by as vocabulary, or let the reader give sentences."
        )
    if windows.size and not 0 <= windows.min() <= windows.max() < len(translation):
        wrong = windows.min() if windows.min() < 0 else windows.max()
        raise ValueError(f"{caller}: the reader gave the number {wrong}, and vocabulary has {len(translation)} words.")
    if (translation[windows[:, -1]] == vocabulary.begin).any():
        raise ValueError(f"{caller}: the reader gave a window that ends with <s>, which is never predicted.")
    numbers: NDArray[np.int32] = translation[windows].ravel()
    return numbers
