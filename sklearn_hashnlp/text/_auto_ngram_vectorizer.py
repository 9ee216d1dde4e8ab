"""AutoNgramVectorizer: hashed n-grams of words, and of characters if they help."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from numbers import Integral
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np

from sklearn_hashnlp._sklearn import Interval, fit_context
from sklearn_hashnlp.text._choose_weight import choose_weight, encode_labels, sample_texts
from sklearn_hashnlp.text._count_ngrams import TOKENS, check_ngram_range, count_ngrams
from sklearn_hashnlp.text._documents import as_documents, plain_texts
from sklearn_hashnlp.text._ngram_spec import NgramSpec
from sklearn_hashnlp.text._text_vectorizer import TextVectorizer

ChosenFeatures: TypeAlias = Literal["words", "words+characters"]

_MANY_TEXTS = 20_000  # with more texts, word n-grams suffice
# Characters in all texts: n-grams of characters take ten times as long as those of words.
_MANY_CHARACTERS = 8_000_000
# maximum size of the sample for the share of unseen words
_SAMPLE, _SAMPLE_CHARACTERS = 2048, 500_000
_MANY_UNSEEN = 0.25
# n-grams of characters; letters in the sample
_RANGE = (2, 5)
_MANY_LETTERS = 120
_RANGE_OF_MANY_LETTERS = (1, 4)

# The weight of n-grams of characters relative to n-grams of words: the default first.
_WEIGHTS = (0.5, 0.25)
_MIN_TEXTS = 30  # to choose between the two

_BEGIN, _END = "\x02 ", " \x03"  # control characters are separate tokens that do not occur in texts


class AutoNgramVectorizer(TextVectorizer):
    r"""Convert texts to a matrix of hashed n-grams of words and, if they help, of characters.

    ``fit`` decides whether to count n-grams of characters, too, by the number and length of the
    texts and the share of unseen words, and chooses their weight if it has labels. Nothing else is
    learned: without ``fit``, n-grams of words are counted.

    Parameters
    ----------
    n_features : int, default=2**30
        Number of columns: the first half for words, the second half for characters. The default is
        for :class:`~sklearn_hashnlp.classifiers.HashEmbeddingClassifier`. Estimators that store a
        number per column, such as ``LogisticRegression`` or ``SelectKBest``, would need gigabytes:
        set ``2**18`` for them.
    lowercase : bool, default=True
        Whether to convert texts to lowercase first.
    ngram_range : (int, int), default=(1, 2)
        Minimum and maximum number of words of an n-gram.
    n_jobs : int or None, default=None
        Number of threads; None is one and -1 is one per processor. The matrix does not depend on
        it.

    Attributes
    ----------
    features_ : {"words", "words+characters"}
        The counted n-grams. Both for fewer than 20,000 texts with at most 8 million characters in
        total. For more texts, both if at least a quarter of the words are unseen, as in lists of
        names, texts in many languages or without spaces between words; otherwise only words.
    character_weight_ : float
        Factor of the counts of characters: 0.5, or 0.25 if a linear support vector machine then
        predicts more labels of left-out texts, by cross-validation on at most 5,000 of the texts.
        It is 0.5 for fewer than 30 texts, for 20,000 or more, or 8 million characters; and without
        labels, with several per text, or with more than 256.
    character_range_ : (int, int)
        Minimum and maximum number of characters of their n-grams: (2, 5), or (1, 4) if a sample of
        the texts has 120 letters and more, as texts in several scripts or in Chinese have, where
        single characters are informative.
    unseen_share_ : float
        Share of the words in one half of a sample of the texts that do not occur in the other half.

    See Also
    --------
    HashingNgramVectorizer : The counts of one kind of n-grams.

    Notes
    -----
    Words are tokens of the pattern ``\w+|[^\w\s]``, which keeps punctuation, plus a token at the
    start and at the end of the text, since the first and the last word are informative in questions
    and utterances. Characters are n-grams within words, with a smaller weight. A count c has the
    value ``1 + log(c)`` (scikit-learn's ``sublinear_tf``).

    Examples
    --------
    >>> from sklearn_hashnlp.text import AutoNgramVectorizer
    >>> vectorizer = AutoNgramVectorizer()
    >>> # 6 words, 2 tokens around them, and bigrams
    >>> vectorizer.transform(["to be or not to be"]).nnz
    12
    >>> X = vectorizer.fit_transform(
    ...     ["to be or not to be", "that is the question"]
    ... )
    >>> vectorizer.features_, X.shape
    ('words+characters', (2, 1073741824))
    """

    features_: ChosenFeatures
    character_weight_: float
    character_range_: tuple[int, int]
    unseen_share_: float
    _requires_fit = False
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
        """Choose the n-grams to count and their weight.

        Parameters
        ----------
        X : iterable of str of length n_texts
            The texts.
        y : array-like of shape (n_texts,), default=None
            Labels, strings, integers or bools, for the weight of n-grams of characters; other
            values are ignored.

        Returns
        -------
        self : AutoNgramVectorizer
        """
        caller = type(self).__name__
        texts = list(as_documents(X, caller=caller))
        check_ngram_range(self.ngram_range, caller=caller)
        strings = plain_texts(texts, caller=caller, decode=("utf-8", "ignore"))
        n_characters = sum(map(len, texts))
        n_sampled = min(_SAMPLE, _SAMPLE_CHARACTERS * len(texts) // max(1, n_characters))
        step = max(1, len(texts) // max(1, n_sampled))
        self.unseen_share_ = self._unseen_share(texts[::step])
        n_letters = sum(map(str.isalpha, set("".join(strings[::step]).lower())))
        self.character_range_ = _RANGE if n_letters < _MANY_LETTERS else _RANGE_OF_MANY_LETTERS
        is_small = len(texts) < _MANY_TEXTS and n_characters <= _MANY_CHARACTERS
        self.features_ = (
            "words+characters" if is_small or self.unseen_share_ >= _MANY_UNSEEN else "words"
        )
        self.character_weight_ = _WEIGHTS[0]
        labels = encode_labels(y, len(texts)) if is_small and len(texts) >= _MIN_TEXTS else None
        if labels is not None:
            chosen = sample_texts(len(texts), n_characters)
            words, characters = self._specs()
            specs = [words, replace(characters, weight=1.0)]
            try:
                counts = count_ngrams([texts[i] for i in chosen], specs, self.n_jobs, caller=caller)
            except ValueError:
                # raises the error with the position of the text
                count_ngrams(texts, specs, self.n_jobs, caller=caller)
                raise
            n_threads = 1 if self.n_jobs in (None, 1) else 2
            self.character_weight_ = choose_weight(
                counts, words.n_features, _WEIGHTS, labels[chosen], n_threads
            )
        return self

    def _specs(self) -> list[NgramSpec]:
        ngram_range = check_ngram_range(self.ngram_range, caller=type(self).__name__)
        features, weight = (
            getattr(self, "features_", "words"),
            getattr(self, "character_weight_", _WEIGHTS[0]),
        )
        characters = getattr(self, "character_range_", _RANGE)
        return list(
            _specs(
                int(self.n_features),
                bool(self.lowercase),
                ngram_range,
                features,
                weight,
                characters,
            )
        )

    def _unseen_share(self, sample: list[Any]) -> float:
        """Return the share of words in every second text that are in none of the others."""
        if len(sample) < 2:
            return 1.0
        words = replace(self._specs()[0], ngram_range=(1, 1), around=("", ""), damped=False)
        counts = count_ngrams(sample, [words], self.n_jobs, caller=type(self).__name__)
        seen, others = np.unique(counts[::2].indices), counts[1::2]
        known = np.isin(others.indices, seen)
        total = float(others.data.sum(dtype=np.float64))
        return float(others.data[~known].sum(dtype=np.float64)) / total if total else 1.0

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        if not hasattr(self, "features_"):
            return {}, {}
        characters = {
            "character_weight": self.character_weight_,
            "character_range": list(self.character_range_),
        }
        return {"features": self.features_, "unseen_share": self.unseen_share_} | characters, {}

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        if "features" not in values:
            return
        if values["features"] not in ("words", "words+characters"):
            raise ValueError(
                f"An AutoNgramVectorizer cannot have the features {values['features']!r}."
            )
        if values["character_weight"] not in _WEIGHTS:
            raise ValueError(
                f"An AutoNgramVectorizer cannot have the weight {values['character_weight']!r}."
            )
        ranges = {str(list(one)): one for one in (_RANGE, _RANGE_OF_MANY_LETTERS)}
        if str(values["character_range"]) not in ranges:
            wanted = values["character_range"]
            raise ValueError(
                f"An AutoNgramVectorizer cannot have n-grams of {wanted!r:.60} characters."
            )
        self.character_range_ = ranges[str(values["character_range"])]
        self.features_, self.unseen_share_ = values["features"], float(values["unseen_share"])
        self.character_weight_ = float(values["character_weight"])


@lru_cache(maxsize=16)
def _specs(
    n_features: int,
    lowercase: bool,
    ngram_range: tuple[int, int],
    features: str,
    weight: float,
    character_range: tuple[int, int],
) -> tuple[NgramSpec, ...]:
    words = NgramSpec(
        name="words",
        n_features=n_features // 2,
        padding=n_features - n_features // 2,  # columns of characters
        token_pattern=TOKENS,
        around=(_BEGIN, _END),
        lowercase=lowercase,
        ngram_range=ngram_range,
        damped=True,  # no signs to cancel collisions, which are rare with so many columns
    )
    if features == "words":
        return (words,)
    changes: dict[str, Any] = {
        "name": "characters",
        "analyzer": "char_wb",
        "token_pattern": None,
        "around": ("", ""),
    }
    changes |= {"padding": n_features % 2, "ngram_range": character_range, "weight": weight}
    return replace(words, padding=0), replace(words, **changes)
