"""Paragraphs as word ids, read from any input of fit."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._sklearn import level_of_user
from sklearn_hashnlp.datasets import stream_paragraphs
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.text import CharNgramFeaturizer
from sklearn_hashnlp.text._documents import as_documents, check_encodable, in_chunks
from sklearn_hashnlp.text._word_projections import encode_words

Splitter = Callable[[str], list[str]]

_CHUNK_CHARACTERS = 2**22  # characters that are split into words at once


@dataclass(frozen=True)
class Paragraphs:
    """Paragraphs of sentences of word ids."""

    words: list[str]  # by word id, in the order of first occurrence, also from truncated ends of sentences
    sentences: Ragged  # the word ids of each sentence; no sentence is empty
    offsets: NDArray[np.int64]  # (n_paragraphs + 1,): boundaries of paragraphs among the sentences; none is empty

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return len(self.sentences.offsets) - 1

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def digest(self) -> int:
        """Return a checksum (CRC-32) of the paragraphs in their order."""
        checksum = zlib.crc32("\n".join(self.words).encode("utf-8", "surrogatepass"))
        for array in (*self.sentences, self.offsets):
            checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
        return checksum


def read_paragraphs(
    X: Any,
    *,
    split: Splitter,  # a text into sentences
    featurizer: CharNgramFeaturizer,  # splits sentences into words
    max_sentences: int,  # longer paragraphs are split into parts of equal length
    max_words: int,  # longer sentences are truncated, with a warning
    caller: str,
) -> Paragraphs:
    """Read paragraphs, without sentences that have no words and paragraphs that have no sentences."""
    sentences = _WordRows(featurizer, max_words, caller)
    n_sentences: list[int] = []
    for paragraphs in _chunks(_split_paragraphs(X, split, caller)):
        sentences.add([sentence for paragraph in paragraphs for sentence in paragraph], first=0)
        n_sentences += [len(paragraph) for paragraph in paragraphs]
    advice = "Set max_words, or a sentence_splitter that returns shorter sentences."
    warn_of_truncation(sentences.longest, max_words, "sentence", advice, caller=caller)
    counts = np.array(n_sentences, dtype=np.int64)
    return _assemble(list(sentences.word_ids), *sentences.concatenated(), counts, max_sentences)


def read_texts(X: Any, *, featurizer: CharNgramFeaturizer, max_words: int, caller: str) -> tuple[list[str], Ragged]:
    """Return the distinct words of texts, and each text, truncated with a warning, as word ids."""
    texts = _WordRows(featurizer, max_words, caller)
    for first, chunk in in_chunks(as_documents(X, caller=caller), n_characters=_CHUNK_CHARACTERS):
        texts.add(chunk, first=first)
    warn_of_truncation(texts.longest, max_words, "text", "Set max_words, or pass shorter texts.", caller=caller)
    values, lengths = texts.concatenated()
    return list(texts.word_ids), Ragged(values, np.concatenate(([0], np.cumsum(lengths))))


class _WordRows:
    """Truncated rows of word ids; a new word gets the next id."""

    def __init__(self, featurizer: CharNgramFeaturizer, max_words: int, caller: str) -> None:
        self._featurizer, self._max_words, self._caller = featurizer, max_words, caller
        self.word_ids: dict[str, int] = {}
        self.longest = 0
        self._values, self._lengths = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int64)]

    def add(self, texts: list[str], *, first: int) -> None:
        """Add texts; ``first`` is the index of the first text, for errors."""
        words, rows = encode_words(texts, first=first, featurizer=self._featurizer, caller=self._caller)
        ids = np.fromiter((self.word_ids.setdefault(word, len(self.word_ids)) for word in words), np.int32, len(words))
        values, lengths = _truncate(rows, self._max_words)
        self.longest = max(self.longest, int(np.diff(rows.offsets).max(initial=0)))
        self._values.append(ids[values])
        self._lengths.append(lengths)

    def concatenated(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the word ids of all rows, and the lengths of the rows."""
        return np.concatenate(self._values), np.concatenate(self._lengths)


def warn_of_truncation(longest: int, max_words: int, kind: str, advice: str, *, caller: str) -> None:
    """Warn if the longest text has more than ``max_words`` words."""
    if longest > max_words:
        warnings.warn(
            f"{caller}: the longest {kind} has {longest:,} words; {kind}s are truncated to {max_words:,} words. "
            f"{advice}",
            stacklevel=level_of_user(),
        )


def warn_of_single_sentences(paragraphs: Paragraphs, *, caller: str) -> None:
    """Warn if each paragraph has one sentence, the sign of an input of sentences instead of paragraphs."""
    if len(paragraphs) == paragraphs.n_sentences:
        warnings.warn(
            f"{caller}: no paragraph has more than one sentence with words, so there are no similar sentences to train "
            "on. Pass paragraphs, texts or lists of several sentences, and set max_sentences to 2 or more; or set "
            "max_epochs=0.",
            stacklevel=level_of_user(),
        )


def truncate_words(rows: Ragged, max_words: int) -> Ragged:
    """Truncate rows of words."""
    values, lengths = _truncate(rows, max_words)
    return Ragged(values, np.concatenate(([0], np.cumsum(lengths))))


def _split_paragraphs(X: Any, split: Splitter, caller: str) -> Iterator[list[str]]:
    """Iterate over the paragraphs of X as lists of sentences."""
    for index, item in enumerate(_items(X, caller)):
        if isinstance(item, str):
            yield _check_sentences(split(item), index, caller)
        elif isinstance(item, PathLike):
            for text in stream_paragraphs(item):
                yield _check_sentences(split(text), index, caller)
        elif isinstance(item, list | tuple) and all(isinstance(sentence, str) for sentence in item):
            yield _check_sentences(list(item), index, caller)
        else:
            raise TypeError(
                f"{caller}: a paragraph must be a string, a list of sentences or the pathlib.Path of a file with a "
                f"paragraph per line; document {index} is {item!r:.60} ({type(item).__name__})."
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
            f"{caller}: a callable must return an iterable of paragraphs, got {items!r:.60} ({type(items).__name__})."
        )
    return items


def _check_sentences(sentences: Any, index: int, caller: str) -> list[str]:
    if not isinstance(sentences, list) or not all(isinstance(sentence, str) for sentence in sentences):
        raise TypeError(
            f"{caller}: sentence_splitter must return a list of strings, got {sentences!r:.60} "
            f"({type(sentences).__name__}) for document {index}."
        )
    for text in sentences:
        if not text.isascii():  # checked here, where the index of the paragraph is known
            check_encodable(text.split(), position=index, caller=caller)
    return sentences


def _chunks(paragraphs: Iterable[list[str]]) -> Iterator[list[list[str]]]:
    chunk: list[list[str]] = []
    size = 0
    for paragraph in paragraphs:
        chunk.append(paragraph)
        size += sum(map(len, paragraph))
        if size >= _CHUNK_CHARACTERS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _truncate(rows: Ragged, max_words: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the values and lengths of truncated rows."""
    lengths = np.diff(rows.offsets)
    if lengths.max(initial=0) <= max_words:
        return rows.values, lengths
    positions = np.arange(len(rows.values)) - np.repeat(rows.offsets[:-1], lengths)
    return rows.values[positions < max_words], np.minimum(lengths, max_words)


def _assemble(
    words: list[str],
    values: NDArray[np.int32],
    lengths: NDArray[np.int64],  # (n_sentences,): words
    n_sentences: NDArray[np.int64],  # (n_paragraphs,)
    max_sentences: int,
) -> Paragraphs:
    """Drop empty sentences and paragraphs, and split long paragraphs."""
    paragraph_of = np.repeat(np.arange(len(n_sentences)), n_sentences)[lengths > 0]
    lengths = lengths[lengths > 0]
    _, counts = np.unique(paragraph_of, return_counts=True)
    n_parts = -(-counts // max_sentences)
    size, n_larger = np.divmod(np.repeat(counts, n_parts), np.repeat(n_parts, n_parts))
    part = np.arange(len(size)) - np.repeat(np.cumsum(n_parts) - n_parts, n_parts)
    sizes = size + (part < n_larger)  # the first parts have one sentence more
    return Paragraphs(
        words, Ragged(values, np.concatenate(([0], np.cumsum(lengths)))), np.concatenate(([0], np.cumsum(sizes)))
    )
