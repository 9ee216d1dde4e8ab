"""The rows of fastText's input matrix that a text selects: words, character n-grams and word n-grams."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled, inlined, inner
from sklearn_hashnlp.kernels._intrinsics import in_huge_pages, prefetch_row
from sklearn_hashnlp.kernels._ragged import Ragged

END_OF_LINE = b"</s>"
"""The token that fastText adds to each line; one inside a line ends it."""

_END = np.frombuffer(END_OF_LINE, dtype=np.uint8)
_OFFSET_BASIS, _PRIME = np.uint32(2166136261), np.uint32(16777619)  # of FNV-1a in 32 bits
_NGRAM_FACTOR = np.uint64(116049371)
_MAX_SUBWORDS = 2**26  # of all words, 256 MB; more are found in each text again
_SPREAD = np.uint32(0x9E3779B1)
_BEGIN_OF_WORD, _END_OF_WORD = np.uint8(ord("<")), np.uint8(ord(">"))


class FastTextTables(NamedTuple):
    """A dictionary of fastText, and how n-grams become rows."""

    names: NDArray[np.uint8]  # the bytes of all entries, end to end: words, then labels
    offsets: NDArray[np.int64]  # (n_entries + 1,): where each begins
    slots: NDArray[np.int32]  # (a power of two, 2): the hash table of the entries; entry or -1, and hash
    pruned: NDArray[np.int32]  # (a power of two, 2): that of the kept buckets; bucket or -1, and its new number
    n_words: int
    n_pruned: int  # kept buckets, or -1 where all are
    bucket: int
    word_ngrams: int
    min_n: int  # of character n-grams, as max_n
    max_n: int
    label_prefix: NDArray[np.uint8]
    subwords: NDArray[np.int32]  # the rows of the character n-grams of all words, end to end
    subword_ends: NDArray[np.int64]  # (n_words + 1,): where those of each begin; (0,) if they are not kept


def with_subwords(tables: FastTextTables) -> FastTextTables:
    """Find the character n-grams of all words of the dictionary, if there are any, and not too many to keep."""
    n_characters = len(tables.names) + 2 * tables.n_words
    if tables.max_n <= 0 or n_characters * (tables.max_n - tables.min_n + 1) > _MAX_SUBWORDS:
        return tables
    ends = np.zeros(tables.n_words + 1, dtype=np.int64)
    return tables._replace(subwords=_find_subwords(tables, ends), subword_ends=ends)


@compiled
def hash_table(names: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
    """Build the hash table of entries; of equal ones the last is found."""
    slots = _empty_table(len(offsets) - 1)
    for entry in range(len(offsets) - 1):
        start, stop = offsets[entry], offsets[entry + 1]
        state = _hash_span(names, start, stop)
        slot = _find_entry(names, offsets, slots, names, start, stop, state)
        slots[slot, 0] = entry
        slots[slot, 1] = np.int32(state)
    return slots


@compiled
def bucket_table(pairs: NDArray[np.int32]) -> NDArray[np.int32]:  # (n_pairs, 2)
    """Build the hash table from kept buckets to their new numbers; of equal buckets the last is found."""
    slots = _empty_table(len(pairs))
    for i in range(len(pairs)):
        slot = _find_bucket(slots, pairs[i, 0])
        slots[slot, 0], slots[slot, 1] = pairs[i, 0], pairs[i, 1]
    return slots


@inner
def _empty_table(n_entries: Number) -> NDArray[np.int32]:
    n_slots = 2
    while n_slots <= 2 * n_entries:
        n_slots *= 2
    slots = in_huge_pages(np.empty((n_slots, 2), np.int32))
    slots[:] = -1
    return slots


@inlined
def _is_blank(byte: Number) -> Number:
    r"""Return whether a byte separates tokens: a space, one of \t \n \v \f \r, or NUL."""
    return (byte == 32) | ((byte >= 9) & (byte <= 13)) | (byte == 0)


@inlined
def _mix(state: Number, byte: Number) -> Number:
    """Update FNV-1a with a byte, which counts as signed."""
    return np.uint32((state ^ np.uint32(np.int8(byte))) * _PRIME)


@inner
def _hash_span(text: NDArray[np.uint8], start: Number, stop: Number) -> Number:
    state = _OFFSET_BASIS
    for at in range(start, stop):
        state = _mix(state, text[at])
    return state


@inner
def _find_entry(
    names: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    slots: NDArray[np.int32],
    text: NDArray[np.uint8],
    start: Number,
    stop: Number,
    state: Number,
) -> Number:
    """Return the slot of a token: that of its entry, or the empty one where it would be."""
    mask = np.uint32(len(slots) - 1)
    slot = np.uint32(state & mask)
    signed = np.int32(state)
    while True:
        entry = slots[slot, 0]
        if entry < 0:
            return slot
        if slots[slot, 1] == signed and offsets[entry + 1] - offsets[entry] == stop - start:
            at = offsets[entry]
            same = True
            for i in range(stop - start):
                if names[at + i] != text[start + i]:
                    same = False
                    break
            if same:
                return slot
        slot = np.uint32((slot + np.uint32(1)) & mask)


@inner
def _find_bucket(slots: NDArray[np.int32], bucket: Number) -> Number:
    """Return the slot of a kept bucket, or the empty one where it would be."""
    mask = np.uint32(len(slots) - 1)
    mixed = np.uint32(np.uint32(bucket) * _SPREAD)
    slot = np.uint32((mixed ^ (mixed >> np.uint32(15))) & mask)
    while slots[slot, 0] >= 0 and slots[slot, 0] != bucket:
        slot = np.uint32((slot + np.uint32(1)) & mask)
    return slot


@inner
def _grown(values: NDArray[np.int32]) -> NDArray[np.int32]:
    larger = np.empty(2 * len(values), dtype=np.int32)
    larger[: len(values)] = values
    return larger


@inner
def _row_of_bucket(pruned: NDArray[np.int32], n_pruned: Number, n_words: Number, bucket: Number) -> Number:
    if n_pruned < 0:
        return np.int32(n_words + bucket)
    kept = pruned[_find_bucket(pruned, np.int32(bucket)), 1]
    return np.int32(n_words + kept) if kept >= 0 else np.int32(-1)


@inlined
def _byte_of_word(text: NDArray[np.uint8], start: Number, length: Number, at: Number) -> Number:
    """Return a byte of a token between ``<`` and ``>``, of which ``length`` is the whole length."""
    return _BEGIN_OF_WORD if at == 0 else (_END_OF_WORD if at == length - 1 else text[start + at - 1])


@inner
def _add_subwords(
    tables: FastTextTables,
    text: NDArray[np.uint8],
    start: Number,
    stop: Number,
    rows: NDArray[np.int32],
    n_rows: Number,
) -> tuple[NDArray[np.int32], Number]:
    """Append the rows of the character n-grams of a token."""
    length = stop - start + 2
    for begin in range(length):
        if (_byte_of_word(text, start, length, begin) & 0xC0) == 0x80:  # inside a character
            continue
        state = _OFFSET_BASIS
        at, n = begin, 1
        while at < length and n <= tables.max_n:
            state = _mix(state, _byte_of_word(text, start, length, at))
            at += 1
            while at < length and (_byte_of_word(text, start, length, at) & 0xC0) == 0x80:
                state = _mix(state, _byte_of_word(text, start, length, at))
                at += 1
            if n >= tables.min_n and not (n == 1 and (begin == 0 or at == length)):
                row = _row_of_bucket(tables.pruned, tables.n_pruned, tables.n_words, state % np.uint32(tables.bucket))
                if row >= 0:
                    if n_rows == len(rows):
                        rows = _grown(rows)
                    rows[n_rows] = row
                    n_rows += 1
            n += 1
    return rows, n_rows


@inner
def _starts_with(text: NDArray[np.uint8], start: Number, stop: Number, prefix: NDArray[np.uint8]) -> Number:
    if stop - start < len(prefix):
        return False
    same: Number = True
    for i in range(len(prefix)):
        same &= text[start + i] == prefix[i]
    return same


@compiled
def _find_subwords(tables: FastTextTables, ends: NDArray[np.int64]) -> NDArray[np.int32]:
    rows, n_rows = np.empty(1024, dtype=np.int32), 0
    for word in range(tables.n_words):
        start, stop = tables.offsets[word], tables.offsets[word + 1]
        if stop - start != len(_END) or not _starts_with(tables.names, start, stop, _END):
            rows, n_rows = _add_subwords(tables, tables.names, start, stop, rows, n_rows)
        ends[word + 1] = n_rows
    return rows[:n_rows].copy()


@inner
def _add_word_ngrams(
    tables: FastTextTables, hashes: NDArray[np.int32], n_hashes: Number, rows: NDArray[np.int32], n_rows: Number
) -> tuple[NDArray[np.int32], Number]:
    """Append the rows of the n-grams of words, whose hashes count as signed."""
    bucket = np.uint64(tables.bucket)
    for first in range(n_hashes):
        state = np.uint64(np.int64(hashes[first]))
        for last in range(first + 1, min(n_hashes, first + tables.word_ngrams)):
            state = state * _NGRAM_FACTOR + np.uint64(np.int64(hashes[last]))
            row = _row_of_bucket(tables.pruned, tables.n_pruned, tables.n_words, state % bucket)
            if row >= 0:
                if n_rows == len(rows):
                    rows = _grown(rows)
                rows[n_rows] = row
                n_rows += 1
    return rows, n_rows


@compiled
def _split(
    slots: NDArray[np.int32],
    text: NDArray[np.uint8],
    at: Number,
    stop: Number,
    spans: NDArray[np.int64],
    hashes: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int32], Number]:
    """Return where tokens begin and end, their hashes and their number; a token that ends the line is left out."""
    mask = np.uint32(len(slots) - 1)
    n = 0
    at, stop = np.uint64(at), np.uint64(stop)  # unsigned indices spare the loops a test for negative ones
    while True:
        while at < stop and _is_blank(text[at]):
            at += np.uint64(1)
        start = at
        state = _OFFSET_BASIS
        while at < stop and not _is_blank(text[at]):
            state = _mix(state, text[at])
            at += np.uint64(1)
        if start == stop or (at - start == len(_END) and _starts_with(text, start, at, _END)):
            return spans, hashes, n
        if n == len(hashes):
            hashes = _grown(hashes)
            larger = np.empty((len(hashes), 2), dtype=np.int64)
            larger[:n] = spans
            spans = larger
        spans[n, 0], spans[n, 1], hashes[n] = start, at, np.int32(state)
        prefetch_row(slots, np.int64(state & mask))
        n += 1


@compiled
def fasttext_rows(
    tables: FastTextTables,
    text: NDArray[np.uint8],  # documents, each with a byte after it
    offsets: NDArray[np.int64],  # (n_documents + 1,): where each begins
    end_of_line: bool,  # whether its token counts in all documents; False: only in those that have no other token
) -> Ragged:  # of int32
    """Find the rows of documents, in the order and as often as fastText adds them up."""
    ends = np.zeros(len(offsets), dtype=np.int64)
    rows, n_rows = np.empty(1024, dtype=np.int32), 0
    spans, hashes = np.empty((256, 2), dtype=np.int64), np.empty(256, dtype=np.int32)
    end_state = _hash_span(_END, 0, len(_END))
    slot = _find_entry(tables.names, tables.offsets, tables.slots, _END, 0, len(_END), end_state)
    end_entry = tables.slots[slot, 0]
    for document in range(len(offsets) - 1):
        spans, hashes, n_tokens = _split(
            tables.slots, text, offsets[document], offsets[document + 1] - 1, spans, hashes
        )
        n_hashes = 0
        for token in range(n_tokens):
            start, stop, state = spans[token, 0], spans[token, 1], hashes[token]
            slot = _find_entry(tables.names, tables.offsets, tables.slots, text, start, stop, np.uint32(state))
            entry = tables.slots[slot, 0]
            if entry >= tables.n_words or (entry < 0 and _starts_with(text, start, stop, tables.label_prefix)):
                continue  # a label
            hashes[n_hashes] = state
            n_hashes += 1
            if entry >= 0:
                if n_rows == len(rows):
                    rows = _grown(rows)
                rows[n_rows] = entry
                n_rows += 1
            if entry >= 0 and len(tables.subword_ends) > 0:
                subwords = tables.subwords[tables.subword_ends[entry] : tables.subword_ends[entry + 1]]
                while n_rows + len(subwords) > len(rows):
                    rows = _grown(rows)
                for i in range(len(subwords)):
                    rows[n_rows + i] = subwords[i]
                n_rows += len(subwords)
            elif tables.max_n > 0:
                rows, n_rows = _add_subwords(tables, text, start, stop, rows, n_rows)
        if (end_of_line or n_tokens == 0) and end_entry < tables.n_words:
            if n_hashes == len(hashes):
                hashes = _grown(hashes)
                spans = np.empty((len(hashes), 2), dtype=np.int64)
            hashes[n_hashes] = np.int32(end_state)
            n_hashes += 1
            if end_entry >= 0:
                if n_rows == len(rows):
                    rows = _grown(rows)
                rows[n_rows] = end_entry
                n_rows += 1
        if tables.word_ngrams > 1:
            rows, n_rows = _add_word_ngrams(tables, hashes, n_hashes, rows, n_rows)
        ends[document + 1] = n_rows
    return Ragged(rows[:n_rows], ends)
