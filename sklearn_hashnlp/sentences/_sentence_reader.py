"""The reader of a sentence encoder: paragraphs as word ids, word weights, and projections."""

from __future__ import annotations

import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sklearn_hashnlp._idf import map_distinct, smoothed_idf
from sklearn_hashnlp._sklearn import level_of_user
from sklearn_hashnlp.datasets._paragraphs import corpus_lines
from sklearn_hashnlp.kernels._hashes import murmur3
from sklearn_hashnlp.kernels._ragged import Ragged, encoded, of_lengths
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector
from sklearn_hashnlp.text._documents import as_documents, check_encodable, in_chunks
from sklearn_hashnlp.text._word_projections import encode_words, with_array_output

WORD_SPLITTER = CharNgramFeaturizer(split="punctuation", lowercase=True)
"""Splits texts into lowercase words and punctuation, as the featurizer of every reader does."""
Splitter = Callable[[str], list[str]]
N_COUNTERS = 2**20
_CHUNK_CHARACTERS = 2**22  # characters that are split into words at once
# The IDF of a word in one of 3,000 sentences; rarer words, such as misspellings, weigh no more.
_MAX_IDF = 9.0
_IDF_POWER = 1.5
_PUNCTUATION_WEIGHT = 0.5  # relative to a word of the same frequency
_CHUNK = 2**14  # words projected at once, so that their n-grams take little memory
_has_letter_or_digit = re.compile(r"[^\W_]").search


@dataclass(frozen=True)
class Paragraphs:
    """Paragraphs of sentences of word ids."""

    # Words by id, in the order of first occurrence, also from truncated ends of sentences
    words: list[str]
    sentences: Ragged  # the word ids of each sentence; no sentence is empty
    # (n_paragraphs + 1,): boundaries of paragraphs among the sentences; none is empty
    offsets: NDArray[np.int64]

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
    max_sentences: int,  # longer paragraphs are split into parts of equal length
    max_words: int,  # longer sentences are truncated, with a warning
    caller: str,
) -> Paragraphs:
    """Read paragraphs, dropping sentences without words and paragraphs without sentences."""
    sentences = _WordRows(max_words, caller)
    n_sentences: list[int] = []
    for paragraphs in _chunks(_split_paragraphs(X, split, caller)):
        sentences.add([sentence for paragraph in paragraphs for sentence in paragraph], first=0)
        n_sentences += [len(paragraph) for paragraph in paragraphs]
    advice = "Set max_words, or a sentence_splitter that returns shorter sentences."
    warn_of_truncation(sentences.longest, max_words, "sentence", advice, caller=caller)
    counts = np.array(n_sentences, dtype=np.int64)
    return _assemble(list(sentences.word_ids), *sentences.concatenated(), counts, max_sentences)


def read_texts(X: Any, *, max_words: int, caller: str) -> tuple[list[str], Ragged]:
    """Return the distinct words of texts, and each text, truncated with a warning, as word ids."""
    texts = _WordRows(max_words, caller)
    for first, chunk in in_chunks(as_documents(X, caller=caller), n_characters=_CHUNK_CHARACTERS):
        texts.add(chunk, first=first)
    warn_of_truncation(
        texts.longest, max_words, "text", "Set max_words, or pass shorter texts.", caller=caller
    )
    return list(texts.word_ids), of_lengths(*texts.concatenated())


class _WordRows:
    """Truncated rows of word ids; a new word gets the next id."""

    def __init__(self, max_words: int, caller: str) -> None:
        self._max_words, self._caller = max_words, caller
        self.word_ids: dict[str, int] = {}
        self.longest = 0
        self._values, self._lengths = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int64)]

    def add(self, texts: list[str], *, first: int) -> None:
        """Add texts; ``first`` is the index of the first text, for errors."""
        words, rows = encode_words(
            texts, first=first, featurizer=WORD_SPLITTER, caller=self._caller
        )
        ids = np.fromiter(
            (self.word_ids.setdefault(word, len(self.word_ids)) for word in words),
            np.int32,
            len(words),
        )
        self.longest = max(self.longest, int(np.diff(rows.offsets).max(initial=0)))
        values, offsets = truncate_words(rows, self._max_words)
        self._values.append(ids[values])
        self._lengths.append(np.diff(offsets))

    def concatenated(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the word ids of all rows, and the lengths of the rows."""
        return np.concatenate(self._values), np.concatenate(self._lengths)


def warn_of_truncation(
    longest: int, max_words: int, kind: str, advice: str, *, caller: str
) -> None:
    """Warn if the longest text has more than ``max_words`` words."""
    if longest > max_words:
        warnings.warn(
            f"{caller}: the longest {kind} has {longest:,} words; {kind}s are truncated to "
            f"{max_words:,} words. {advice}",
            stacklevel=level_of_user(),
        )


def warn_of_single_sentences(paragraphs: Paragraphs, *, caller: str) -> None:
    """Warn if each paragraph has one sentence, as if sentences were passed as paragraphs."""
    if len(paragraphs) == paragraphs.n_sentences:
        warnings.warn(
            f"{caller}: no paragraph has more than one sentence with words, so there are no "
            "similar sentences to train on. Pass paragraphs, texts or lists of several "
            "sentences, and set max_sentences to 2 or more; or set max_epochs=0.",
            stacklevel=level_of_user(),
        )


def truncate_words(rows: Ragged, max_words: int) -> Ragged:
    """Truncate rows of words."""
    lengths = np.diff(rows.offsets)
    if lengths.max(initial=0) <= max_words:
        return rows
    positions = np.arange(len(rows.values)) - np.repeat(rows.offsets[:-1], lengths)
    return of_lengths(rows.values[positions < max_words], np.minimum(lengths, max_words))


def _split_paragraphs(X: Any, split: Splitter, caller: str) -> Iterator[list[str]]:
    """Iterate over the paragraphs of X as lists of sentences."""
    for index, item in enumerate(_items(X, caller)):
        if isinstance(item, str):
            yield _check_sentences(split(item), index, caller)
        elif isinstance(item, PathLike):
            for text in corpus_lines(Path(item)):
                yield _check_sentences(split(text), index, caller)
        elif isinstance(item, list | tuple) and all(isinstance(sentence, str) for sentence in item):
            yield _check_sentences(list(item), index, caller)
        else:
            raise TypeError(
                f"{caller}: a paragraph must be a string, a list of sentences or the pathlib.Path "
                f"of a file with a paragraph per line; document {index} is {item!r:.60} "
                f"({type(item).__name__})."
            )


def _items(X: Any, caller: str) -> Iterable[Any]:
    if isinstance(X, PathLike):
        return [X]
    if isinstance(X, str | bytes):
        raise ValueError(
            f"{caller}: expected an iterable of paragraphs, got a single {type(X).__name__}. Wrap "
            f"a paragraph in a list, [{X[:20]!r}], and the name of a file in pathlib.Path."
        )
    if not callable(X):
        return as_documents(X, caller=caller)
    items = X()
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise TypeError(
            f"{caller}: a callable must return an iterable of paragraphs, got {items!r:.60} "
            f"({type(items).__name__})."
        )
    return items


def _check_sentences(sentences: Any, index: int, caller: str) -> list[str]:
    if not isinstance(sentences, list) or not all(
        isinstance(sentence, str) for sentence in sentences
    ):
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
    return Paragraphs(words, of_lengths(values, lengths), np.concatenate(([0], np.cumsum(sizes))))


@dataclass(frozen=True)
class SentenceReader:
    """Split sentences into words, in lowercase, and punctuation; project and weigh the words."""

    n_projections: int
    n_bits: int
    ngram_range: tuple[int, int]  # shortest and longest character n-grams of a word
    seed: int  # of the hyperplanes
    frequencies: WordFrequencies  # in the training sentences

    @classmethod
    def of(cls, estimator: Any, seed: int, frequencies: WordFrequencies) -> SentenceReader:
        """Return the reader of an estimator."""
        shortest, longest = map(int, estimator.ngram_range)
        sizes = int(estimator.n_projections), int(estimator.n_bits)
        return cls(*sizes, (shortest, longest), seed, frequencies)

    @property
    def featurizer(self) -> CharNgramFeaturizer:
        """The featurizer of words, which also splits texts into words."""
        return CharNgramFeaturizer(
            ngram_range=self.ngram_range, split="punctuation", lowercase=True
        )

    @property
    def projector(self) -> SGNNProjector:
        """The projector of featurized words."""
        return SGNNProjector(
            n_projections=self.n_projections,
            n_bits=self.n_bits,
            output="float",
            random_state=self.seed,
        )

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return JSON values and arrays for :meth:`from_state`."""
        slots = np.flatnonzero(self.frequencies.counts).astype(np.int32)
        return {
            "n_projections": self.n_projections,
            "n_bits": self.n_bits,
            "ngram_range": list(self.ngram_range),
            "seed": self.seed,
            "n_sentences": self.frequencies.n_sentences,
        }, {"slots": slots, "counts": self.frequencies.counts[slots]}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> SentenceReader:
        """Build a reader from its state."""
        counts = np.zeros(N_COUNTERS, dtype=np.int32)
        counts[arrays["slots"]] = arrays["counts"]
        shortest, longest = values["ngram_range"]
        return cls(
            values["n_projections"],
            values["n_bits"],
            (shortest, longest),
            values["seed"],
            WordFrequencies(counts, values["n_sentences"]),
        )


@dataclass(frozen=True)
class WordFrequencies:
    """Document frequencies of words, a sentence being a document; equal hashes share a count."""

    counts: NDArray[np.int32]  # (n_counters,): number of sentences with a word of that hash
    n_sentences: int

    @classmethod
    def count(cls, paragraphs: Paragraphs) -> WordFrequencies:
        """Count the sentences of each word."""
        values, offsets = paragraphs.sentences
        counters = _counters(paragraphs.words, N_COUNTERS)[values]
        counters += np.repeat(np.arange(paragraphs.n_sentences) * N_COUNTERS, np.diff(offsets))
        counters.sort()  # several times as fast as numpy.unique, which builds a hash table
        once = counters[np.diff(counters, prepend=-1) > 0]
        counts = np.bincount(once % N_COUNTERS, minlength=N_COUNTERS)
        return cls(counts.astype(np.int32), paragraphs.n_sentences)

    def weights(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return word weights: min(idf, 9)^1.5, with a smoothed idf, halved for punctuation."""
        idf = smoothed_idf(self.counts[_counters(words, len(self.counts))], self.n_sentences)
        weights = map_distinct(lambda one: min(one, _MAX_IDF) ** _IDF_POWER, idf).astype(np.float32)
        is_punctuation = np.array(
            [_has_letter_or_digit(word) is None for word in words], dtype=np.bool_
        )
        weights[is_punctuation] *= np.float32(_PUNCTUATION_WEIGHT)
        return weights


def _counters(words: Sequence[str], n_counters: int) -> NDArray[np.int64]:
    counters: NDArray[np.int64] = murmur3(encoded(words)).astype(np.int64) % n_counters
    return counters


class CachedProjections:
    """Return unit-length word projections, the same to the last bit with and without the cache."""

    def __init__(
        self,
        words: Sequence[str],  # by word id
        counts: NDArray[np.integer],  # (n_words,): how often each is expected to be looked up
        featurizer: CharNgramFeaturizer,
        projector: SGNNProjector,  # with float output
        *,
        max_bytes: int = 2**29,  # of the cache
    ) -> None:
        self._words = words
        # rows() may be called in one of several threads already.
        self._featurizer = clone(featurizer).set_params(n_jobs=1)
        self._projector = with_array_output(projector).set_params(n_jobs=1)
        self.n_features = int(projector.n_projections) * int(projector.n_bits)
        self.n_cached = min(len(words), max_bytes // (4 * self.n_features))
        most_frequent = np.argsort(-np.asarray(counts), kind="stable")[: self.n_cached]
        self._cache_index = np.full(len(words), -1, dtype=np.int32)
        self._cache_index[most_frequent] = np.arange(self.n_cached, dtype=np.int32)
        self._cache = np.empty((self.n_cached, self.n_features), dtype=np.float32)
        for start in range(0, self.n_cached, _CHUNK):
            chunk = most_frequent[start : start + _CHUNK]
            self._cache[start : start + len(chunk)] = self._project(chunk)

    def rows(self, word_ids: NDArray[np.integer]) -> NDArray[np.float32]:
        """Return the projections of words, a new array; zero for a word without n-grams."""
        index = self._cache_index[word_ids]
        is_missing = index < 0
        rows: NDArray[np.float32]
        if not is_missing.any():
            rows = self._cache[index]
            return rows
        rows = np.empty((len(word_ids), self.n_features), dtype=np.float32)
        rows[~is_missing] = self._cache[index[~is_missing]]
        rows[is_missing] = self._project(word_ids[is_missing])
        return rows

    def _project(self, word_ids: NDArray[np.integer]) -> NDArray[np.float32]:
        words = [self._words[word_id] for word_id in word_ids.tolist()]
        rows: NDArray[np.float32] = self._projector.transform(self._featurizer.transform(words))
        # numpy sums each row by itself, in an order that depends only on the number of columns.
        lengths = np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
        rows /= np.where(lengths > 0, lengths, 1)
        return rows
