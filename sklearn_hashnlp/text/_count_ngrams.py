"""count_ngrams: convert texts to a sparse matrix by n-gram specifications."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import chain, islice
from numbers import Integral
from threading import Condition
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import HashingVectorizer

from sklearn_hashnlp._sklearn import in_configured_sparse_interface
from sklearn_hashnlp._threads import effective_n_jobs, map_in_background
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.ngrams._count_ngrams import L1, L2, NO_NORM, Rows, count_hashes
from sklearn_hashnlp.kernels.ngrams._hash_ngrams import hash_ngrams
from sklearn_hashnlp.kernels.strings._units import (
    Texts,
    Units,
    WordSet,
    character_units,
    word_character_units,
    word_units,
)
from sklearn_hashnlp.text._documents import (
    CHARACTER_CHUNK,
    WORD_CHUNK,
    as_documents,
    check_encodable,
    in_chunks,
    pack,
    plain_texts,
    surrogate_error,
)
from sklearn_hashnlp.text._fasttext_dictionary import refuse_surrogates
from sklearn_hashnlp.text._ngram_spec import NgramSpec
from sklearn_hashnlp.text._specs_of import as_scikit_learn

TOKENS = r"\w+|[^\w\s]"
"""The token pattern that keeps punctuation."""


class WordPattern(NamedTuple):
    """The arguments of the tokenizer for one token pattern."""

    min_length: int  # in characters
    keep_punctuation: bool = False  # whether a character that is neither ``\w`` nor ``\s`` is a token
    split_punctuation: bool = True  # if False, words only end at ``\s``

    def tokenize(self, texts: Texts, stop_words: WordSet | None = None) -> Units:
        """Split texts into words, without stop words."""
        return word_units(texts, **self._asdict(), stop_words=stop_words)


WORD_PATTERNS = {
    flag + pattern: arguments
    for flag in ("", "(?u)")
    for pattern, arguments in {
        r"\b\w\w+\b": WordPattern(2),
        r"\w\w+": WordPattern(2),
        r"\b\w+\b": WordPattern(1),
        r"\w+": WordPattern(1),
        TOKENS: WordPattern(1, keep_punctuation=True),
        r"\S+": WordPattern(1, split_punctuation=False),
        r"\S\S+": WordPattern(2, split_punctuation=False),
    }.items()
}
"""The token patterns with a kernel."""


def check_ngram_range(ngram_range: Any, *, caller: str) -> tuple[int, int]:
    """Return ``(min_n, max_n)`` as int, or raise a ValueError."""
    if len(ngram_range) == 2 and all(isinstance(n, Integral) for n in ngram_range):
        min_n, max_n = ngram_range
        if 1 <= min_n <= max_n:
            return int(min_n), int(max_n)
    raise ValueError(
        f"The 'ngram_range' parameter of {caller} must be a pair (min_n, max_n) of integers with "
        f"1 <= min_n <= max_n. Got {ngram_range!r} instead."
    )


def count_ngrams(
    texts: Iterable[Any],
    specs: Sequence[NgramSpec],
    n_jobs: int | None = None,
    *,
    caller: str = "count_ngrams",
    hash_texts: Callable[[Texts], Ragged] | None = None,
) -> Any:
    """Count the n-grams of texts as CSR, with the columns of the specifications side by side.

    ``hash_texts`` computes the hashes for schemes with arrays; by default they follow from ``specs``.
    """
    documents = as_documents(texts, caller=caller)
    documents = documents if len(specs) == 1 else list(documents)
    parts = [_count(documents, spec, n_jobs, caller, hash_texts) for spec in specs]
    return parts[0] if len(parts) == 1 else hstack(parts, format="csr")


def count_text(text: str, specs: Sequence[NgramSpec]) -> tuple[NDArray[np.int32], NDArray[np.float32]] | None:
    """Return the columns and values of one text, equal to :func:`count_ngrams`; None if only that can count it."""
    first, indices, data = 0, [], []
    for spec in specs:
        hash_texts = hash_function(spec)
        if spec.scheme != "murmur3" or spec.dtype != "float32" or hash_texts is None:
            return None
        begin, end = spec.around
        document = f"{begin}{text}{end}\n"
        is_ascii = document.isascii()
        preprocess = None if is_ascii else _preprocessor(spec)
        try:
            encoded = bytearray((document if preprocess is None else preprocess(document)).encode())
        except UnicodeEncodeError:
            return None
        buffer = np.frombuffer(encoded, dtype=np.uint8)
        texts = Texts(Ragged(buffer, np.array([0, len(buffer)])), _IS_ASCII[is_ascii], spec.lowercase)
        rows = _count_hashes(hash_texts(texts), spec)
        indices.append(rows.indices + np.int32(first) if first else rows.indices)
        data.append(rows.data if spec.weight == 1 else rows.data * np.float32(spec.weight))
        first += spec.n_features + spec.padding
        if first > _MAX_COLUMNS:
            return None
    return (indices[0], data[0]) if len(specs) == 1 else (np.concatenate(indices), np.concatenate(data))


def _count_hashes(hashes: Ragged, spec: NgramSpec, allocate: Allocate | None = None) -> Rows:
    rows = count_hashes(
        hashes,
        n_features=spec.n_features,
        alternate_sign=spec.alternate_sign,
        binary=spec.binary,
        norm=NORMS[spec.norm],
        damped=spec.damped,
        dtype=_DTYPES[spec.dtype],
    )
    if allocate is None:
        return rows
    indices, data = allocate(len(rows.indices))
    indices[:], data[:] = rows.indices, rows.data
    return Rows(indices, data, rows.indptr)


Allocate: TypeAlias = Callable[[int], tuple[NDArray[np.int32], NDArray[Any]]]
_DTYPES: dict[str, type[np.floating[Any]]] = {"float32": np.float32, "float64": np.float64}
_MAX_COLUMNS = 2**31 - 1  # of indices of 32 bits
_IS_ASCII = {True: np.ones(1, dtype=np.bool_), False: np.zeros(1, dtype=np.bool_)}


@lru_cache(maxsize=16)
def hash_function(spec: NgramSpec) -> Callable[[Texts], Ragged] | None:
    """Return the kernels that hash the n-grams of a specification; None if there is no kernel for its token pattern."""
    units: Callable[[Texts], Units]
    pattern = WORD_PATTERNS.get(spec.token_pattern or "")
    if spec.analyzer == "char":
        units = character_units
    elif spec.analyzer == "char_wb":
        units = partial(word_character_units, before=" ", after=" ")
    elif pattern is None:
        return None
    elif spec.analyzer == "word_chars":
        units = partial(word_character_units, before="<", after=">", split_punctuation=pattern.split_punctuation)
    else:
        units = partial(pattern.tokenize, stop_words=WordSet.of(frozenset(spec.stop_words)))
    short_whole = spec.analyzer == "char_wb"
    return lambda texts: hash_ngrams(units(texts), spec.ngram_range, short_segments_whole=short_whole)


def _count(
    documents: Iterable[Any],
    spec: NgramSpec,
    n_jobs: int | None,
    caller: str,
    hash_texts: Callable[[Texts], Ragged] | None,
) -> Any:
    if spec.scheme != "murmur3" and hash_texts is None:
        raise ValueError(f"{caller}: columns of the scheme {spec.scheme!r} need the vectorizer with their arrays.")
    hash_texts = hash_texts or hash_function(spec)
    if hash_texts is None:
        begin, end = spec.around
        texts = (f"{begin}{text}{end}" for text in _read(documents, spec.decode, caller))
        rows = count_by_scikit_learn(as_scikit_learn(spec), texts, caller=caller)
        if spec.damped:
            rows.data[:] = [1 + math.log(count) if count > 1 else count for count in rows.data.tolist()]
    else:
        rows = hashed_counts(documents, spec, hash_texts=hash_texts, n_jobs=n_jobs, caller=caller)
    if spec.weight != 1:
        rows.data *= rows.dtype.type(spec.weight)
    if spec.padding:
        rows.resize(rows.shape[0], spec.n_features + spec.padding)
    return rows


def count_by_scikit_learn(
    vectorizer: HashingVectorizer, documents: Iterable[Any], *, decode: tuple[str, str] | None = None, caller: str
) -> Any:
    """Count the n-grams of documents without a kernel; ``decode`` is the encoding of bytes, if any."""
    iterator = iter(documents if decode is None else _read(documents, decode, caller))
    leading = list(islice(iterator, 1))
    if not leading:
        return in_configured_sparse_interface(csr_matrix((0, vectorizer.n_features), dtype=vectorizer.dtype))
    position = 0

    def counted_documents() -> Iterator[Any]:
        nonlocal position
        for position, document in enumerate(chain(leading, iterator)):  # noqa: B007 - the position of an error
            yield document

    try:
        return HashingVectorizer.transform(vectorizer, counted_documents())
    except OSError as error:
        error.add_note(f"{caller}: this happened at document {position}.")
        raise
    except UnicodeEncodeError as error:
        raise surrogate_error(caller, position, error) from error


def _read(documents: Iterable[Any], decode: tuple[str, str] | None, caller: str) -> Iterator[str]:
    for position, document in enumerate(documents):
        yield from plain_texts([document], first=position, caller=caller, decode=decode)


NORMS = {None: NO_NORM, "l1": L1, "l2": L2}

# Number of values allocated in advance; unwritten memory is not committed.
_MAX_SPARE = 2**25


MakeRows: TypeAlias = Callable[[int, list[Any], Allocate | None], Iterator[Rows]]


def hashed_counts(
    documents: Iterable[Any],
    spec: NgramSpec,
    *,
    hash_texts: Callable[[Texts], Ragged],
    n_jobs: int | None,
    caller: str,
) -> Any:
    """Read, pack, hash and count documents in chunks, on ``n_jobs`` threads."""
    n_characters = WORD_CHUNK if spec.analyzer == "word" else CHARACTER_CHUNK

    def make_rows(first: int, chunk: list[Any], allocate: Allocate | None) -> Iterator[Rows]:
        strings = plain_texts(chunk, first=first, caller=caller, decode=spec.decode)
        for texts in pack(
            strings,
            around=spec.around,
            lowercase=spec.lowercase,
            preprocess=_preprocessor(spec),
            check_surrogates=lambda index, text: _check_surrogates(spec, text, first + index, caller),
            max_characters=2 * n_characters,
        ):
            yield _count_hashes(hash_texts(texts), spec, allocate)

    return sparse_matrix(
        in_chunks(documents, n_characters=n_characters),
        make_rows,
        n_documents=len(documents) if isinstance(documents, Sequence) else None,
        n_features=spec.n_features,
        dtype=_DTYPES[spec.dtype],
        n_jobs=n_jobs,
    )


@lru_cache(maxsize=16)
def _preprocessor(spec: NgramSpec) -> Callable[[str], str] | None:
    is_plain = not spec.lowercase and spec.strip_accents is None
    return None if is_plain else as_scikit_learn(spec).build_preprocessor()


def _check_surrogates(spec: NgramSpec, text: str, position: int, caller: str) -> None:
    """Raise an error if UTF-8 cannot encode an n-gram of a text."""
    if spec.scheme == "fasttext":
        refuse_surrogates(position, text, first=0, caller=caller)
    elif spec.analyzer == "word_chars":  # anywhere in the text: n-grams depend on the length of a word
        check_encodable(text.split(), position=position, caller=caller)
    elif spec.scheme == "murmur3":  # other schemes identify words by any bytes
        check_encodable(as_scikit_learn(spec).build_analyzer()(text), position=position, caller=caller)


def sparse_matrix(
    chunks: Iterable[tuple[int, list[Any]]],
    make_rows: MakeRows,
    *,
    n_documents: int | None,
    n_features: int,
    dtype: type[np.floating[Any]],
    n_jobs: int | None,
) -> Any:
    """Stack the rows of all chunks into one matrix."""
    stack = _Stack(n_documents, dtype)
    chunks = iter(chunks)
    leading = list(islice(chunks, 1 if n_jobs == 1 else 2))
    chunks = chain(leading, chunks)
    # For few texts, finding the number of processors takes as long as the rest.
    if (len(leading) < 2 and n_jobs != 0) or effective_n_jobs(n_jobs) == 1:
        for first, chunk in chunks:
            for rows in make_rows(first, chunk, stack.allocate):
                stack.append_rows(rows)
    else:
        _fill_in_threads(stack, chunks, make_rows, effective_n_jobs(n_jobs))
    return in_configured_sparse_interface(stack.matrix(n_features))


class _Stack:
    """A matrix that grows by rows; kernels may write into its arrays directly."""

    def __init__(self, n_documents: int | None, dtype: type[np.floating[Any]]) -> None:
        self.n_documents = n_documents
        self.indices = np.empty(0, dtype=np.int32)
        self.data = np.empty(0, dtype=dtype)
        self.size = self.n_rows = 0
        self.row_ends = [np.zeros(1, dtype=np.int64)]

    def is_full(self, n_values: int) -> bool:
        """Return whether the arrays must grow for ``n_values`` more values."""
        return self.size + n_values > len(self.indices)

    def allocate(self, n_values: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """Return the arrays for the next values, grown if necessary."""
        end = self.size + n_values
        if self.is_full(n_values):
            # The expected size follows from the rows so far, but is limited, as the first documents may be the longest.
            per_row = end / (self.n_rows + 1)
            expected = 2 * end if self.n_documents is None or not self.n_rows else int(1.1 * per_row * self.n_documents)
            capacity = max(end, min(expected, end + max(end, _MAX_SPARE)))
            self.indices, self.data = (_grow(array, self.size, capacity) for array in (self.indices, self.data))
        return self.indices[self.size : end], self.data[self.size : end]

    def append_rows(self, rows: Rows) -> None:
        """Append rows with values in the arrays returned by :meth:`allocate`."""
        self.row_ends.append(rows.indptr[1:] + self.size)
        self.size += len(rows.indices)
        self.n_rows += len(rows.indptr) - 1

    def matrix(self, n_features: int) -> csr_matrix:
        """Return the matrix and free spare memory, if possible without a copy."""
        for array in (self.indices, self.data):
            array.resize(self.size, refcheck=False)  # remaining views are not used again
        matrix = csr_matrix((self.data, self.indices, self.indptr()), shape=(self.n_rows, n_features))
        matrix.has_canonical_format = True
        return matrix

    def indptr(self) -> NDArray[np.int32] | NDArray[np.int64]:
        """Return the row offsets; int64, which makes scipy's indices int64 as well, only if int32 is too small."""
        ends = np.concatenate(self.row_ends)
        return ends if self.size > np.iinfo(np.int32).max else ends.astype(np.int32)


def _grow(array: NDArray[Any], size: int, capacity: int) -> NDArray[Any]:
    larger = np.empty(capacity, dtype=array.dtype)
    larger[:size] = array[:size]
    return larger


def _fill_in_threads(
    stack: _Stack, chunks: Iterable[tuple[int, list[Any]]], make_rows: MakeRows, n_threads: int
) -> None:
    """Make rows on several threads; each thread copies its own rows into the matrix while they are in its cache."""
    turns = _Turns()

    def work(turn_and_chunk: tuple[int, tuple[int, list[Any]]]) -> None:
        turn, (first, chunk) = turn_and_chunk
        try:
            pieces = list(make_rows(first, chunk, None))
            with turns.in_turn(turn) as is_allowed:
                if not is_allowed:
                    return
                n_values = sum(len(rows.indices) for rows in pieces)
                if stack.is_full(n_values):
                    turns.wait_for_copies()
                indices, data = stack.allocate(n_values)
                for rows in pieces:
                    stack.append_rows(rows)
        except BaseException:
            turns.abort()
            raise
        np.concatenate([rows.indices for rows in pieces], out=indices)
        np.concatenate([rows.data for rows in pieces], out=data)
        turns.finish_copy()

    for _ in map_in_background(work, enumerate(chunks), n_threads):
        pass


class _Turns:
    """Let threads allocate in the order of their chunks, and copy concurrently."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._next = 0
        self._n_copying = 0
        self._aborted = False

    @contextmanager
    def in_turn(self, turn: int) -> Iterator[bool]:
        """Wait until all earlier chunks are allocated, and yield True, or False if one of them failed."""
        with self._changed:
            self._changed.wait_for(lambda: self._next == turn or self._aborted)
            is_allowed = not self._aborted
            yield is_allowed
            if is_allowed:
                self._next += 1
                self._n_copying += 1
                self._changed.notify_all()

    def wait_for_copies(self) -> None:
        """Wait until all copies are complete, before the arrays move."""
        self._changed.wait_for(lambda: self._n_copying == 0)

    def finish_copy(self) -> None:
        """Report that a copy is complete."""
        with self._changed:
            self._n_copying -= 1
            self._changed.notify_all()

    def abort(self) -> None:
        """Release all waiting threads after an error."""
        with self._changed:
            self._aborted = True
            self._changed.notify_all()
