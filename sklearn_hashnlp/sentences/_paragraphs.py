"""Whatever a user hands in as paragraphs, read once into numbers."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.datasets import stream_paragraphs
from sklearn_hashnlp.kernels import Ragged
from sklearn_hashnlp.text import CharNgramFeaturizer
from sklearn_hashnlp.text._documents import as_documents, check_encodable
from sklearn_hashnlp.text._word_projections import number_words
from sklearn_hashnlp.training._estimator import level_of_user

Splitter = Callable[[str], list[str]]

_CHARACTERS = 2**22


@dataclass(frozen=True)
class Paragraphs:
    """Paragraphs of sentences of words, which are numbered as they come."""

    # The different words, in the order in which they come first; those of the ends of sentences that were too long are
    # among them
    words: list[str]
    sentences: Ragged  # each sentence's words as places in ``words``; no sentence is empty
    offsets: NDArray[np.int64]  # (n_paragraphs + 1,): which sentences make up each paragraph; no paragraph is empty

    @property
    def n_sentences(self) -> int:
        """How many sentences there are."""
        return len(self.sentences.offsets) - 1

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def digest(self) -> int:
        """Return a number that tells other paragraphs, or their order, from these."""
        found = zlib.crc32("\n".join(self.words).encode("utf-8", "surrogatepass"))
        for array in (*self.sentences, self.offsets):
            found = zlib.crc32(np.ascontiguousarray(array).data, found)
        return found


def read_paragraphs(
    X: Any, *, split: Splitter, featurizer: CharNgramFeaturizer, max_sentences: int, max_words: int, caller: str
) -> Paragraphs:
    """Read paragraphs."""
    numbers: dict[str, int] = {}
    values, lengths = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int64)]
    n_sentences: list[int] = []
    longest = 0
    for paragraphs in _chunks(_sentences_of(X, split, caller)):
        texts = [sentence for paragraph in paragraphs for sentence in paragraph]
        words, rows = number_words(texts, first=0, featurizer=featurizer, caller=caller)
        # A word that is not there yet gets the next number.
        places = np.fromiter((numbers.setdefault(word, len(numbers)) for word in words), np.int32, len(words))
        kept, kept_lengths = _cut(rows, max_words)
        longest = max(longest, int(np.diff(rows.offsets).max(initial=0)))
        values.append(places[kept])
        lengths.append(kept_lengths)
        n_sentences += [len(paragraph) for paragraph in paragraphs]
    if longest > max_words:
        warnings.warn(
            f"{caller}: the longest sentence has {longest:,} words; of each only the first {max_words:,} are read. Set "
            "max_words, or a sentence_splitter that cuts them.",
            stacklevel=level_of_user(),
        )
    counts = np.array(n_sentences, dtype=np.int64)
    return _assemble(list(numbers), np.concatenate(values), np.concatenate(lengths), counts, max_sentences)


def warn_of_single_sentences(paragraphs: Paragraphs, *, caller: str) -> None:
    """Warn where no two sentences belong together, as if somebody had handed in sentences and not paragraphs."""
    if len(paragraphs) == paragraphs.n_sentences:
        warnings.warn(
            f"{caller}: no paragraph has more than one sentence with words, and nothing is learned of which sentences "
            "belong together. Hand in paragraphs, texts or lists of several sentences, and set max_sentences to 2 or "
            "more; or set max_epochs=0.",
            stacklevel=level_of_user(),
        )


def cut_words(rows: Ragged, max_words: int) -> Ragged:
    """Keep the beginnings of rows."""
    kept, lengths = _cut(rows, max_words)
    return Ragged(kept, np.concatenate(([0], np.cumsum(lengths))))


def _cut(rows: Ragged, max_words: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    lengths = np.diff(rows.offsets)
    if lengths.max(initial=0) <= max_words:
        return rows.values, lengths
    within = np.arange(len(rows.values)) - np.repeat(rows.offsets[:-1], lengths)
    return rows.values[within < max_words], np.minimum(lengths, max_words)


def _assemble(
    words: list[str],
    values: NDArray[np.int32],
    lengths: NDArray[np.int64],
    n_sentences: NDArray[np.int64],
    max_sentences: int,
) -> Paragraphs:
    """Leave out empty sentences, and cut long paragraphs."""
    paragraph_of = np.repeat(np.arange(len(n_sentences)), n_sentences)[lengths > 0]
    lengths = lengths[lengths > 0]
    _, counts = np.unique(paragraph_of, return_counts=True)
    parts = -(-counts // max_sentences)
    short, longer = np.divmod(np.repeat(counts, parts), np.repeat(parts, parts))
    place = np.arange(len(short)) - np.repeat(np.cumsum(parts) - parts, parts)
    sizes = short + (place < longer)
    return Paragraphs(
        words, Ragged(values, np.concatenate(([0], np.cumsum(lengths)))), np.concatenate(([0], np.cumsum(sizes)))
    )


def _sentences_of(X: Any, split: Splitter, caller: str) -> Iterator[list[str]]:
    for place, item in enumerate(_items(X, caller)):
        if isinstance(item, str):
            yield _checked(split(item), place, caller)
        elif isinstance(item, PathLike):
            for text in stream_paragraphs(item):
                yield _checked(split(text), place, caller)
        elif isinstance(item, list | tuple) and all(isinstance(sentence, str) for sentence in item):
            yield _checked(list(item), place, caller)
        else:
            raise TypeError(
                f"{caller}: a paragraph must be a string, a list of sentences or the pathlib.Path of a file with a "
                f"paragraph a line; number {place} is {item!r:.60} ({type(item).__name__})."
            )


def _items(X: Any, caller: str) -> Iterable[Any]:
    if isinstance(X, PathLike):
        return [X]
    if isinstance(X, str | bytes):
        raise ValueError(
            f"{caller}: expected an iterable of paragraphs, got a single {type(X).__name__}. Wrap a paragraph in a "
            f"list, [{X[:20]!r}], and the name of a file in pathlib.Path."
        )
    if not callable(X):
        return as_documents(X, caller=caller)
    items = X()
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise TypeError(
            f"{caller}: a callable must give an iterable of paragraphs, got {items!r:.60} ({type(items).__name__})."
        )
    return items


def _checked(sentences: Any, place: int, caller: str) -> list[str]:
    if not isinstance(sentences, list) or not all(isinstance(sentence, str) for sentence in sentences):
        raise TypeError(
            f"{caller}: sentence_splitter must make a list of strings of a text; of number {place} it made "
            f"{sentences!r:.60} ({type(sentences).__name__})."
        )
    for text in sentences:
        if not text.isascii():  # looked at here, where it is known from which paragraph it is
            check_encodable(text.split(), position=place, caller=caller)
    return sentences


def _chunks(paragraphs: Iterable[list[str]]) -> Iterator[list[list[str]]]:
    chunk: list[list[str]] = []
    size = 0
    for paragraph in paragraphs:
        chunk.append(paragraph)
        size += sum(map(len, paragraph))
        if size >= _CHARACTERS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
