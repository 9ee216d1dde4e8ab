"""The words and n-grams of fastText in a text: the slow, readable twin of FastTextVectorizer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.inspection._aligned_text import Span, Units, joined
from sklearn_hashnlp.text._fasttext_vectorizer import FastTextVectorizer

Kind: TypeAlias = Literal["words", "word n-grams", "characters"]

_END_OF_LINE = "</s>"
_TOKEN = re.compile(r"[^ \t\n\v\f\r\0]+")
_NGRAM_FACTOR = 116049371
_SIZE_OF_HASHES = 2**64


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
                for stop in range(first + 2, min(first + self._dictionary.word_ngrams, len(words)) + 1):
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
        """Return the tokens that are no labels, up to the end of the line, and the token of the end."""
        tokens = [(match.group(), match.span()) for match in _TOKEN.finditer(text)]
        ends = [index for index, (token, _) in enumerate(tokens) if token == _END_OF_LINE]
        words: Units = [token for token in tokens[: ends[0] if ends else None] if not self._is_label(token[0])]
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
                    yield marked[first:stop], (max(begin + first - 1, begin), min(begin + stop - 1, end))

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
