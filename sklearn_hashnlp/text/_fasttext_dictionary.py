"""A fastText dictionary: words, labels, and the rows of the input matrix that a text selects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels.ngrams._fasttext_rows import (
    FastTextTables,
    bucket_table,
    hash_table,
    with_subwords,
)

LABEL_PREFIX = "__label__"
MAX_BUCKET = 2**31 - 1
MAX_LENGTH = 1000  # of n-grams: the time of a text is in proportion

# In model folders.
_NAMES = "dictionary.names"
_OFFSETS = "dictionary.offsets"
_COUNTS = "dictionary.counts"
_PRUNED = "dictionary.pruned"
_INTEGERS = ("n_words", "bucket", "word_ngrams", "min_n", "max_n")


@dataclass(frozen=True)
class FastTextDictionary:
    """The entries of a dictionary, words first, and the settings of its n-grams."""

    names: NDArray[np.uint8]  # the bytes of all entries, end to end
    offsets: NDArray[np.int64]  # (n_entries + 1,): where each begins
    counts: NDArray[np.int64]  # (n_entries,): occurrences in the training texts
    n_words: int
    bucket: int
    word_ngrams: int
    min_n: int  # of character n-grams, as max_n; none if max_n is 0
    max_n: int
    # (n_kept, 2): the buckets that were kept, and their new numbers
    pruned: NDArray[np.int32] | None = None
    label_prefix: str = LABEL_PREFIX

    @classmethod
    def of_entries(
        cls,
        entries: Sequence[bytes],
        counts: Sequence[int] | NDArray[np.int64],
        n_words: int,
        **settings: Any,
    ) -> Self:
        """Build a dictionary of words, and of the labels that follow them."""
        offsets = np.cumsum([0, *map(len, entries)], dtype=np.int64)
        return cls(
            np.frombuffer(b"".join(entries), np.uint8),
            offsets,
            np.array(counts, dtype=np.int64),
            n_words,
            **settings,
        )

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Build a dictionary from the values and arrays of :meth:`to_state`, and check it."""
        if not isinstance(values["label_prefix"], str):
            raise TypeError(f"the prefix of labels is {values['label_prefix']!r}")
        pruned = None
        if _PRUNED in arrays:
            pruned = _typed(arrays, _PRUNED, np.int32, 2)
            if pruned.shape[1] != 2:
                raise ValueError("the buckets that were kept are not pairs")
        integers = {name: values[name] for name in _INTEGERS}
        for name, value in integers.items():
            if type(value) is not int or not -(2**31) <= value < 2**31:
                raise TypeError(f"{name} is {value!r}")
        names, offsets = _typed(arrays, _NAMES, np.uint8, 1), _typed(arrays, _OFFSETS, np.int64, 1)
        counts = _typed(arrays, _COUNTS, np.int64, 1)
        dictionary = cls(
            names, offsets, counts, **integers, pruned=pruned, label_prefix=values["label_prefix"]
        )
        dictionary.check(MAX_BUCKET)
        return dictionary

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return JSON values and arrays for a model folder."""
        values = {name: getattr(self, name) for name in (*_INTEGERS, "label_prefix")}
        pruned = {} if self.pruned is None else {_PRUNED: self.pruned}
        return values, {_NAMES: self.names, _OFFSETS: self.offsets, _COUNTS: self.counts, **pruned}

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
        if (
            len(offsets) < 1
            or offsets[0] != 0
            or offsets[-1] != len(self.names)
            or (np.diff(offsets) < 0).any()
        ):
            raise ValueError("the entries of its dictionary do not fit its names")
        if len(self.counts) != len(offsets) - 1:
            raise ValueError(
                f"its dictionary has {len(self.counts)} counts of {len(offsets) - 1} entries"
            )
        if not 0 <= self.n_words < len(offsets) <= 2**31 - 1:
            raise ValueError(
                f"its dictionary has {len(offsets) - 1} entries, of which {self.n_words} are words"
            )
        if max(self.word_ngrams, self.max_n) > MAX_LENGTH:
            raise ValueError(
                f"its n-grams have up to {max(self.word_ngrams, self.max_n)} words or characters"
            )
        if self.hashes_ngrams and not 1 <= self.bucket <= MAX_BUCKET:
            raise ValueError(f"it has n-grams, but {self.bucket} buckets for them")
        if self.pruned is not None and (self.pruned < 0).any():
            raise ValueError("a bucket that was kept has a negative number")
        if self.n_rows > n_rows:
            raise ValueError(
                f"texts can select {self.n_rows} rows of its input matrix, which has {n_rows}"
            )

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
            # Without a prefix: a space, which no word begins with
            np.frombuffer(self.label_prefix.encode() or b" ", np.uint8),
            subwords=np.empty(0, dtype=np.int32),
            subword_ends=np.empty(0, dtype=np.int64),
        )
        return with_subwords(tables)

    def entries(self, start: int, stop: int) -> list[str]:
        """Return some entries as text; bytes that are not UTF-8 become lone surrogates."""
        blob, ends = self.names.tobytes(), self.offsets.tolist()
        return [
            blob[ends[i] : ends[i + 1]].decode("utf-8", "surrogateescape")
            for i in range(start, stop)
        ]

    def __getstate__(self) -> dict[str, Any]:
        # The tables are left out: they are made anew in a moment.
        return {name: value for name, value in vars(self).items() if name != "tables"}


def _typed(
    arrays: dict[str, NDArray[Any]], name: str, dtype: Any, n_dimensions: int
) -> NDArray[Any]:
    """Return an array of a folder, which must have a type and a number of dimensions."""
    array = arrays[name]
    if array.dtype != dtype or array.ndim != n_dimensions:
        raise ValueError(f"the array {name!r} is of {array.dtype} with {array.ndim} dimensions")
    return np.ascontiguousarray(array)


def refuse_surrogates(index: int, text: str, *, first: int, caller: str) -> None:
    """Raise the error of a text that UTF-8 cannot encode."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{caller}: document {first + index} holds the lone surrogate {text[error.start]!r} at "
            f"position {error.start}, which UTF-8 cannot encode. Repair it with "
            "text.encode('utf-8', 'replace').decode('utf-8')."
        ) from error
