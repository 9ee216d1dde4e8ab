"""The rows of fastText's input matrix for a text: words, character and word n-grams."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels._ragged import Ragged

END_OF_LINE = b"</s>"
"""The token that fastText adds to each line; one inside a line ends it."""

_MAX_SUBWORDS = 2**26  # of all words, 256 MB; more are found in each text again


class FastTextTables(NamedTuple):
    """A dictionary of fastText, and how n-grams become rows."""

    names: NDArray[np.uint8]  # the bytes of all entries, end to end: words, then labels
    offsets: NDArray[np.int64]  # (n_entries + 1,): where each begins
    # (a power of two, 2): the hash table of the entries; entry or -1, and hash
    slots: NDArray[np.int32]
    # (a power of two, 2): that of the kept buckets; bucket or -1, and its new number
    pruned: NDArray[np.int32]
    n_words: int
    n_pruned: int  # kept buckets, or -1 where all are
    bucket: int
    word_ngrams: int
    min_n: int  # of character n-grams, as max_n
    max_n: int
    label_prefix: NDArray[np.uint8]
    subwords: NDArray[np.int32]  # the rows of the character n-grams of all words, end to end
    # (n_words + 1,): where those of each begin; (0,) if they are not kept
    subword_ends: NDArray[np.int64]


def with_subwords(tables: FastTextTables) -> FastTextTables:
    """Find the character n-grams of all dictionary words, if there are any and not too many."""
    n_characters = len(tables.names) + 2 * tables.n_words
    if tables.max_n <= 0 or n_characters * (tables.max_n - tables.min_n + 1) > _MAX_SUBWORDS:
        return tables
    subwords, ends = _native.find_subwords(tables)
    return tables._replace(subwords=subwords, subword_ends=ends)


def hash_table(names: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
    """Build the hash table of entries; of equal ones the last is found."""
    return _native.hash_table(names, offsets).reshape(-1, 2)


def bucket_table(pairs: NDArray[np.int32]) -> NDArray[np.int32]:  # (n_pairs, 2)
    """Build the hash table from kept buckets to new numbers; the last of equal ones is found."""
    return _native.bucket_table(pairs).reshape(-1, 2)


def fasttext_rows(
    tables: FastTextTables,
    text: NDArray[np.uint8],  # documents, each with a byte after it
    offsets: NDArray[np.int64],  # (n_documents + 1,): where each begins
    # whether its token counts in all documents; False: only in those that have no other token
    end_of_line: bool,
) -> Ragged:  # of int32
    """Find the rows of documents, in the order and as often as fastText adds them up."""
    return Ragged(*_native.fasttext_rows(tables, text, offsets, end_of_line))
