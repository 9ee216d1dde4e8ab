"""FastTextVectorizer: counts of fastText's words and n-grams."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp._sklearn import (
    MAX_INTEGER,
    Interval,
    Options,
    fit_context,
    in_configured_sparse_interface,
)
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.ngrams._count_ngrams import count_hashes
from sklearn_hashnlp.kernels.ngrams._fasttext_rows import END_OF_LINE, fasttext_rows
from sklearn_hashnlp.kernels.strings._units import Texts
from sklearn_hashnlp.text._documents import WORD_CHUNK, as_documents, in_chunks, plain_texts
from sklearn_hashnlp.text._fasttext_dictionary import (
    LABEL_PREFIX,
    MAX_BUCKET,
    MAX_LENGTH,
    FastTextDictionary,
    refuse_surrogates,
)
from sklearn_hashnlp.text._ngram_spec import NgramSpec
from sklearn_hashnlp.text._text_vectorizer import TextVectorizer

_BLANK = re.compile(r"[ \t\n\v\f\r\0]")  # the characters that separate words


class FastTextVectorizer(TextVectorizer):
    """Convert texts to counts of the words and hashed n-grams that fastText would train on.

    ``fit`` builds fastText's dictionary of words; each has a column, the most frequent first. Word
    n-grams and character n-grams are hashed to ``bucket`` further columns, by fastText's hash
    functions. :func:`~sklearn_hashnlp.classifiers.load_fasttext` returns the fitted vectorizer of a
    model of fastText. For a new classifier use :class:`HashingNgramVectorizer`, which needs no
    dictionary, or ``make_text_classifier``.

    Parameters
    ----------
    word_ngrams : int, default=1
        Maximal length of word n-grams (fastText's ``wordNgrams``), 1 to 1000.
    bucket : int, default=2_000_000
        Number of columns of n-grams, 1 to 2**31 - 1; none if there are no n-grams.
    min_n, max_n : int, default=0
        Minimal and maximal length of the character n-grams of ``<word>`` (``minn`` and ``maxn``);
        none if ``max_n`` is 0.
    min_count : int, default=1
        Words that occur less often in ``fit`` are not in the dictionary (``minCount``).
    label_prefix : str, default="__label__"
        Words that begin with it are labels in fastText's files, and are excluded.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        The type of the values.
    n_jobs : int or None, default=None
        The number of threads; None is 1 and -1 is the number of cores. The matrix does not depend
        on it.

    Attributes
    ----------
    n_words_ : int
        Number of words in the dictionary.
    n_features_ : int
        Number of columns.

    See Also
    --------
    HashingNgramVectorizer : Counts of hashed n-grams without a dictionary.
    sklearn_hashnlp.classifiers.load_fasttext : Load a model of fastText as a pipeline.

    Notes
    -----
    Words are separated by spaces, tabs, line breaks and NUL. They are not converted to lowercase
    and keep their punctuation. The token ``</s>`` is added to each text; a text that contains it
    ends there.

    References
    ----------
    .. [1] Joulin, Grave, Bojanowski & Mikolov (2017). Bag of tricks for efficient text
           classification. EACL, arXiv:1607.01759.
    .. [2] Bojanowski, Grave, Joulin & Mikolov (2017). Enriching word vectors with subword
           information. TACL, arXiv:1607.04606.

    Examples
    --------
    >>> from sklearn_hashnlp.text._fasttext_vectorizer import FastTextVectorizer
    >>> vectorizer = FastTextVectorizer().fit(["a pan and a pot", "a knife"])
    >>> vectorizer.words_
    ['a', '</s>', 'pan', 'and', 'pot', 'knife']
    >>> vectorizer.transform(["a knife and a fork"]).toarray()
    array([[2., 1., 0., 1., 0., 1.]], dtype=float32)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "word_ngrams": [Interval(Integral, 1, MAX_LENGTH, closed="both")],
        "bucket": [Interval(Integral, 1, MAX_BUCKET, closed="both")],
        "min_n": [Interval(Integral, 0, MAX_LENGTH, closed="both")],
        "max_n": [Interval(Integral, 0, MAX_LENGTH, closed="both")],
        "min_count": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "label_prefix": [str],
        "dtype": [Options(type, {np.float32, np.float64})],
        "n_jobs": [Integral, None],
    }
    _dictionary: FastTextDictionary

    def __init__(
        self,
        *,
        word_ngrams: int = 1,
        bucket: int = 2_000_000,
        min_n: int = 0,
        max_n: int = 0,
        min_count: int = 1,
        label_prefix: str = LABEL_PREFIX,
        dtype: type[np.floating[Any]] = np.float32,
        n_jobs: int | None = None,
    ) -> None:
        self.word_ngrams = word_ngrams
        self.bucket = bucket
        self.min_n = min_n
        self.max_n = max_n
        self.min_count = min_count
        self.label_prefix = label_prefix
        self.dtype = dtype
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Build the dictionary.

        Parameters
        ----------
        X : iterable of str
        y : Ignored

        Returns
        -------
        self : FastTextVectorizer
        """
        caller = type(self).__name__
        counts: Counter[bytes] = Counter()
        for first, chunk in in_chunks(as_documents(X, caller=caller), n_characters=WORD_CHUNK):
            for index, text in enumerate(plain_texts(chunk, first=first, caller=caller)):
                counts.update(_words(text, index, first, caller))
        prefix = self.label_prefix.encode()
        words = {
            word: count
            for word, count in counts.most_common()
            if count >= self.min_count and not (prefix and word.startswith(prefix))
        }
        if not words:
            raise ValueError(
                f"{caller}: no word occurs {self.min_count} times. Check the texts and "
                f"min_count={self.min_count!r}."
            )
        dictionary = FastTextDictionary.of_entries(
            [*words],
            [*words.values()],
            len(words),
            bucket=int(self.bucket),
            word_ngrams=int(self.word_ngrams),
            min_n=int(self.min_n),
            max_n=int(self.max_n),
            label_prefix=self.label_prefix,
        )
        if dictionary.n_rows > MAX_BUCKET:
            raise ValueError(
                f"{caller}: {len(words)} words and bucket={self.bucket!r} are more than "
                f"{MAX_BUCKET} columns."
            )
        return self._set_dictionary(dictionary)

    def transform_words(self, words: Iterable[str]) -> Any:
        """Count the columns of single words: a word in the dictionary and its character n-grams.

        The mean of their vectors is fastText's ``get_word_vector``, see
        :meth:`HashEmbeddingClassifier.document_vectors
        <sklearn_hashnlp.classifiers.HashEmbeddingClassifier.document_vectors>`.

        Parameters
        ----------
        words : iterable of str
            Words without whitespace. Lone surrogates, as in ``words_``, stand for bytes that are
            not UTF-8.

        Returns
        -------
        sparse matrix of shape (n_words, n_features)
            The counts, CSR with sorted columns. In contrast to ``transform``, ``</s>`` is not
            added.
        """
        check_is_fitted(self)
        caller = f"{type(self).__name__}.transform_words"
        if isinstance(words, str):
            raise ValueError(
                f"{caller} takes a list of words, got a single string. Wrap it in a list: [word]."
            )
        words = list(words)
        for word in words:
            if not isinstance(word, str) or not word or _BLANK.search(word):
                raise ValueError(
                    f"{caller} takes words without whitespace, got {word!r}. Use transform for "
                    "texts."
                )
        encoded = [word.encode("utf-8", "surrogateescape") + b" " for word in words]
        text, offsets = (
            np.frombuffer(b"".join(encoded), np.uint8),
            np.cumsum([0, *map(len, encoded)], dtype=np.int64),
        )
        tables = self._dictionary.tables._replace(word_ngrams=1)
        rows = fasttext_rows(tables, text, offsets, False)
        dtype = np.dtype(self.dtype).type
        columns, counts, indptr = count_hashes(rows, n_features=self.n_features_, dtype=dtype)
        matrix = csr_matrix((counts, columns, indptr), shape=(len(words), self.n_features_))
        return in_configured_sparse_interface(matrix)

    @property
    def words_(self) -> list[str]:
        """The dictionary's words in column order, with lone surrogates for bytes not in UTF-8."""
        check_is_fitted(self)
        return self._dictionary.entries(0, self.n_words_)

    def _specs(self) -> list[NgramSpec]:
        check_is_fitted(self)
        ngram_range, dtype = (1, int(self._dictionary.word_ngrams)), np.dtype(self.dtype).name
        n_features = int(self.n_features_)
        return [
            NgramSpec(
                scheme="fasttext",
                n_features=n_features,
                decode=None,
                ngram_range=ngram_range,
                dtype=dtype,
            )
        ]

    def _hash_texts(self, texts: Texts) -> Ragged:
        return fasttext_rows(self._dictionary.tables, *texts.rows, True)

    def _set_dictionary(self, dictionary: FastTextDictionary) -> Self:
        self._dictionary = dictionary
        self.n_words_, self.n_features_ = dictionary.n_words, dictionary.n_rows
        _ = dictionary.tables  # made once, not by each thread
        return self

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return self._dictionary.to_state()

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self._set_dictionary(FastTextDictionary.from_state(values, arrays))


def _words(text: str, index: int, first: int, caller: str) -> list[bytes]:
    """Return the words of a text, and the end-of-line token."""
    try:
        words = text.encode().replace(b"\0", b" ").split()
    except UnicodeEncodeError:
        refuse_surrogates(index, text, first=first, caller=caller)
        raise
    end = words.index(END_OF_LINE) if END_OF_LINE in words else len(words)
    return [*words[:end], END_OF_LINE]
