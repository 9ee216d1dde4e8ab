"""Read sentences, in any form that users pass them, into one flat array of ids."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.language._vocabulary import DEFAULT_TOKENS, SpecialTokens
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

    def reader(self) -> Callable[[], Iterator[list[str]]]:
        """Return a function that reads the sentences again."""
        return lambda: self._sentences()

    def _sentences(self) -> Iterator[list[str]]:
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
        return _read_sentences(_lines(Path(X)), special_tokens, caller)
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


def read_sentences(X: Any, *, special_tokens: SpecialTokens, caller: str) -> Sentences:
    """Read sentences, for a model that cannot read windows of word ids."""
    corpus = read_corpus(X, order=None, special_tokens=special_tokens, caller=caller)
    assert isinstance(corpus, Sentences)
    return corpus


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


class _GrowingIds(dict[str, int]):
    """Word to id; a new word gets the next id."""

    def __missing__(self, word: str) -> int:
        self[word] = word_id = len(self)
        return word_id


def _read_sentences(sentences: Iterable[Any], special_tokens: SpecialTokens, caller: str) -> Sentences:
    word_to_id = _GrowingIds()
    id_of: Callable[[str], int] = word_to_id.__getitem__
    ids, lengths = array("i"), array("q")
    for index, sentence in enumerate(sentences):
        tokens = tokenize(sentence, index=index, special_tokens=special_tokens, caller=caller)
        ids.extend(map(id_of, tokens))
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


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if not line.isspace():
                yield line
