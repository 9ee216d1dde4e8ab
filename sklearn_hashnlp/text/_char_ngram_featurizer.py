"""Counts of hashed character n-grams of words: the features of self-governing neural networks."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np

from sklearn_hashnlp._sklearn import MAX_INTEGER, Interval, Options, StrOptions, fit_context
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.ngrams._count_ngrams import hash_skipgrams
from sklearn_hashnlp.kernels.strings._units import Texts, word_units
from sklearn_hashnlp.text._count_ngrams import TOKENS, check_ngram_range
from sklearn_hashnlp.text._documents import check_column
from sklearn_hashnlp.text._ngram_spec import NgramSpec, cached_spec
from sklearn_hashnlp.text._text_vectorizer import TextVectorizer


class CharNgramFeaturizer(TextVectorizer):
    r"""Convert texts to counts of hashed character n-grams of their words, without fitting.

    Each text is split into words, each word is enclosed in the boundary symbols ``<`` and ``>``,
    and its character n-grams are counted: "hi" has ``<``, ``h``, ``i``, ``>``, ``<h``, ``hi``,
    ``i>``, ``<hi`` and ``hi>``. The symbols distinguish prefixes and suffixes from the middle of a
    word. Characters are code points, not bytes.

    Parameters
    ----------
    ngram_range : tuple (min_n, max_n), default=(1, 3)
        The minimum and the maximum n, both inclusive.
    analyzer : {'char', 'skipgram'}, default='char'
        The n-grams to count: character n-grams of words with boundary symbols, or skip-grams of
        words without them: n words in order, joined by a space, with at most ``max_skip`` words
        skipped between the first and the last.
    max_skip : int, default=2
        The maximum number of words that a skip-gram skips.
    split : {'whitespace', 'punctuation'}, default='whitespace'
        Where words end: at whitespace only, or also around each character that is neither ``\w``
        nor ``\s``, which becomes a separate word.
    lowercase : bool, default=False
        Whether to convert texts to lowercase first. Uppercase distinguishes names and emphasis.
    n_features, binary, norm, alternate_sign, dtype, n_jobs
        As in :class:`HashingNgramVectorizer`.

    Notes
    -----
    The paper [1]_ counts "skip-grams" without specifying them. Its public reimplementation counts
    character n-grams, the default here; skip-grams of words are the other interpretation.

    References
    ----------
    .. [1] Ravi & Kozareva (2018). Self-governing neural networks for on-device short text
           classification. EMNLP, section 2.

    Examples
    --------
    >>> from sklearn_hashnlp.text import CharNgramFeaturizer
    >>> X = CharNgramFeaturizer().transform(["hi", "hi hi", ""])
    >>> X.shape, X.sum(axis=1).ravel().tolist()
    ((3, 1048576), [[9.0, 18.0, 0.0]])
    """

    _requires_fit = False
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
        """Check the parameters; the transformer is stateless."""
        if X is not None:
            check_column(X, caller=type(self).__name__)
        check_ngram_range(self.ngram_range, caller=type(self).__name__)
        return self

    def ngram_specs(self) -> list[NgramSpec]:
        """Return the specification in a list, or raise a ValueError for skip-grams."""
        if self.analyzer == "skipgram":
            raise ValueError(
                f"A {type(self).__name__} with analyzer='skipgram' has no n-gram specification."
            )
        return super().ngram_specs()

    def _specs(self) -> list[NgramSpec]:
        spec = cached_spec(
            *check_ngram_range(self.ngram_range, caller=type(self).__name__),
            n_features=int(self.n_features),
            analyzer="word_chars",
            token_pattern=r"\S+" if self.split == "whitespace" else TOKENS,
            lowercase=bool(self.lowercase),
            decode=None,
            alternate_sign=bool(self.alternate_sign),
            binary=bool(self.binary),
            norm=self.norm,
            dtype=np.dtype(self.dtype).name,
        )
        return [spec]

    @property
    def _hash_texts(self) -> Callable[[Texts], Ragged] | None:
        return self._hash_skipgrams if self.analyzer == "skipgram" else None

    def _hash_skipgrams(self, texts: Texts) -> Ragged:
        min_n, max_n = (int(n) for n in self.ngram_range)
        words = word_units(texts, split_punctuation=self.split == "punctuation")
        return hash_skipgrams(words, (min_n, max_n), max_skip=int(self.max_skip))
