"""Counts of hashed character n-grams of words: the features of self-governing neural networks."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import TransformerMixin

from sklearn_hashnlp._sklearn import MAX_INTEGER, BaseEstimator, Interval, Options, StrOptions, fit_context
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.ngrams._hash_ngrams import hash_ngrams, hash_skipgrams
from sklearn_hashnlp.kernels.strings._units import Texts, word_character_units, word_units
from sklearn_hashnlp.text._documents import CHARACTER_CHUNK, as_documents, check_column, check_encodable, plain_texts
from sklearn_hashnlp.text._hashed_counts import hashed_counts
from sklearn_hashnlp.text._token_patterns import check_ngram_range


class CharNgramFeaturizer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[misc, call-arg]  # scikit-learn has no types
    r"""Convert texts to counts of hashed character n-grams of their words, without fitting.

    Each text is split into words, each word is enclosed in the boundary symbols ``<`` and ``>``, and its character
    n-grams are counted: "hi" has ``<``, ``h``, ``i``, ``>``, ``<h``, ``hi``, ``i>``, ``<hi`` and ``hi>``. The symbols
    distinguish prefixes and suffixes from the middle of a word. Characters are code points, not bytes. A list of single
    words gives one row for each word.

    Parameters
    ----------
    ngram_range : tuple (min_n, max_n), default=(1, 3)
        The minimum and the maximum n, both inclusive.
    analyzer : {'char', 'skipgram'}, default='char'
        What is counted: character n-grams of words with boundary symbols, or skip-grams of words without them: n words
        in order, with at most ``max_skip`` words skipped between the first and the last, joined by a space.
    max_skip : int, default=2
        The maximum number of words that a skip-gram skips. Only for ``analyzer='skipgram'``.
    split : {'whitespace', 'punctuation'}, default='whitespace'
        Where words end: at whitespace alone, or also around each character that is neither ``\w`` nor ``\s``, which is
        then a word of its own.
    lowercase : bool, default=False
        Whether to convert texts to lowercase first. By default not: uppercase distinguishes names and emphasis.
    n_features : int, default=2**20
        The number of columns, 1 to 2**31 - 1.
    binary : bool, default=False
        Whether all nonzero counts are set to 1.
    norm : {'l1', 'l2'} or None, default=None
        The norm to which each row is scaled.
    alternate_sign : bool, default=False
        Whether half of the n-grams count as -1, depending on their hash.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float64
        The type of the values.
    n_jobs : int or None, default=None
        The number of threads; None is 1 and -1 is the number of cores. The matrix does not depend on it.

    See Also
    --------
    HashingNgramVectorizer : Counts of hashed n-grams, as in scikit-learn.

    Notes
    -----
    The paper says "skip-grams" but not of what. Its public reimplementation counts character n-grams, the default here;
    skip-grams of words are the other interpretation.

    The column of an n-gram is ``abs(h) % n_features`` with h its MurmurHash3_x86_32 of seed 0, over UTF-8, as in
    :class:`HashingNgramVectorizer`.

    References
    ----------
    S. Ravi and Z. Kozareva, "Self-governing neural networks for on-device short text classification", EMNLP 2018,
    section 2.

    Examples
    --------
    >>> from sklearn_hashnlp.text import CharNgramFeaturizer
    >>> X = CharNgramFeaturizer().transform(["hi", "hi hi", ""])
    >>> X.shape, X.sum(axis=1).ravel().tolist()
    ((3, 1048576), [[9.0, 18.0, 0.0]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "ngram_range": [tuple, list],
        "analyzer": [StrOptions({"char", "skipgram"})],
        "max_skip": [Interval(Integral, 0, MAX_INTEGER, closed="both")],
        "split": [StrOptions({"whitespace", "punctuation"})],
        "lowercase": ["boolean"],
        "n_features": [Interval(Integral, 1, np.iinfo(np.int32).max, closed="both")],
        "binary": ["boolean"],
        "norm": [StrOptions({"l1", "l2"}), None],
        "alternate_sign": ["boolean"],
        "dtype": [Options(type, {np.float32, np.float64})],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        *,
        ngram_range: tuple[int, int] = (1, 3),
        analyzer: Literal["char", "skipgram"] = "char",
        max_skip: int = 2,
        split: Literal["whitespace", "punctuation"] = "whitespace",
        lowercase: bool = False,
        n_features: int = 2**20,
        binary: bool = False,
        norm: Literal["l1", "l2"] | None = None,
        alternate_sign: bool = False,
        dtype: type[np.floating[Any]] = np.float64,
        n_jobs: int | None = None,
    ) -> None:
        self.ngram_range = ngram_range
        self.analyzer = analyzer
        self.max_skip = max_skip
        self.split = split
        self.lowercase = lowercase
        self.n_features = n_features
        self.binary = binary
        self.norm = norm
        self.alternate_sign = alternate_sign
        self.dtype = dtype
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Check the parameters; the transformer is stateless.

        Parameters
        ----------
        X : iterable of str
            The texts. They are not read.
        y : any
            Ignored.

        Returns
        -------
        self : CharNgramFeaturizer
            The estimator itself.

        Raises
        ------
        ValueError
            If ``X`` is a single string or a table, or a parameter is invalid.
        """
        if X is not None:
            check_column(X, caller=type(self).__name__)
        check_ngram_range(self.ngram_range, caller=type(self).__name__)
        return self

    def transform(self, X: Any) -> Any:
        """Count the hashed n-grams of each text.

        Parameters
        ----------
        X : iterable of str
            The texts: a list, tuple or generator, a numpy array, a column of pandas, polars or Arrow.

        Returns
        -------
        sparse matrix of shape (n_texts, n_features)
            The counts, CSR with sorted columns.

        Raises
        ------
        ValueError
            If ``X`` is a single string or a table, a text is NaN or holds a lone surrogate, or a parameter is
            invalid.
        TypeError
            If a text is not a ``str``. The message names its index.
        """
        self._validate_params()
        check_ngram_range(self.ngram_range, caller=type(self).__name__)
        caller = type(self).__name__
        documents = as_documents(X, caller=caller)

        return hashed_counts(
            documents,
            read=lambda chunk, first: plain_texts(chunk, first=first, caller=caller),
            preprocess=str.lower if self.lowercase else None,
            # Anywhere in a text: whether it is in an n-gram depends on the length of a word.
            check_surrogates=lambda text, position: check_encodable(text.split(), position=position, caller=caller),
            hash_texts=self._hash,
            n_characters=CHARACTER_CHUNK,
            lowercase=self.lowercase,
            n_features=self.n_features,
            alternate_sign=self.alternate_sign,
            binary=self.binary,
            norm=self.norm,
            dtype=self.dtype,
            n_jobs=self.n_jobs,
        )

    def _hash(self, texts: Texts) -> Ragged:
        min_n, max_n = (int(n) for n in self.ngram_range)
        split_punctuation = self.split == "punctuation"
        if self.analyzer == "skipgram":
            words = word_units(texts, split_punctuation=split_punctuation)
            return hash_skipgrams(words, (min_n, max_n), max_skip=int(self.max_skip))
        characters = word_character_units(texts, before="<", after=">", split_punctuation=split_punctuation)
        return hash_ngrams(characters, (min_n, max_n))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags
