"""Counts of the most frequent word n-grams, selected in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp._sklearn import Interval, Options, StrOptions, fit_context
from sklearn_hashnlp._threads import effective_n_jobs
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.ngrams._fingerprints import (
    find_fingerprints,
    fingerprint_ngrams,
    fingerprint_slots,
)
from sklearn_hashnlp.kernels.strings._units import Texts
from sklearn_hashnlp.text._count_ngrams import WORD_PATTERNS, check_ngram_range
from sklearn_hashnlp.text._documents import (
    WORD_CHUNK,
    as_documents,
    encoder,
    in_chunks,
    pack,
    plain_texts,
)
from sklearn_hashnlp.text._most_frequent import most_frequent
from sklearn_hashnlp.text._ngram_spec import NgramSpec
from sklearn_hashnlp.text._text_vectorizer import TextVectorizer

_MIN_CHUNK = 2**14
_BYTES_PER_THREAD = 2**24  # a chunk of texts, its words and their fingerprints


class FrequentNgramVectorizer(TextVectorizer):
    r"""Count the most frequent word n-grams of the training texts.

    It selects the same n-grams as ``CountVectorizer(max_features=n)`` of scikit-learn, but stores
    neither the strings nor the counts of other n-grams: n-grams are identified by a 64-bit hash,
    and the texts are read several times, depending on ``max_memory``.

    Parameters
    ----------
    max_features : int, default=10**6
        Maximum number of n-grams in the dictionary.
    ngram_range : tuple (min_n, max_n), default=(1, 1)
        The minimum and the maximum n, both inclusive.
    token_pattern : str, default=r"(?u)\\b\\w\\w+\\b"
        Regular expression of a word, one of the compiled ones: ``\b\w\w+\b``, ``\w\w+``,
        ``\b\w+\b``, ``\w+``, ``\w+|[^\w\s]``, ``\S+`` and ``\S\S+``, with or without ``(?u)``.
    lowercase : bool, default=True
        Whether to convert texts to lowercase first.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        The type of the values.
    max_memory : int, default=2**31
        Maximum memory of ``fit`` in bytes, excluding the texts. With less memory ``fit`` needs more
        passes over the texts, each about as long as a ``transform``, but at most 64; texts with
        more than a few hundred thousand words need more memory.
    n_jobs : int or None, default=None
        The number of threads; None is 1 and -1 is the number of cores. The results do not depend on
        it.

    Attributes
    ----------
    fingerprints_ : ndarray of shape (n_features,), dtype uint64
        The hash of the n-gram of each column.
    counts_ : ndarray of shape (n_features,), dtype int64
        The count of the n-gram of each column in the training texts, in descending order; ties are
        sorted by hash. So the first n columns are the dictionary of ``max_features=n``.
    slots_ : ndarray of int32
        The hash table of ``fingerprints_``.

    See Also
    --------
    HashingNgramVectorizer : Counts without a dictionary; the column is a hash of up to 31 bits.

    Notes
    -----
    There is no ``get_feature_names_out``, since n-grams are only stored as hashes. Among n-grams of
    equal count, ``CountVectorizer`` may select others.

    The hash is specified in ``sklearn_hashnlp/kernels/ngrams/_fingerprints.py``. Of N distinct
    n-grams in the training texts, two or more have the same 64-bit hash with a probability of about
    ``N**2 / 2**65``: one in 37 for N = 10**9. Of V distinct words of five to eight bytes in UTF-8,
    it is about ``V**2 / 2**52.8``, one in 7,600 for V = 10**6. The hash has no secret key, so
    colliding texts can be constructed.

    References
    ----------
    .. [1] Svenstrup, Hansen & Winther (2017). Hash embeddings for efficient word representations.
           NIPS: the experiments with a dictionary.

    Examples
    --------
    >>> from sklearn_hashnlp.text import FrequentNgramVectorizer
    >>> vectorizer = FrequentNgramVectorizer(max_features=3, ngram_range=(1, 2))
    >>> X = vectorizer.fit_transform(["to be or not to be", "to be is to do"])
    >>> vectorizer.counts_.tolist()  # "to", then "be" and "to be"
    [4, 3, 3]
    >>> X.toarray().tolist()
    [[2.0, 2.0, 2.0], [2.0, 1.0, 1.0]]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "max_features": [Interval(Integral, 1, np.iinfo(np.int32).max, closed="left")],
        "ngram_range": [tuple, list],
        "token_pattern": [StrOptions(set(WORD_PATTERNS))],
        "lowercase": ["boolean"],
        "dtype": [Options(type, {np.float32, np.float64})],
        "max_memory": [Interval(Integral, 1, 2**63 - 1, closed="both")],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        *,
        max_features: int = 10**6,
        ngram_range: tuple[int, int] = (1, 1),
        token_pattern: str = r"(?u)\b\w\w+\b",
        lowercase: bool = True,
        dtype: type[np.floating[Any]] = np.float32,
        max_memory: int = 2**31,
        n_jobs: int | None = None,
    ) -> None:
        self.max_features = max_features
        self.ngram_range = ngram_range
        self.token_pattern = token_pattern
        self.lowercase = lowercase
        self.dtype = dtype
        self.max_memory = max_memory
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Build the dictionary of the most frequent n-grams.

        Parameters
        ----------
        X : iterable of str
            The texts, which are read several times; a generator is converted to a list first.
        y : Ignored

        Returns
        -------
        self : FrequentNgramVectorizer
        """
        min_n, max_n = check_ngram_range(self.ngram_range, caller=type(self).__name__)
        texts = list(as_documents(X, caller=type(self).__name__))
        n_threads = effective_n_jobs(self.n_jobs)
        n_characters = max(WORD_CHUNK // (max_n - min_n + 1), _MIN_CHUNK)
        fingerprints, counts = most_frequent(
            lambda: in_chunks(texts, n_characters=n_characters),
            lambda part: self._fingerprints(*part, n_characters=n_characters),
            max_results=int(self.max_features),
            max_memory=int(self.max_memory) - n_threads * _BYTES_PER_THREAD,
            n_threads=n_threads,
        )
        if len(fingerprints) == 0:
            raise ValueError(
                f"{type(self).__name__}: none of the {len(texts)} texts has an n-gram. Check the "
                f"texts, ngram_range={self.ngram_range!r} and token_pattern={self.token_pattern!r}."
            )
        self.fingerprints_, self.counts_ = fingerprints, counts
        self.slots_ = fingerprint_slots(fingerprints)
        return self

    def _specs(self) -> list[NgramSpec]:
        check_is_fitted(self)
        return [
            NgramSpec(
                scheme="fingerprint",
                n_features=len(self.fingerprints_),
                token_pattern=self.token_pattern,
                lowercase=bool(self.lowercase),
                decode=None,
                ngram_range=check_ngram_range(self.ngram_range, caller=type(self).__name__),
                dtype=np.dtype(self.dtype).name,
            )
        ]

    def _fingerprints(
        self, first: int, chunk: list[Any], *, n_characters: int
    ) -> Iterator[NDArray[np.uint64]]:
        plain = plain_texts(chunk, first=first, caller=type(self).__name__)
        # Words are identified by their bytes, valid or not: surrogates are not checked.
        encode = encoder(plain, preprocess=str.lower if self.lowercase else None)
        for texts in pack(
            plain, encode, lowercase=bool(self.lowercase), max_characters=2 * n_characters
        ):
            yield self._fingerprint(texts).values

    def _fingerprint(self, texts: Texts) -> Ragged:
        min_n, max_n = (int(n) for n in self.ngram_range)
        return fingerprint_ngrams(WORD_PATTERNS[self.token_pattern].tokenize(texts), (min_n, max_n))

    def _hash_texts(self, texts: Texts) -> Ragged:
        return find_fingerprints(self._fingerprint(texts), self.fingerprints_, self.slots_)

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the fitted state without the hash table, which is computed again."""
        return {}, {"fingerprints": self.fingerprints_, "counts": self.counts_}

    def _set_model_state(self, _values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Restore the state from :meth:`_get_model_state`."""
        fingerprints, counts = arrays["fingerprints"], arrays["counts"]
        if (
            fingerprints.dtype != np.uint64
            or fingerprints.ndim != 1
            or fingerprints.shape != counts.shape
        ):
            raise ValueError(
                "A dictionary must be an array of 64-bit hashes and one of as many counts, got "
                f"arrays of {fingerprints.dtype}{fingerprints.shape} and "
                f"{counts.dtype}{counts.shape}."
            )
        self.fingerprints_, self.counts_ = fingerprints, counts
        self.slots_ = fingerprint_slots(fingerprints)
