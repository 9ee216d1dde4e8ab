"""CooccurrenceEncoder: sentence embeddings from the co-occurrence of words, learned in seconds."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array

from sklearn_hashnlp._sklearn import MAX_INTEGER, BaseEstimator, Interval, fit_context
from sklearn_hashnlp.kernels._ragged import of_lengths
from sklearn_hashnlp.sentences._cooccurrence import ppmi_vectors
from sklearn_hashnlp.sentences._ngram_regression import (
    NgramDictionary,
    distinct_ids_of_rows,
    multiply,
    word_fingerprints,
)
from sklearn_hashnlp.sentences._ngram_vectors import NgramModel, NgramVectors
from sklearn_hashnlp.sentences._sentence_reader import Paragraphs, read_texts


class CooccurrenceEncoder(NgramVectors, BaseEstimator):
    """Encode texts as embeddings learned from which words occur near each other.

    Learns from unlabeled texts in seconds, without epochs. Two words have similar vectors if they
    occur near the same words: the vectors are the singular value decomposition of their positive
    pointwise mutual information, with distances and smoothed counts as in [1]_, less their mean.
    The vector of a text is the sum of its words, weighted by how rare they are, at unit length. New
    words have no vector, and a text of new words alone has zeros.

    Its vectors are columns for a classifier of few labeled texts, for which
    :meth:`TextClassifier.fit <sklearn_hashnlp.classifiers.TextClassifier.fit>` has ``unlabeled``.

    Parameters
    ----------
    n_components : int, default=100
        Dimension of the vectors.
    n_features : int, default=2**16
        Maximum number of words: the most frequent ones.
    min_count : int, default=3
        Minimum number of occurrences of a word.
    window : int, default=25
        Maximum distance of two words that occur near each other; a pair at distance d counts 1/d.
    n_jobs : int or None, default=1
        Number of threads of ``transform``. The results are the same bit for bit for any number.

    Attributes
    ----------
    coef_ : ndarray of shape (n_words, n_components), dtype float32
        The vectors of the words.
    n_parameters_ : int
        Number of coefficients.

    See Also
    --------
    SGNNSentenceEncoder : Learns from paragraphs for longer, and vectors for new words too.
    DistilledSentenceEncoder : Learns to reproduce the vectors of another model.

    References
    ----------
    .. [1] Levy, Goldberg & Dagan (2015). Improving distributional similarity with lessons learned
           from word embeddings. TACL 3.

    Examples
    --------
    >>> from sklearn_hashnlp.sentences import CooccurrenceEncoder
    >>> texts = [
    ...     "cats purr and cats sleep",
    ...     "kittens sleep and kittens purr",
    ...     "shares rose and shares fell",
    ...     "stocks fell and stocks rose",
    ... ] * 9
    >>> encoder = CooccurrenceEncoder(n_components=2).fit(texts)
    >>> near, far = encoder.similarity(["cats"] * 2, ["kittens", "shares"])
    >>> bool(near > far)
    True
    """

    max_words = MAX_INTEGER  # whole texts: their length costs nothing but time
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "n_features": [Interval(Integral, 1, 2**30, closed="both")],
        "min_count": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "window": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        *,
        n_components: int = 100,
        n_features: int = 2**16,
        min_count: int = 3,
        window: int = 25,
        n_jobs: int | None = 1,
    ) -> None:
        self.n_components = n_components
        self.n_features = n_features
        self.min_count = min_count
        self.window = window
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the vectors of words from texts.

        Parameters
        ----------
        X : iterable of str
            Texts, such as those to encode later; hundreds at least, better thousands.
        y : None
            Ignored.

        Returns
        -------
        self : CooccurrenceEncoder
            The fitted encoder.

        Raises
        ------
        TypeError
            If a text is not a ``str``.
        ValueError
            If a parameter is invalid, or no word occurs ``min_count`` times next to others.
        """
        words, rows = read_texts(X, max_words=self.max_words, caller=type(self).__name__)
        lengths = np.diff(rows.offsets)
        texts = of_lengths(rows.values, lengths[lengths > 0])
        n_texts = len(texts.offsets) - 1
        once = distinct_ids_of_rows(texts, len(words))
        frequencies = np.bincount(once.values, minlength=len(words))
        ids, vectors, _ = ppmi_vectors(
            Paragraphs(words, texts, np.arange(len(texts.offsets))),
            n_components=int(self.n_components),
            window=int(self.window),
            min_count=int(self.min_count),
            n_words=int(self.n_features),
        )
        if not len(ids):
            raise ValueError(
                f"{type(self).__name__} learns from words that occur {self.min_count} times or "
                f"more, next to others, and found none in {len(lengths):,} texts. Pass more texts."
            )
        dictionary = NgramDictionary(
            word_fingerprints([words[i] for i in ids]),
            frequencies[ids].astype(np.int32),
            (len(ids), 0, 0),
            n_texts,
        )
        # The mean of all texts says nothing: a word's vector is what the word adds to it.
        design = dictionary.design(words, texts)
        weights = np.bincount(design.outer.indices, design.outer.data, len(words))
        shares = (weights / weights.sum()).astype(np.float32)[np.newaxis] @ design.inner
        centered = vectors - multiply(csr_array(shares), vectors)
        self._model = NgramModel(dictionary, centered, np.zeros_like(centered[0]))
        return self

    @property
    def n_parameters_(self) -> int:
        """Number of coefficients."""
        return int(self.coef_.size)
