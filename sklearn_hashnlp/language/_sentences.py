"""Whatever a user hands in as sentences, read once into one flat array of numbers."""

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

from sklearn_hashnlp.language._vocabulary import BEGIN, END
from sklearn_hashnlp.text._documents import as_documents


@dataclass(frozen=True)
class Sentences:
    """Sentences of words, which are numbered as they come."""

    words: list[str]  # the distinct words, in the order of their first appearance
    numbers: NDArray[np.int32]  # (n_tokens,): sentence after sentence, each token's place in ``words``
    lengths: NDArray[np.int64]  # (n_sentences,): tokens of each sentence

    def __len__(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True)
class NumberedWindows:
    """Windows of words that the user has numbered."""

    # (n_windows, order): a context and the word after it, by the numbers of the user's vocabulary
    windows: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.windows)


def read_corpus(X: Any, *, order: int, caller: str) -> Sentences | NumberedWindows:
    """Read sentences, or from a reader windows."""
    if isinstance(X, str | bytes):
        raise TypeError(
            f"{caller}: a single {type(X).__name__} is ambiguous. Wrap a sentence in a list, [{X[:20]!r}], and the "
            "name of a file in pathlib.Path."
        )
    if isinstance(X, PathLike):
        return _read_sentences(_lines(Path(X)), caller)
    if not callable(X):
        return _read_sentences(as_documents(X, caller=caller), caller)
    items = iter(_call(X, caller))
    first = next(items, None)
    if first is None:
        return _read_sentences([], caller)
    if _is_window(first):
        return _read_windows(chain([first], items), order, caller)
    return _read_sentences(chain([first], items), caller)


def tokens_of(sentence: Any, *, place: int, caller: str) -> list[str]:
    """Split one sentence."""
    if isinstance(sentence, str):
        tokens = sentence.split()
    elif isinstance(sentence, Iterable) and not isinstance(sentence, bytes | dict):
        tokens = list(sentence)
        if not all(isinstance(token, str) for token in tokens):
            wrong = next(token for token in tokens if not isinstance(token, str))
            raise TypeError(
                f"{caller}: sentence {place} holds {wrong!r} of type {type(wrong).__name__}, and words are str. "
                "Numbers of words come from a reader: a callable that returns an iterator of tuples."
            )
    else:
        raise TypeError(
            f"{caller}: a sentence is a str or a list of str, got {sentence!r:.60} of type {type(sentence).__name__} "
            f"as number {place}."
        )
    if tokens and tokens[0] == BEGIN:
        del tokens[0]
    if tokens and tokens[-1] == END:
        del tokens[-1]
    return tokens


class _Numbering(dict[str, int]):
    """Words to numbers; a new word gets the next one."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


def _read_sentences(sentences: Iterable[Any], caller: str) -> Sentences:
    numbering = _Numbering()
    number_of: Callable[[str], int] = numbering.__getitem__
    numbers, lengths = array("i"), array("q")
    for place, sentence in enumerate(sentences):
        tokens = tokens_of(sentence, place=place, caller=caller)
        numbers.extend(map(number_of, tokens))
        lengths.append(len(tokens))
    return Sentences(list(numbering), np.array(numbers, dtype=np.int32), np.array(lengths, dtype=np.int64))


def _call(reader: Callable[[], Any], caller: str) -> Iterable[Any]:
    items = reader()
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise TypeError(
            f"{caller}: a reader returns an iterator of sentences or of tuples of numbers of words, got {items!r:.60} "
            f"of type {type(items).__name__}."
        )
    return items


def _is_window(item: Any) -> bool:
    return isinstance(item, tuple | list | np.ndarray) and len(item) > 0 and isinstance(item[0], Integral)


def _read_windows(items: Iterator[Any], order: int, caller: str) -> NumberedWindows:
    numbers = array("q")
    for place, item in enumerate(items):
        try:
            numbers.extend(item)
            length = len(item)
        except (TypeError, OverflowError) as error:
            raise TypeError(
                f"{caller}: its reader began with tuples of numbers of words, and all others must be such, too; got "
                f"{item!r:.60} as number {place}."
            ) from error
        if length != order:
            raise ValueError(
                f"{caller}(order={order}) reads windows of {order} numbers of words, got {item!r:.60} of {length} "
                f"as number {place}."
            )
    return NumberedWindows(np.array(numbers, dtype=np.int64).reshape(-1, order))


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if not line.isspace():
                yield line
