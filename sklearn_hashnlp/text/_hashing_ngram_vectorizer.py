"""A compiled HashingVectorizer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

from sklearn_hashnlp._sklearn import Interval, validate_parameter_constraints
from sklearn_hashnlp.text._count_ngrams import count_by_scikit_learn, count_ngrams
from sklearn_hashnlp.text._documents import as_documents, check_column
from sklearn_hashnlp.text._ngram_spec import NgramSpec
from sklearn_hashnlp.text._specs_of import hashing_spec
from sklearn_hashnlp.text._text_vectorizer import TextVectorizer


class HashingNgramVectorizer(HashingVectorizer):  # type: ignore[misc]  # scikit-learn has no types
    r"""Convert documents to a matrix of hashed n-gram counts, as scikit-learn does, but faster.

    This is :class:`~sklearn.feature_extraction.text.HashingVectorizer` with the same parameters,
    defaults and results, so a model trained with one works with the other. Documents are packed
    into a buffer, then tokenized, hashed and counted by compiled kernels on several threads.

    Parameters
    ----------
    input : {'content', 'filename', 'file'}, default='content'
        Whether documents are texts, the names of files to read, or open files.
    encoding : str, default='utf-8'
        The encoding of documents that are bytes or files.
    decode_error : {'strict', 'ignore', 'replace'}, default='strict'
        How to handle bytes that are invalid in that encoding.
    strip_accents : {'ascii', 'unicode'}, callable or None, default=None
        How to remove accents in preprocessing.
    lowercase : bool, default=True
        Whether to convert documents to lowercase first.
    preprocessor : callable or None, default=None
        Replaces lowercasing and the removal of accents.
    tokenizer : callable or None, default=None
        Replaces ``token_pattern``.
    stop_words : 'english', list of str or None, default=None
        Words to remove before n-grams are formed; only for ``analyzer='word'``.
    token_pattern : str or None, default=r"(?u)\\b\\w\\w+\\b"
        Regular expression of a token; only for ``analyzer='word'``. ``r"\w+|[^\w\s]"`` keeps
        punctuation and single characters, which improves the accuracy on short texts by several
        points.
    ngram_range : tuple (min_n, max_n), default=(1, 1)
        The minimum and the maximum n, both inclusive.
    analyzer : {'word', 'char', 'char_wb'} or callable, default='word'
        The units of n-grams: words, characters, or characters within a word and the spaces around
        it.
    n_features : int, default=2**20
        The number of columns, 1 to 2**31 - 1.
    binary : bool, default=False
        Whether all nonzero counts are set to 1.
    norm : {'l1', 'l2'} or None, default='l2'
        The norm to which each row is scaled.
    alternate_sign : bool, default=True
        Whether half of the n-grams count as -1, depending on their hash.
    dtype : type, default=numpy.float64
        The type of the values.
    n_jobs : int or None, default=None
        The number of threads; None is 1 and -1 is the number of cores. The matrix does not depend
        on it.

    See Also
    --------
    CharNgramFeaturizer : Character n-grams of words with boundary symbols.
    HashEmbeddingClassifier : A classifier for rows with any number of columns.

    Notes
    -----
    The kernels support the three named analyzers with any ``ngram_range``, ``lowercase``,
    ``strip_accents``, ``stop_words``, ``binary``, ``norm`` and ``alternate_sign``, the token
    patterns ``\b\w\w+\b``, ``\b\w+\b``, ``\w+|[^\w\s]``, ``\S+`` and ``\S\S+``, and both
    floating-point types. For anything else, such as a callable, files or another pattern,
    scikit-learn's code is called on one thread.

    Three things differ from scikit-learn: ``n_features`` may be 2**31 - 1, an empty list gives a
    matrix without rows, and counts in float32 are correct beyond 2**24, where adding ones has no
    effect.

    References
    ----------
    K. Weinberger, A. Dasgupta, J. Langford, A. Smola and J. Attenberg, "Feature hashing for large
    scale multitask learning", ICML 2009. The hash is MurmurHash3_x86_32 with seed 0 of the UTF-8
    n-gram.

    Examples
    --------
    >>> from sklearn_hashnlp.text import HashingNgramVectorizer
    >>> vectorizer = HashingNgramVectorizer(
    ...     ngram_range=(1, 2), n_features=2**31 - 1, norm=None
    ... )
    >>> X = vectorizer.fit_transform(
    ...     ["to be or not to be", "that is the question"]
    ... )
    >>> X.shape
    (2, 2147483647)
    >>> sorted(abs(X[0].data).tolist())
    [1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **HashingVectorizer._parameter_constraints,
        "n_features": [Interval(Integral, 1, np.iinfo(np.int32).max, closed="both")],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        *,
        # scikit-learn's name
        input: Literal["content", "filename", "file"] = "content",  # noqa: A002
        encoding: str = "utf-8",
        decode_error: Literal["strict", "ignore", "replace"] = "strict",
        strip_accents: Literal["ascii", "unicode"] | Callable[[str], str] | None = None,
        lowercase: bool = True,
        preprocessor: Callable[[str], str] | None = None,
        tokenizer: Callable[[str], Sequence[str]] | None = None,
        stop_words: Literal["english"] | list[str] | None = None,
        token_pattern: str | None = r"(?u)\b\w\w+\b",
        ngram_range: tuple[int, int] = (1, 1),
        analyzer: Literal["word", "char", "char_wb"] | Callable[[Any], Iterable[str]] = "word",
        n_features: int = 2**20,
        binary: bool = False,
        norm: Literal["l1", "l2"] | None = "l2",
        alternate_sign: bool = True,
        dtype: Any = np.float64,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            input=input,
            encoding=encoding,
            decode_error=decode_error,
            strip_accents=strip_accents,
            lowercase=lowercase,
            preprocessor=preprocessor,
            tokenizer=tokenizer,
            stop_words=stop_words,
            token_pattern=token_pattern,
            ngram_range=ngram_range,
            analyzer=analyzer,
            n_features=n_features,
            binary=binary,
            norm=norm,
            alternate_sign=alternate_sign,
            dtype=dtype,
        )
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the parameters; the transformer is stateless."""
        if X is not None:
            check_column(X, caller=type(self).__name__)
        super().fit(X, y)
        return self

    def transform(self, X: Any) -> Any:
        """Count the hashed n-grams of each document.

        Parameters
        ----------
        X : iterable of str or bytes
            The documents; or file names or open files, depending on ``input``.

        Returns
        -------
        sparse matrix of shape (n_documents, n_features)
            CSR with sorted columns, equal to scikit-learn's.
        """
        caller = type(self).__name__
        documents = as_documents(X, caller=caller)
        # Without `fit`, scikit-learn checks nothing; invalid values of these would crash the
        # process or fail late.
        checked = ("n_features", "n_jobs")
        validate_parameter_constraints(
            {name: self._parameter_constraints[name] for name in checked},
            {name: getattr(self, name) for name in checked},
            caller_name=caller,
        )
        self._validate_ngram_range()
        self.build_analyzer()  # raises the warnings and errors of scikit-learn
        spec = None
        with suppress(ValueError):  # there is no specification
            spec = hashing_spec(self)
        if spec is not None:
            return count_ngrams(documents, [spec], self.n_jobs, caller=caller)
        is_code = (
            callable(self.analyzer)
            or self.preprocessor
            or type(self).decode is not HashingVectorizer.decode
        )
        decode = None if is_code or self.input != "content" else (self.encoding, self.decode_error)
        return count_by_scikit_learn(self, documents, decode=decode, caller=caller)

    ngram_specs = TextVectorizer.ngram_specs

    def _specs(self) -> list[NgramSpec]:
        return [hashing_spec(self)]
