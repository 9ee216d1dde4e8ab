"""A dictionary of fastText: its words and labels, and the rows of the input matrix that a text selects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.ngrams._fasttext_rows import (
    FastTextTables,
    bucket_table,
    fasttext_rows,
    hash_table,
    with_subwords,
)
from sklearn_hashnlp.text._documents import as_documents, in_chunks, pack, plain_texts

LABEL_PREFIX = "__label__"
MAX_BUCKET = 2**31 - 1
MAX_LENGTH = 1000  # of n-grams: the time of a text is in proportion
_CHUNK = 2**21  # characters of the texts that are packed at once


@dataclass(frozen=True)
class FastTextDictionary:
    """The entries of a dictionary, words first, and the settings of its n-grams."""

    names: NDArray[np.uint8]  # the bytes of all entries, end to end
    offsets: NDArray[np.int64]  # (n_entries + 1,): where each begins
    n_words: int
    bucket: int
    word_ngrams: int
    min_n: int  # of character n-grams, as max_n; none if max_n is 0
    max_n: int
    pruned: NDArray[np.int32] | None = None  # (n_kept, 2): the buckets that were kept, and their new numbers
    label_prefix: str = LABEL_PREFIX

    @classmethod
    def of_words(cls, words: Iterable[bytes], **settings: Any) -> FastTextDictionary:
        """Build a dictionary of words, without labels."""
        words = list(words)
        offsets = np.cumsum([0, *map(len, words)], dtype=np.int64)
        return cls(_bytes_array(b"".join(words)), offsets, len(words), **settings)

    @property
    def hashes_ngrams(self) -> bool:
        """True if there are n-grams, and so rows for buckets."""
        return self.word_ngrams > 1 or self.max_n > 0

    @property
    def n_rows(self) -> int:
        """Number of rows that texts can select: a row for each word, and one for each bucket."""
        if not self.hashes_ngrams:
            return self.n_words
        if self.pruned is None:
            return self.n_words + self.bucket
        return self.n_words + int(self.pruned[:, 1].max(initial=-1)) + 1

    def check(self, n_rows: int) -> None:
        """Raise a ValueError unless the entries are whole and every row is one of ``n_rows``."""
        offsets = self.offsets
        if len(offsets) < 1 or offsets[0] != 0 or offsets[-1] != len(self.names) or (np.diff(offsets) < 0).any():
            raise ValueError("the entries of its dictionary do not fit its names")
        if not 0 <= self.n_words < len(offsets) <= 2**31 - 1:
            raise ValueError(f"its dictionary has {len(offsets) - 1} entries, of which {self.n_words} are words")
        if max(self.word_ngrams, self.max_n) > MAX_LENGTH:
            raise ValueError(f"its n-grams have up to {max(self.word_ngrams, self.max_n)} words or characters")
        if self.hashes_ngrams and not 1 <= self.bucket <= MAX_BUCKET:
            raise ValueError(f"it has n-grams, but {self.bucket} buckets for them")
        if self.pruned is not None and (self.pruned < 0).any():
            raise ValueError("a bucket that was kept has a negative number")
        if self.n_rows > n_rows:
            raise ValueError(f"texts can select {self.n_rows} rows of its input matrix, which has {n_rows}")

    @cached_property
    def tables(self) -> FastTextTables:
        """The dictionary as the kernels read it."""
        pruned = np.empty((0, 2), dtype=np.int32) if self.pruned is None else self.pruned
        tables = FastTextTables(
            self.names,
            self.offsets,
            hash_table(self.names, self.offsets),
            bucket_table(pruned),
            self.n_words,
            -1 if self.pruned is None else len(pruned),
            self.bucket,
            self.word_ngrams,
            self.min_n,
            self.max_n,
            _bytes_array(self.label_prefix.encode() or b" "),  # which no word begins with
            subwords=np.empty(0, dtype=np.int32),
            subword_ends=np.empty(0, dtype=np.int64),
        )
        return with_subwords(tables)

    def entries(self, start: int, stop: int) -> list[str]:
        """Return some entries as text; bytes that are not UTF-8 become lone surrogates."""
        blob, ends = self.names.tobytes(), self.offsets.tolist()
        return [blob[ends[i] : ends[i + 1]].decode("utf-8", "surrogateescape") for i in range(start, stop)]

    def rows(self, text: NDArray[np.uint8], offsets: NDArray[np.int64], documents: slice) -> Ragged:
        """Find the rows of some documents of a buffer, in which a byte follows each."""
        return fasttext_rows(self.tables, text, offsets, documents)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "tables"}  # made anew in a moment


def _bytes_array(content: bytes) -> NDArray[np.uint8]:
    """Return an array that can be written to, as all others are: kernels are compiled once for each kind."""
    return np.frombuffer(content, dtype=np.uint8).copy()


def packed_documents(X: Any, *, caller: str) -> Iterator[Ragged]:
    """Yield documents in UTF-8, a byte after each, in several buffers if they are many."""
    for first, chunk in in_chunks(as_documents(X, caller=caller), n_characters=_CHUNK):
        for texts in pack(
            plain_texts(chunk, first=first, caller=caller),
            lowercase=False,
            preprocess=None,
            check_surrogates=partial(refuse_surrogates, first=first, caller=caller),
            max_characters=2 * _CHUNK,
        ):
            yield texts.rows


def refuse_surrogates(index: int, text: str, *, first: int, caller: str) -> None:
    """Raise the error of a text that UTF-8 cannot encode."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{caller}: document {first + index} holds the lone surrogate {text[error.start]!r} at position "
            f"{error.start}, which UTF-8 cannot encode. Repair it with "
            "text.encode('utf-8', 'replace').decode('utf-8')."
        ) from error
