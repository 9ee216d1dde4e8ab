"""Sentences, in any form that users pass them, as ids, and their windows: contexts and next words."""

from __future__ import annotations

import zlib
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.datasets._paragraphs import corpus_lines
from sklearn_hashnlp.kernels._rows import gather_windows, mask_before_last
from sklearn_hashnlp.language._vocabulary import (
    DEFAULT_TOKENS,
    SpecialTokens,
)
from sklearn_hashnlp.text._documents import as_documents


@dataclass(frozen=True)
class Sentences:
    """Sentences as ids of their distinct words."""

    words: list[str]  # the distinct words, in the order of their first occurrence
    ids: NDArray[np.int32]  # (n_tokens,): index of each token in ``words``
    lengths: NDArray[np.int64]  # (n_sentences,): number of tokens

    def __len__(self) -> int:
        return len(self.lengths)

    def part(self, start: int, stop: int) -> Sentences:
        """Return the sentences from ``start`` to ``stop``."""
        first, last = (int(self.lengths[:end].sum()) for end in (start, stop))
        indices, ids = np.unique(self.ids[first:last], return_inverse=True)  # drop words that do not occur
        words = [self.words[index] for index in indices.tolist()]
        return Sentences(words, ids.astype(np.int32), self.lengths[start:stop])

    def read(self) -> Iterator[list[str]]:
        """Yield the words of each sentence."""
        start = 0
        for length in self.lengths.tolist():
            yield [self.words[word_id] for word_id in self.ids[start : start + length].tolist()]
            start += length


@dataclass(frozen=True)
class EncodedWindows:
    """Windows of words as ids of the user's vocabulary."""

    ids: NDArray[np.int64]  # (n_windows, order): a context and the next word

    def __len__(self) -> int:
        return len(self.ids)


def read_corpus(
    X: Any, *, order: int | None, special_tokens: SpecialTokens = DEFAULT_TOKENS, caller: str
) -> Sentences | EncodedWindows:
    """Read sentences or, unless ``order`` is None, windows of word ids."""
    if isinstance(X, str | bytes):
        raise TypeError(
            f"{caller}: a single {type(X).__name__} is ambiguous. Wrap a sentence in a list, [{X[:20]!r}], and the "
            "name of a file in pathlib.Path."
        )
    if isinstance(X, PathLike):
        return _read_sentences(corpus_lines(Path(X)), special_tokens, caller)
    if not callable(X):
        return _read_sentences(as_documents(X, caller=caller), special_tokens, caller)
    items = iter(_call(X, caller))
    first = next(items, None)
    if first is None:
        return _read_sentences([], special_tokens, caller)
    if _is_window(first):
        if order is None:
            raise TypeError(f"{caller} reads sentences, and its reader gave the word ids {first!r:.60}.")
        return _read_windows(chain([first], items), order, caller)
    return _read_sentences(chain([first], items), special_tokens, caller)


def tokenize(
    sentence: Any,
    *,
    index: int,
    special_tokens: SpecialTokens = DEFAULT_TOKENS,
    keep_end: bool = False,
    caller: str,
) -> list[str]:
    """Split a sentence into words, without the start token and, unless kept, the final end token."""
    if isinstance(sentence, str):
        tokens = sentence.split()
    elif isinstance(sentence, Iterable) and not isinstance(sentence, bytes | dict):
        tokens = list(sentence)
        if not all(isinstance(token, str) for token in tokens):
            wrong = next(token for token in tokens if not isinstance(token, str))
            raise TypeError(
                f"{caller}: sentence {index} holds {wrong!r} of type {type(wrong).__name__}, and words are str. "
                "Word ids come from a reader: a callable that returns an iterator of tuples."
            )
    else:
        raise TypeError(
            f"{caller}: a sentence is a str or a list of str, got {sentence!r:.60} of type {type(sentence).__name__} "
            f"as sentence {index}."
        )
    if tokens and tokens[0] == special_tokens.start:
        del tokens[0]
    if tokens and tokens[-1] == special_tokens.end and not keep_end:
        del tokens[-1]
    return tokens


def _read_sentences(sentences: Iterable[Any], special_tokens: SpecialTokens, caller: str) -> Sentences:
    word_to_id: defaultdict[str, int] = defaultdict()
    word_to_id.default_factory = word_to_id.__len__  # a new word gets the next id
    ids, lengths = array("i"), array("q")
    for index, sentence in enumerate(sentences):
        tokens = tokenize(sentence, index=index, special_tokens=special_tokens, caller=caller)
        ids.extend(map(word_to_id.__getitem__, tokens))
        lengths.append(len(tokens))
    return Sentences(list(word_to_id), np.array(ids, dtype=np.int32), np.array(lengths, dtype=np.int64))


def _call(reader: Callable[[], Any], caller: str) -> Iterable[Any]:
    items = reader()
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise TypeError(
            f"{caller}: a reader returns an iterator of sentences or of tuples of word ids, got {items!r:.60} of type "
            f"{type(items).__name__}."
        )
    return items


def _is_window(item: Any) -> bool:
    return isinstance(item, tuple | list | np.ndarray) and len(item) > 0 and isinstance(item[0], Integral)


def _read_windows(items: Iterator[Any], order: int, caller: str) -> EncodedWindows:
    ids = array("q")
    for index, item in enumerate(items):
        try:
            ids.extend(item)
            length = len(item)
        except (TypeError, OverflowError) as error:
            raise TypeError(
                f"{caller}: its reader began with tuples of word ids, and all others must be such, too; got "
                f"{item!r:.60} as item {index}."
            ) from error
        if length != order:
            raise ValueError(
                f"{caller}(order={order}) reads windows of {order} word ids, got {item!r:.60} of {length} as item "
                f"{index}."
            )
    return EncodedWindows(np.array(ids, dtype=np.int64).reshape(-1, order))


Padding: TypeAlias = Literal["full", "reference"]


def sentence_windows(
    sentence: Any, *, order: int, padding: Padding, special_tokens: SpecialTokens = DEFAULT_TOKENS
) -> list[tuple[list[str], str]]:
    """Return the contexts of a sentence and the word after each."""
    width = order - 1
    tokens = tokenize(sentence, index=0, special_tokens=special_tokens, caller="sentence_windows")
    words = [*[special_tokens.start] * (width if padding == "full" else 1), *tokens, special_tokens.end]
    return [(words[end - width : end], words[end]) for end in range(width, len(words))]


class FarContext(NamedTuple):
    """Words before the window that a context also contains."""

    n_words: int = 0
    across_sentences: bool = False  # whether they may come from earlier sentences

    @classmethod
    def of(cls, estimator: Any) -> FarContext:
        """Return the far context set by an estimator's parameters."""
        n_words = int(estimator.far_context)
        return cls(n_words, n_words > 0 and bool(estimator.across_sentences))


@dataclass(frozen=True, eq=False)
class WordWindows:
    """All windows of a corpus; contexts are gathered on demand."""

    inputs: NDArray[np.int32]  # (n_words,): the text for contexts; with codes, indices of these
    targets: NDArray[np.int32]  # (n_words,): the text as word ids
    positions: NDArray[Any]  # (n_windows,): index in the text of each window's last word
    offsets: NDArray[np.int64]  # (n_sentences + 1,): first window of each sentence
    order: int  # words per window
    codes: NDArray[np.int64] | None = None  # (n_distinct, width): codes of the distinct words
    far: FarContext = field(default_factory=FarContext)
    start: int = -1  # <s> in inputs; only with a far context

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def y(self) -> NDArray[np.int32]:
        """Ids of the words to predict, of shape (n_windows,)."""
        ids: NDArray[np.int32] = self.targets[self.positions]
        return ids

    @property
    def n_context(self) -> int:
        """Number of words of a context, including the far context."""
        return self.far.n_words + self.order - 1

    def take(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Gather contexts, (n_rows, n_context) or with codes (n_rows, n_context, width), and the next words."""
        contexts, y = gather_windows(self.inputs, self.targets, self.positions, rows, self.n_context)
        if self.far.n_words and not self.far.across_sentences:
            mask_before_last(contexts, self.start)
        return contexts if self.codes is None else self.codes[contexts], y

    def digest(self) -> int:
        """Compute a checksum of the windows and their order."""
        checksum = 0
        for values in (self.inputs, self.targets, self.positions):
            checksum = zlib.crc32(np.ascontiguousarray(values).data, checksum)
        if self.codes is not None:
            checksum = zlib.crc32(np.ascontiguousarray(self.codes).data, checksum)
        return checksum

    def select(self, sentences: NDArray[np.bool_]) -> WordWindows:
        """Return the windows of some sentences."""
        lengths = np.diff(self.offsets)
        offsets = np.concatenate(([0], np.cumsum(lengths[sentences])))
        return replace(self, positions=self.positions[np.repeat(sentences, lengths)], offsets=offsets)

    def evenly_spaced(self, n_windows: int) -> WordWindows:
        """Return at most ``n_windows`` windows, evenly spaced, each as a separate sentence."""
        rows = np.unique(np.linspace(0, len(self) - 1, min(n_windows, len(self))).astype(np.int64))
        return replace(self, positions=self.positions[rows], offsets=np.arange(len(rows) + 1))
