"""The n-grams of a text and their positions, found in Python as in the vectorizers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from copy import copy
from itertools import combinations
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer

from sklearn_hashnlp.inspection._aligned_text import AlignedText, Span, Units, joined, preprocessed
from sklearn_hashnlp.text import CharNgramFeaturizer, FrequentNgramVectorizer
from sklearn_hashnlp.text._fasttext_vectorizer import FastTextVectorizer
from sklearn_hashnlp.text._ngram_spec import NgramSpec

Kind: TypeAlias = Literal["words", "word n-grams", "characters"]

_END_OF_LINE = "</s>"
_TOKEN = re.compile(r"[^ \t\n\v\f\r\0]+")
_NGRAM_FACTOR = 116049371
_SIZE_OF_HASHES = 2**64

COUNTING_VECTORIZERS = (HashingVectorizer, CharNgramFeaturizer, FrequentNgramVectorizer)


def find_ngrams(vectorizer: Any, text: str) -> dict[str, list[Span | None]]:
    """Return the n-grams counted by a vectorizer or specification, with a span per occurrence."""
    spans_of: dict[str, list[Span | None]] = {}
    if isinstance(vectorizer, FastTextPart):
        occurrences = vectorizer.find(text)
    elif isinstance(vectorizer, NgramSpec | FrequentNgramVectorizer):
        spec = vectorizer if isinstance(vectorizer, NgramSpec) else vectorizer.ngram_specs()[0]
        occurrences = _ngrams_of_spec(spec, text)
    elif isinstance(vectorizer, CharNgramFeaturizer):
        aligned = AlignedText.of(text).lowered() if vectorizer.lowercase else AlignedText.of(text)
        pattern = r"\S+" if vectorizer.split == "whitespace" else r"\w+|[^\w\s]"
        occurrences = _skipgrams(
            list(aligned.find_all(pattern)), vectorizer.ngram_range, int(vectorizer.max_skip)
        )
    else:
        occurrences = _ngrams_of_scikit_learn(vectorizer, text)
    for ngram, span in occurrences:
        spans_of.setdefault(ngram, []).append(span)
    return spans_of


def columns_of(
    vectorizer: Any, ngrams: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the column of each n-gram, -1 if it has none, and the sign of its counts."""
    if not ngrams:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if isinstance(vectorizer, NgramSpec | HashingVectorizer | CharNgramFeaturizer):
        hasher = FeatureHasher(
            n_features=int(vectorizer.n_features),
            input_type="string",
            alternate_sign=bool(vectorizer.alternate_sign),
        )
        hashed = hasher.transform([ngram] for ngram in ngrams)  # one value per row
        return hashed.indices.astype(np.int64), hashed.data.astype(np.int64)
    if isinstance(vectorizer, FastTextPart):
        columns = vectorizer.columns_of(ngrams)
    else:
        columns = _columns_in_dictionary(vectorizer, ngrams)
    return columns, np.ones(len(ngrams), dtype=np.int64)


def _ngrams_of_spec(spec: NgramSpec, text: str) -> Iterator[tuple[str, Span | None]]:
    begin, end = spec.around
    for ngram, span in _analyze(
        spec, preprocessed(f"{begin}{text}{end}", spec), frozenset(spec.stop_words)
    ):
        if span is not None:  # the part within the text, if there is one
            span = max(span[0] - len(begin), 0), min(span[1] - len(begin), len(text))
        yield ngram, span if span is not None and span[0] < span[1] else None


def _ngrams_of_scikit_learn(vectorizer: Any, text: str) -> Iterator[tuple[str, Span | None]]:
    """Yield the n-grams of a HashingVectorizer without a specification."""
    if callable(vectorizer.analyzer):
        return ((ngram, None) for ngram in vectorizer.build_analyzer()(text))
    aligned, stop_words = preprocessed(text, vectorizer), vectorizer.get_stop_words() or ()
    if vectorizer.analyzer != "word" or vectorizer.tokenizer is None:
        return _analyze(vectorizer, aligned, stop_words)
    tokens = aligned.find_in_order(list(vectorizer.tokenizer(aligned.text)))
    return _skipgrams(
        [token for token in tokens if token[0] not in stop_words], vectorizer.ngram_range, 0
    )


def _analyze(
    options: Any, aligned: AlignedText, stop_words: Collection[str]
) -> Iterator[tuple[str, Span | None]]:
    """Yield the n-grams of a preprocessed text, by a specification or vectorizer parameters."""
    if options.analyzer == "char":
        return _character_ngrams(aligned.with_single_spaces(), options.ngram_range)
    if options.analyzer == "char_wb":
        return _ngrams_within_words(aligned, r"\S+", "  ", options.ngram_range, short_whole=True)
    if options.analyzer == "word_chars":
        return _ngrams_within_words(
            aligned, options.token_pattern, "<>", options.ngram_range, short_whole=False
        )
    pattern = options.token_pattern
    tokens = aligned.find_all(pattern, group=min(re.compile(pattern).groups, 1))
    return _skipgrams(
        [token for token in tokens if token[0] not in stop_words], options.ngram_range, 0
    )


def _character_ngrams(
    aligned: AlignedText, ngram_range: Sequence[int]
) -> Iterator[tuple[str, Span | None]]:
    for n in range(ngram_range[0], min(ngram_range[1], len(aligned.text)) + 1):
        for start in range(len(aligned.text) - n + 1):
            yield aligned.text[start : start + n], aligned.span(start, start + n)


def _ngrams_within_words(
    aligned: AlignedText, pattern: str, marks: str, ngram_range: Sequence[int], *, short_whole: bool
) -> Iterator[tuple[str, Span | None]]:
    """Yield character n-grams of words in marks; ``short_whole`` yields a short word once."""
    for match in re.finditer(pattern, aligned.text):
        word, first = f"{marks[0]}{match.group()}{marks[1]}", match.start() - 1
        for n in range(
            ngram_range[0],
            ngram_range[1] + 1 if short_whole else min(ngram_range[1], len(word)) + 1,
        ):
            for start in range(max(len(word) - n, 0) + 1):
                end = min(start + n, len(word))
                span = aligned.span(
                    max(first + start, match.start()), min(first + end, match.end())
                )
                yield word[start:end], span
            if n >= len(word):
                break


def _skipgrams(
    words: Units, ngram_range: Sequence[int], max_skip: int
) -> Iterator[tuple[str, Span | None]]:
    """Yield n-grams of words, with at most some words skipped."""
    for n in range(ngram_range[0], min(ngram_range[1], len(words)) + 1):
        for start in range(len(words) - n + 1):
            following = range(start + 1, min(start + n + max_skip, len(words)))
            for rest in combinations(following, n - 1):
                yield joined([words[index] for index in (start, *rest)])


def _columns_in_dictionary(
    vectorizer: FrequentNgramVectorizer, ngrams: Sequence[str]
) -> NDArray[np.int64]:
    """Look up n-grams, as texts of which only the n-gram of all words is counted."""
    columns = np.full(len(ngrams), -1, dtype=np.int64)
    pattern = re.compile(vectorizer.token_pattern)
    lengths = np.array([len(pattern.findall(ngram)) for ngram in ngrams])
    for n in np.unique(lengths).tolist():
        whole = copy(vectorizer)
        whole.ngram_range = (n, n)
        indices = np.flatnonzero(lengths == n)
        counts = whole.transform([ngrams[index] for index in indices.tolist()])
        known = np.diff(counts.indptr) == 1
        columns[indices[known]] = counts.indices
    return columns


class FastTextPart(NamedTuple):
    """The n-grams of one kind that a FastTextVectorizer counts."""

    vectorizer: FastTextVectorizer
    kind: Kind

    def find(self, text: str) -> Iterator[tuple[str, Span | None]]:
        """Yield the n-grams of this kind with their spans."""
        words = self._words(text)
        if self.kind == "words":
            yield from words
        elif self.kind == "word n-grams":
            for first in range(len(words)):
                for stop in range(
                    first + 2, min(first + self._dictionary.word_ngrams, len(words)) + 1
                ):
                    yield joined(words[first:stop])
        else:
            for word, span in words:
                if word != _END_OF_LINE and span is not None:
                    yield from self._characters(word, span[0])

    def columns_of(self, ngrams: Sequence[str]) -> NDArray[np.int64]:
        """Return the column of each n-gram, -1 if it has none."""
        return np.array([self._column_of(ngram) for ngram in ngrams], dtype=np.int64)

    @property
    def _dictionary(self) -> Any:
        return self.vectorizer._dictionary

    def _words(self, text: str) -> Units:
        """Return the tokens that are no labels, up to the end of the line, and the end token."""
        tokens = [(match.group(), match.span()) for match in _TOKEN.finditer(text)]
        ends = [index for index, (token, _) in enumerate(tokens) if token == _END_OF_LINE]
        words: Units = [
            token for token in tokens[: ends[0] if ends else None] if not self._is_label(token[0])
        ]
        return words if self._is_label(_END_OF_LINE) else [*words, (_END_OF_LINE, None)]

    def _is_label(self, token: str) -> bool:
        entry = self._entry(token)
        if entry >= 0:
            return bool(entry >= self._dictionary.n_words)
        return token != _END_OF_LINE and token.startswith(self._dictionary.label_prefix or " ")

    def _entry(self, token: str) -> int:
        """Look a token up in the hash table of the dictionary; -1 if it is not there."""
        name, tables = token.encode(), self._dictionary.tables
        slot = _fnv1a(name) % len(tables.slots)
        while (entry := int(tables.slots[slot, 0])) >= 0:
            if tables.names[tables.offsets[entry] : tables.offsets[entry + 1]].tobytes() == name:
                return entry
            slot = (slot + 1) % len(tables.slots)
        return -1

    def _characters(self, word: str, begin: int) -> Iterator[tuple[str, Span]]:
        """Yield the character n-grams of a word between < and >, of which neither counts alone."""
        marked, end = f"<{word}>", begin + len(word)
        alone = [(0, 1), (len(word) + 1, len(word) + 2)]
        for first in range(len(marked)):
            for stop in range(first + 1, min(first + self._dictionary.max_n, len(marked)) + 1):
                if stop - first >= self._dictionary.min_n and (first, stop) not in alone:
                    yield (
                        marked[first:stop],
                        (max(begin + first - 1, begin), min(begin + stop - 1, end)),
                    )

    def _column_of(self, ngram: str) -> int:
        if self.kind == "words":
            entry = self._entry(ngram)
            return entry if entry < self._dictionary.n_words else -1
        state = _fnv1a(ngram.encode())
        if self.kind == "word n-grams":
            first, *others = (_signed(_fnv1a(word.encode())) for word in ngram.split(" "))
            state = first % _SIZE_OF_HASHES
            for other in others:
                state = (state * _NGRAM_FACTOR + other) % _SIZE_OF_HASHES
        bucket, pruned = state % self._dictionary.bucket, self._dictionary.pruned
        if pruned is None:
            return int(self._dictionary.n_words + bucket)
        kept = np.flatnonzero(pruned[:, 0] == bucket)
        return int(self._dictionary.n_words + pruned[kept[-1], 1]) if len(kept) else -1


def parts_of_fasttext(vectorizer: FastTextVectorizer) -> list[FastTextPart]:
    """Return a part for each kind of n-grams that a vectorizer counts."""
    dictionary = vectorizer._dictionary
    kinds: list[Kind] = ["words"]
    kinds += ["word n-grams"] if dictionary.word_ngrams > 1 else []
    kinds += ["characters"] if dictionary.max_n > 0 else []
    return [FastTextPart(vectorizer, kind) for kind in kinds]


def _fnv1a(content: bytes) -> int:
    """Return FNV-1a of 32 bits of bytes that count as signed."""
    state = 2166136261
    for byte in content:
        state = (state ^ (_signed(byte, 8) % 2**32)) * 16777619 % 2**32
    return state


def _signed(value: int, n_bits: int = 32) -> int:
    return value - (1 << n_bits) if value >> (n_bits - 1) else value
