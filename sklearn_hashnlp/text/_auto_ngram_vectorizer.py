"""AutoNgramVectorizer: hashed n-grams of words, and of characters where they help."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.base import TransformerMixin

from sklearn_hashnlp._sklearn import BaseEstimator, Interval, fit_context
from sklearn_hashnlp._text_marks import BEGIN, CHARACTER_WEIGHT, END, TOKENS
from sklearn_hashnlp.text._documents import as_documents, plain_text
from sklearn_hashnlp.text._hashing_ngram_vectorizer import HashingNgramVectorizer

ChosenFeatures: TypeAlias = Literal["words", "words+characters"]

_MANY_TEXTS = 20_000  # with more, word n-grams are known well enough
_MANY_CHARACTERS = 8_000_000  # in all texts together: n-grams of characters take ten times as long as those of words
_SAMPLE, _SAMPLE_CHARACTERS = 2048, 500_000  # at most, that the share of unseen words is estimated on
_MANY_UNSEEN = 0.25


class AutoNgramVectorizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    r"""Convert texts to a matrix of hashed n-grams: of words, and of characters where these help.

    ``fit`` looks at the number and the length of the texts, and at how many of their words are new, to decide whether
    to count n-grams of characters too; ``features_`` is the decision. Nothing else is learned: a vectorizer that was
    not fitted counts n-grams of words.

    Parameters
    ----------
    n_features : int, default=2**30
        Number of columns: the first half for words, the second half for characters. The default is for
        :class:`~sklearn_hashnlp.classifiers.HashEmbeddingClassifier`. Estimators that store a number per column, such
        as ``LogisticRegression`` or ``SelectKBest``, would take gigabytes: set ``2**18`` for them.
    lowercase : bool, default=True
        Whether to convert texts to lowercase first.
    ngram_range : (int, int), default=(1, 2)
        Minimal and maximal number of words of an n-gram.
    n_jobs : int or None, default=None
        Number of threads; None is one and -1 is one per processor. The matrix does not depend on it.

    Attributes
    ----------
    features_ : {"words", "words+characters"}
        What is counted. Both for fewer than 20,000 texts of at most 8 million characters altogether. For more, both if
        at least a quarter of the words are new, as in lists of names, in texts of many languages or without spaces
        between words; else only words.
    unseen_share_ : float
        Share of the words in one half of a sample of the texts that do not occur in its other half.

    See Also
    --------
    HashingNgramVectorizer : The counts of one kind of n-grams.
    sklearn_hashnlp.classifiers.make_text_classifier : The classifier that this is made for.

    Notes
    -----
    Words are tokens of the pattern ``\w+|[^\w\s]``, which keeps punctuation, between a token that begins the text and
    one that ends it: the first and the last word tell much about a question or an utterance. Characters are n-grams of
    2 to 5 characters within words, with half the weight. A count c has the value ``1 + log(c)`` (scikit-learn's
    ``sublinear_tf``): a word that is repeated ten times is not ten times as important.

    Examples
    --------
    >>> from sklearn_hashnlp.text import AutoNgramVectorizer
    >>> vectorizer = AutoNgramVectorizer()
    >>> vectorizer.transform(["to be or not to be"]).nnz  # 6 words, 2 tokens around them, and bigrams
    12
    >>> X = vectorizer.fit_transform(["to be or not to be", "that is the question"])
    >>> vectorizer.features_, X.shape
    ('words+characters', (2, 1073741824))

    A classifier with a weight per column needs fewer columns:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> model = make_pipeline(AutoNgramVectorizer(n_features=2**18), LogisticRegression())
    >>> model = model.fit(["to be or not to be", "that is the question"], ["verb", "noun"])
    >>> model[-1].coef_.shape
    (1, 262144)
    """

    features_: ChosenFeatures
    unseen_share_: float
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features": [Interval(Integral, 2, 2**31 - 2, closed="both")],
        "lowercase": ["boolean"],
        "ngram_range": [tuple],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        *,
        n_features: int = 2**30,
        lowercase: bool = True,
        ngram_range: tuple[int, int] = (1, 2),
        n_jobs: int | None = None,
    ) -> None:
        self.n_features = n_features
        self.lowercase = lowercase
        self.ngram_range = ngram_range
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Iterable[str], y: Any = None) -> Self:
        """Choose what to count.

        Parameters
        ----------
        X : iterable of str of length n_texts
            The texts.
        y : object, default=None
            Ignored.

        Returns
        -------
        self : AutoNgramVectorizer
            The fitted vectorizer.

        Raises
        ------
        ValueError
            If a parameter is not as described, or ``X`` is a single text or no column of texts.
        TypeError
            If a document is no text. The message names its index.
        """
        texts = list(as_documents(X, caller=type(self).__name__))
        self._words(self.n_features).fit(texts)  # checks the range of n-grams
        for position, text in enumerate([] if set(map(type, texts)) <= {str, bytes} else texts):
            if not isinstance(text, bytes):
                plain_text(text, position=position, caller=type(self).__name__, wanted="bytes or str")
        n_characters = sum(map(len, texts))
        n_sampled = min(_SAMPLE, _SAMPLE_CHARACTERS * len(texts) // max(1, n_characters))
        self.unseen_share_ = self._unseen_share(texts[:: max(1, len(texts) // max(1, n_sampled))])
        is_small = len(texts) < _MANY_TEXTS and n_characters <= _MANY_CHARACTERS
        self.features_ = "words+characters" if is_small or self.unseen_share_ >= _MANY_UNSEEN else "words"
        return self

    def fit_transform(self, X: Iterable[str], y: Any = None) -> csr_matrix:
        """Choose what to count, and count it.

        Parameters
        ----------
        X : iterable of str of length n_texts
            The texts.
        y : object, default=None
            Ignored.

        Returns
        -------
        csr_matrix of shape (n_texts, n_features)
            The values, as ``transform`` returns them.
        """
        texts = list(as_documents(X, caller=type(self).__name__))
        return self.fit(texts, y).transform(texts)

    def transform(self, X: Iterable[str]) -> csr_matrix:
        """Count the n-grams of texts.

        Parameters
        ----------
        X : iterable of str of length n_texts
            The texts.

        Returns
        -------
        csr_matrix of shape (n_texts, n_features), dtype float32
            The values: ``1 + log(count)``, those of characters times 0.5.

        Raises
        ------
        TypeError
            If a document is no text.
        ValueError
            If ``X`` is a single text or no column of texts, or a text cannot be encoded as UTF-8.
        """
        texts: Iterable[Any] = as_documents(X, caller=type(self).__name__)
        features = getattr(self, "features_", "words")
        if features == "words":
            words = _damped(self._words(self.n_features // 2).transform(_marked(texts)))
            words.resize(words.shape[0], self.n_features)  # as with characters, whose columns are empty here
            return words
        texts = list(texts)
        words = _damped(self._words(self.n_features // 2).transform(_marked(texts)))
        characters = _damped(self._characters(self.n_features // 2).transform(texts))
        characters.data *= np.float32(CHARACTER_WEIGHT)
        rows = hstack([words, characters], format="csr")
        rows.resize(rows.shape[0], self.n_features)  # an odd number
        return rows

    def _unseen_share(self, sample: list[Any]) -> float:
        """Return the share of the words in every second text that none of the other texts has."""
        if len(sample) < 2:
            return 1.0
        words = self._words(self.n_features // 2, ngram_range=(1, 1)).transform(sample)
        seen, others = np.unique(words[::2].indices), words[1::2]
        known = np.isin(others.indices, seen)
        total = float(others.data.sum(dtype=np.float64))
        return float(others.data[~known].sum(dtype=np.float64)) / total if total else 1.0

    def _words(self, n_features: int, ngram_range: tuple[int, int] | None = None) -> HashingNgramVectorizer:
        ngram_range = self.ngram_range if ngram_range is None else ngram_range
        return self._vectorizer(n_features, token_pattern=TOKENS, ngram_range=ngram_range)

    def _characters(self, n_features: int) -> HashingNgramVectorizer:
        return self._vectorizer(n_features, analyzer="char_wb", ngram_range=(2, 5))

    def _vectorizer(self, n_features: int, **options: Any) -> HashingNgramVectorizer:
        return HashingNgramVectorizer(
            lowercase=self.lowercase,
            n_features=n_features,
            alternate_sign=False,  # signs cancel collisions, which are rare with so many columns
            norm=None,
            dtype=np.float32,
            n_jobs=self.n_jobs,
            **options,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        if not hasattr(self, "features_"):
            return {}, {}
        return {"features": self.features_, "unseen_share": self.unseen_share_}, {}

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        if "features" not in values:
            return
        if values["features"] not in ("words", "words+characters"):
            raise ValueError(f"An AutoNgramVectorizer cannot have the features {values['features']!r}.")
        self.features_, self.unseen_share_ = values["features"], float(values["unseen_share"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags


def _marked(texts: Iterable[Any]) -> Iterator[Any]:
    """Put a token before and one after each text; what is no text is left to the vectorizer, which refuses it."""
    for text in texts:
        if type(text) is str:
            yield f"{BEGIN}{text}{END}"
        elif isinstance(text, bytes):
            yield f"{BEGIN}{text.decode('utf-8')}{END}"
        else:
            yield f"{BEGIN}{str.__str__(text)}{END}" if isinstance(text, str) else text


def _damped(counts: csr_matrix) -> csr_matrix:
    """Replace counts by one plus their logarithms."""
    repeated = np.flatnonzero(counts.data > 1)
    values, inverse = np.unique(counts.data[repeated], return_inverse=True)
    # By the standard library: numpy's logarithm has other last bits on some processors.
    logarithms = np.array([1 + math.log(value) for value in values.tolist()], dtype=np.float32)
    counts.data[repeated] = logarithms[inverse]
    return counts
