"""count_ngrams: texts to a sparse matrix, by specifications of n-grams."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain, islice
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import HashingVectorizer

from sklearn_hashnlp._sklearn import in_configured_sparse_interface
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.ngrams._hash_ngrams import hash_ngrams
from sklearn_hashnlp.kernels.strings._units import Texts, Units, WordSet, character_units, word_character_units
from sklearn_hashnlp.text._documents import as_documents, plain_texts, surrogate_error
from sklearn_hashnlp.text._hashed_counts import hashed_counts
from sklearn_hashnlp.text._ngram_spec import NgramSpec
from sklearn_hashnlp.text._specs_of import as_scikit_learn
from sklearn_hashnlp.text._token_patterns import WORD_PATTERNS


def count_ngrams(
    texts: Iterable[Any],
    specs: Sequence[NgramSpec],
    n_jobs: int | None = None,
    *,
    caller: str = "count_ngrams",
    hash_texts: Callable[[Texts], Ragged] | None = None,
) -> Any:
    """Count the n-grams of texts: the columns of each specification, side by side, as CSR.

    The hashes are those of ``hash_texts``, which a scheme with arrays needs; by default they follow from ``specs``.
    """
    documents = as_documents(texts, caller=caller)
    documents = documents if len(specs) == 1 else list(documents)
    parts = [_count(documents, spec, n_jobs, caller, hash_texts) for spec in specs]
    return parts[0] if len(parts) == 1 else hstack(parts, format="csr")


@lru_cache(maxsize=16)
def hash_function(spec: NgramSpec) -> Callable[[Texts], Ragged] | None:
    """Return the kernels that hash the n-grams of a specification; None if its token pattern has no kernel."""
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
    else:
        rows = hashed_counts(documents, spec, hash_texts=hash_texts, n_jobs=n_jobs, caller=caller)
    if spec.damped:
        _damp(rows)
    if spec.weight != 1:
        rows.data *= rows.dtype.type(spec.weight)
    if spec.padding:
        rows.resize(rows.shape[0], spec.n_features + spec.padding)
    return rows


def count_by_scikit_learn(
    vectorizer: HashingVectorizer, documents: Iterable[Any], *, decode: tuple[str, str] | None = None, caller: str
) -> Any:
    """Count the n-grams of documents that no kernel finds; decoded first, if ``decode`` is not None."""
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


def _damp(counts: Any) -> None:
    """Replace counts by one plus their logarithms."""
    repeated = np.flatnonzero(counts.data > 1)
    values, inverse = np.unique(counts.data[repeated], return_inverse=True)
    # By the standard library: numpy's logarithm has other last bits on some processors.
    logarithms = np.array([1 + math.log(value) for value in values.tolist()], dtype=counts.dtype)
    counts.data[repeated] = logarithms[inverse]
