"""count_ngrams: convert texts to a sparse matrix by n-gram specifications."""

from __future__ import annotations

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
from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.ngrams._count_ngrams import L1, L2, NO_NORM, new_rows
from sklearn_hashnlp.kernels.strings._units import (
    CHARACTERS,
    WORD_CHARACTERS,
    WORDS,
    Texts,
    Units,
    WordSet,
    classes_for,
    word_units,
)
from sklearn_hashnlp.text._documents import (
    CHARACTER_CHUNK,
    WORD_CHUNK,
    as_documents,
    check_encodable,
    encoder,
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
    # whether a character that is neither ``\w`` nor ``\s`` is a token
    keep_punctuation: bool = False
    split_punctuation: bool = True  # if False, words only end at ``\s``

    def tokenize(self, texts: Texts) -> Units:
        """Split texts into words."""
        return word_units(texts, **self._asdict())


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

    ``hash_texts`` computes the hashes for schemes with arrays; by default they follow from
    ``specs``.
    """
    documents = as_documents(texts, caller=caller)
    documents = documents if len(specs) == 1 else list(documents)
    parts = [_count(documents, spec, n_jobs, caller, hash_texts) for spec in specs]
    return parts[0] if len(parts) == 1 else hstack(parts, format="csr")


def text_counters(
    specs: Sequence[NgramSpec],
) -> tuple[list[Any], list[Callable[[str], bytes]], list[int]] | None:
    """Return counters of texts, encoders and numbers of columns; None if kernels do not suffice."""
    widths = [spec.n_features + spec.padding for spec in specs]
    if sum(widths) > _MAX_COLUMNS or not all(map(_counts_alone, specs)):
        return None
    return (
        [ngram_counter(spec) for spec in specs],
        [partial(_encode, spec) for spec in specs],
        widths,
    )


def _counts_alone(spec: NgramSpec) -> bool:
    """Return whether a kernel counts texts, with values that no check of rows would rescale."""
    has_usual_weight = spec.weight == 0 or 1e-6 <= abs(spec.weight) <= 1e6
    return (
        spec.scheme == "murmur3"
        and spec.dtype == "float32"
        and has_kernel(spec)
        and has_usual_weight
    )


def _encode(spec: NgramSpec, text: str) -> bytes:
    """Preprocess and encode a text that is not ASCII."""
    begin, end = spec.around
    document, preprocess = f"{begin}{text}{end}", _preprocessor(spec)
    return (document if preprocess is None else preprocess(document)).encode()


_DTYPES: dict[str, type[np.floating[Any]]] = {"float32": np.float32, "float64": np.float64}
_MAX_COLUMNS = _MAX_N = 2**31 - 1  # of indices of 32 bits


def has_kernel(spec: NgramSpec) -> bool:
    """Return whether texts are split by a kernel, not by a regular expression."""
    return spec.analyzer in ("char", "char_wb") or spec.token_pattern in WORD_PATTERNS


@lru_cache(maxsize=16)
def ngram_counter(spec: NgramSpec) -> _native.NgramCounter:
    """Return the native counter of the n-grams of a specification."""
    pattern = WORD_PATTERNS.get(spec.token_pattern or "", WordPattern(1))
    before, after = "<>" if spec.analyzer == "word_chars" else "  "
    stop_words = WordSet.of(frozenset(spec.stop_words))
    begin, end = spec.around
    min_n, max_n = (min(n, _MAX_N) for n in spec.ngram_range)
    return _native.NgramCounter(
        analyzer={"word": WORDS, "char": CHARACTERS}.get(spec.analyzer, WORD_CHARACTERS),
        classes=classes_for(pattern.split_punctuation and spec.analyzer in ("word", "word_chars")),
        lowercase=spec.lowercase,
        min_length=pattern.min_length,
        keep_punctuation=pattern.keep_punctuation,
        before=ord(before),
        after=ord(after),
        slots=stop_words.slots,
        stop_words=stop_words.words.values,
        stop_offsets=stop_words.words.offsets,
        begin=begin.encode(),
        end=end.encode(),
        reads_ascii=f"{begin}{end}".isascii(),
        min_n=min_n,
        max_n=max_n,
        short_whole=spec.analyzer == "char_wb",
        options=count_options(spec),
        owner=stop_words,
    )


def count_options(spec: NgramSpec) -> _native.CountOptions:
    """Return how hashes are counted."""
    norm = NORMS[spec.norm]
    return _native.CountOptions(
        spec.n_features, spec.alternate_sign, spec.binary, norm, spec.damped, spec.weight
    )


def _count(
    documents: Iterable[Any],
    spec: NgramSpec,
    n_jobs: int | None,
    caller: str,
    hash_texts: Callable[[Texts], Ragged] | None,
) -> Any:
    if spec.scheme != "murmur3" and hash_texts is None:
        raise ValueError(
            f"{caller}: columns of the scheme {spec.scheme!r} need the vectorizer with their "
            "arrays."
        )
    if hash_texts is None and not has_kernel(spec):
        begin, end = spec.around
        texts = (f"{begin}{text}{end}" for text in _read(documents, spec.decode, caller))
        rows = count_by_scikit_learn(as_scikit_learn(spec), texts, caller=caller)
        if spec.damped:
            counts = np.maximum(rows.data, 1, dtype=np.float64)
            logarithms = np.empty_like(counts)
            _native.log_of_positive(counts, logarithms)
            rows.data[:] = np.where(rows.data > 1, 1 + logarithms, rows.data)
        if spec.weight != 1:
            rows.data *= rows.dtype.type(spec.weight)
    else:
        rows = hashed_counts(documents, spec, hash_texts=hash_texts, n_jobs=n_jobs, caller=caller)
    if spec.padding:
        rows.resize(rows.shape[0], spec.n_features + spec.padding)
    return rows


def count_by_scikit_learn(
    vectorizer: HashingVectorizer,
    documents: Iterable[Any],
    *,
    decode: tuple[str, str] | None = None,
    caller: str,
) -> Any:
    """Count the n-grams of documents without a kernel; ``decode`` is the encoding of bytes."""
    iterator = iter(documents if decode is None else _read(documents, decode, caller))
    leading = list(islice(iterator, 1))
    if not leading:
        return in_configured_sparse_interface(
            csr_matrix((0, vectorizer.n_features), dtype=vectorizer.dtype)
        )
    position = 0

    def counted_documents() -> Iterator[Any]:
        nonlocal position
        # the position of an error
        for position, document in enumerate(chain(leading, iterator)):  # noqa: B007
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

AppendRows: TypeAlias = Callable[[Any, int, list[Any]], None]
"""Appends to native rows those of a chunk of documents, given the index of the first."""


def hashed_counts(
    documents: Iterable[Any],
    spec: NgramSpec,
    *,
    hash_texts: Callable[[Texts], Ragged] | None,
    n_jobs: int | None,
    caller: str,
) -> Any:
    """Read, hash and count documents in chunks, on ``n_jobs`` threads."""
    n_characters = WORD_CHUNK if spec.analyzer == "word" else CHARACTER_CHUNK
    counter = ngram_counter(spec)
    options = count_options(spec)
    preprocess = _preprocessor(spec)

    def append_rows(rows: Any, first: int, chunk: list[Any]) -> None:
        texts = plain_texts(chunk, first=first, caller=caller, decode=spec.decode)
        encode = encoder(
            texts,
            around=spec.around,
            preprocess=preprocess,
            check_surrogates=lambda index, text: _check_surrogates(
                spec, text, first + index, caller
            ),
        )
        if hash_texts is None:
            rows.append_texts(texts, counter, encode)
            return
        limit = 2 * n_characters
        for packed in pack(
            texts, encode, around=spec.around, lowercase=spec.lowercase, max_characters=limit
        ):
            rows.append_hashes(*hash_texts(packed), options)

    return sparse_matrix(
        in_chunks(documents, n_characters=n_characters),
        append_rows,
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
    # Checked anywhere in the text: n-grams depend on the length of a word.
    elif spec.analyzer == "word_chars":
        check_encodable(text.split(), position=position, caller=caller)
    elif spec.scheme == "murmur3":  # other schemes identify words by any bytes
        check_encodable(
            as_scikit_learn(spec).build_analyzer()(text), position=position, caller=caller
        )


def sparse_matrix(
    chunks: Iterable[tuple[int, list[Any]]],
    append_rows: AppendRows,
    *,
    n_documents: int | None,
    n_features: int,
    dtype: type[np.floating[Any]],
    n_jobs: int | None,
) -> Any:
    """Append the rows of all chunks to one matrix."""
    rows = new_rows(dtype)
    chunks = iter(chunks)
    leading = list(islice(chunks, 1 if n_jobs == 1 else 2))
    chunks = chain(leading, chunks)
    # For few texts, finding the number of processors takes as long as the rest.
    if (len(leading) < 2 and n_jobs != 0) or effective_n_jobs(n_jobs) == 1:
        for first, chunk in chunks:
            append_rows(rows, first, chunk)
            rows.plan(n_documents or 0)
    else:
        _append_in_threads(rows, chunks, append_rows, n_documents, dtype, effective_n_jobs(n_jobs))
    indices, data, ends = rows.release()
    matrix = csr_matrix((data, indices, row_pointers(ends)), shape=(len(ends) - 1, n_features))
    matrix.has_canonical_format = True
    return in_configured_sparse_interface(matrix)


def row_pointers(ends: NDArray[np.int64]) -> NDArray[np.int32] | NDArray[np.int64]:
    """Return row offsets, as int64 only if int32 is too small, since scipy's indices follow."""
    return ends if ends[-1] > np.iinfo(np.int32).max else ends.astype(np.int32)


def _append_in_threads(
    rows: Any,
    chunks: Iterable[tuple[int, list[Any]]],
    append_rows: AppendRows,
    n_documents: int | None,
    dtype: type[np.floating[Any]],
    n_threads: int,
) -> None:
    """Make rows on several threads; each one appends its own in the order of the chunks."""
    turns = _Turns()
    parts: list[Any] = []  # memory that is used again

    def work(turn_and_chunk: tuple[int, tuple[int, list[Any]]]) -> None:
        turn, (first, chunk) = turn_and_chunk
        try:
            part = parts.pop()
        except IndexError:
            part = new_rows(dtype)
        try:
            append_rows(part, first, chunk)
            with turns.in_turn(turn) as is_allowed:
                if is_allowed:
                    rows.append(part)
                    rows.plan(n_documents or 0)
        except BaseException:
            turns.abort()
            raise
        part.clear()
        parts.append(part)

    for _ in map_in_background(work, enumerate(chunks), n_threads):
        pass


class _Turns:
    """Let threads append in the order of their chunks."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._next = 0
        self._aborted = False

    @contextmanager
    def in_turn(self, turn: int) -> Iterator[bool]:
        """Wait until all earlier chunks are appended, and yield True, or False if one failed."""
        with self._changed:
            self._changed.wait_for(lambda: self._next == turn or self._aborted)
            yield not self._aborted
            self._next += 1
            self._changed.notify_all()

    def abort(self) -> None:
        """Release all waiting threads after an error."""
        with self._changed:
            self._aborted = True
            self._changed.notify_all()
