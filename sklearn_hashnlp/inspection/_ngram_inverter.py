"""NgramInverter: the n-grams in the columns of hashed features."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError

from sklearn_hashnlp.inspection._contributions import column_weights
from sklearn_hashnlp.inspection._explain import text_pipeline
from sklearn_hashnlp.inspection._text_columns import Source, TextColumns, column_name
from sklearn_hashnlp.text._documents import as_documents, plain_text

_MIN_NGRAMS = 100


class NgramInverter:
    r"""Record the n-grams in each column, so that hashed features have names.

    A hashing vectorizer stores no n-grams. The inverter reads texts again and stores their most
    frequent n-grams in bounded memory. Then columns have names, and the most important n-grams of a
    label are known.

    Parameters
    ----------
    vectorizer : transformer or classifier of texts
        A vectorizer of :mod:`sklearn_hashnlp.text`, fitted if necessary, a union of them, or a
        classifier with such a vectorizer, such as
        :class:`~sklearn_hashnlp.classifiers.TextClassifier`.
    max_ngrams : int, default=1_000_000
        Maximum number of stored n-grams, at least 100. A million takes about 150 MB. If the texts
        have more, the rarest ones so far are dropped repeatedly: frequent n-grams are kept, but
        their counts may be too low.

    Attributes
    ----------
    columns_ : ndarray of shape (n_columns,), dtype int64
        The columns with known n-grams in ascending order.
    n_ngrams_ : int
        Number of stored n-grams.
    n_dropped_ : int
        Number of dropped n-grams; an n-gram that is dropped twice counts twice.

    See Also
    --------
    explain : The contributions of the n-grams of one text.

    Notes
    -----
    Texts are analyzed in Python, not by compiled code: about 100,000 n-grams a second. A sample of
    the texts is often sufficient.

    Examples
    --------
    >>> from sklearn_hashnlp import TextClassifier
    >>> from sklearn_hashnlp.inspection import NgramInverter
    >>> texts = [
    ...     "a fine, funny film",
    ...     "dull and far too long",
    ...     "funny and fine acting",
    ...     "too dull to sit through",
    ... ]
    >>> labels = ["good", "bad", "good", "bad"]
    >>> model = TextClassifier(features="words", random_state=0).fit(texts, labels)
    >>> inverter = NgramInverter(model).fit(texts)
    >>> top = inverter.top_ngrams(model, "good", n=2)
    >>> sorted(ngram for ngram, weight in top)
    ['fine', 'funny']
    >>> inverter.get_feature_names_out(inverter.columns_of("funny"))
    array(['funny'], dtype=object)
    """

    def __init__(self, vectorizer: Any, *, max_ngrams: int = 1_000_000) -> None:
        if not isinstance(max_ngrams, int | np.integer) or max_ngrams < _MIN_NGRAMS:
            raise ValueError(
                f"max_ngrams must be an integer of at least {_MIN_NGRAMS}, got {max_ngrams!r}."
            )
        self.vectorizer = vectorizer
        self.max_ngrams = max_ngrams

    def fit(self, X: Iterable[str]) -> Self:
        """Record the n-grams of texts, and drop earlier ones; a generator is read once."""
        is_classifier = hasattr(self.vectorizer, "predict")
        self._sources = TextColumns.of(
            text_pipeline(self.vectorizer)[0] if is_classifier else self.vectorizer
        ).sources
        self._counts: list[dict[str, int]] = [{} for _ in self._sources]
        self.n_ngrams_ = self.n_dropped_ = 0
        return self.partial_fit(X)

    def partial_fit(self, X: Iterable[str]) -> Self:
        """Record the n-grams of more texts."""
        if not hasattr(self, "_sources"):
            return self.fit(X)
        self._is_indexed = False  # also if a text raises an error
        for position, document in enumerate(as_documents(X, caller=type(self).__name__)):
            text = plain_text(document, position=position, caller=type(self).__name__)
            for source, counts in zip(self._sources, self._counts, strict=True):
                before = len(counts)
                for ngram, spans in source.find(text).items():
                    counts[ngram] = counts.get(ngram, 0) + len(spans)
                self.n_ngrams_ += len(counts) - before
            if self.n_ngrams_ > self.max_ngrams:
                self._drop_rare()
        return self

    @property
    def columns_(self) -> NDArray[np.int64]:
        """The columns with known n-grams in ascending order."""
        self._check_fitted()
        return np.unique(self._columns)

    def _drop_rare(self) -> None:
        """Keep the most frequent three quarters of the n-grams; among ties the latest."""
        every = np.fromiter(
            (count for counts in self._counts for count in counts.values()), dtype=np.int64
        )
        keep = np.zeros(len(every), dtype=bool)
        age = np.concatenate([np.arange(len(counts), 0, -1) for counts in self._counts])
        keep[np.lexsort((age, -every))[: 3 * self.max_ngrams // 4]] = True
        starts = np.cumsum([0, *map(len, self._counts)])
        self._counts = [
            dict(compress(counts.items(), keep[start : start + len(counts)].tolist()))
            for start, counts in zip(starts.tolist(), self._counts, strict=False)
        ]
        n_kept = sum(map(len, self._counts))
        self.n_dropped_ += self.n_ngrams_ - n_kept
        self.n_ngrams_ = n_kept

    def _index(self) -> None:
        """Sort the n-grams by column, and within a column by count."""
        ngrams = [ngram for of_source in self._counts for ngram in of_source]
        count = np.fromiter(
            (n for of_source in self._counts for n in of_source.values()), dtype=np.int64
        )
        parts = [
            source.columns_of(list(counts))[0]
            for source, counts in zip(self._sources, self._counts, strict=True)
        ]
        column = np.concatenate(parts)
        source_of = np.repeat(
            np.arange(len(self._sources)), [len(of_source) for of_source in self._counts]
        )
        order = np.lexsort((-count, column))
        self._order = order = order[column[order] >= 0]
        self._ngrams = [ngrams[index] for index in order.tolist()]
        self._source_of = source_of[order]
        self._columns = column[order]
        self._n_times = count[order]
        self._is_indexed = True

    def ngrams_of(self, column: int) -> list[str]:
        """Return the n-grams in a column by descending frequency; empty if the texts have none."""
        self._check_fitted()
        first, last = np.searchsorted(self._columns, [column, column + 1]).tolist()
        return [self._name(index) for index in range(first, last)]

    def columns_of(self, ngram: str) -> NDArray[np.int64]:
        """Return the columns of an n-gram, recorded or not, int64 of shape (n_columns,).

        There is one for each vectorizer of a union that counts such n-grams and has recorded this
        one; otherwise one for each of them. Words are in lowercase, if the vectorizer converts to
        lowercase, and joined by a space.
        """
        self._check_fitted()
        recorded = [
            source
            for source, counts in zip(self._sources, self._counts, strict=True)
            if ngram in counts
        ]
        columns = [source.columns_of([ngram])[0] for source in recorded or self._sources]
        indices = np.concatenate(columns)
        return indices[indices >= 0]

    def get_feature_names_out(self, columns: ArrayLike | None = None) -> NDArray[Any]:
        """Return names of columns, by default of ``columns_``, as there may be a billion columns.

        Multiple n-grams of a column are separated by `` | ``, by descending frequency; a column
        without known n-grams is called ``column`` and its index.
        """
        self._check_fitted()
        wanted = self.columns_ if columns is None else np.asarray(columns)
        names = [
            " | ".join(self.ngrams_of(column)) or column_name(column) for column in wanted.tolist()
        ]
        return np.array([*names, None], dtype=object)[:-1]

    def top_ngrams(
        self, model: Any, label: Any, n: int = 10, *, min_count: int = 1
    ) -> list[tuple[str, float]]:
        """Return the n-grams with the largest weights for a label.

        Parameters
        ----------
        model : classifier of texts
            Fitted linear classifier after the vectorizer, as in :func:`explain` but without hidden
            layers.
        label : label
            One of ``model.classes_``.
        n : int, default=10
            Maximum number of n-grams.
        min_count : int, default=1
            Minimum count of an n-gram in the recorded texts. Rare n-grams often have large weights.

        Returns
        -------
        list of (str, float)
            N-grams and their weights in descending order: the change of the label's score by one
            occurrence, before the row is normalized. N-grams in one column have the same weight.
        """
        self._check_fitted()
        steps, classifier = text_pipeline(model)
        text_columns = TextColumns.of(steps)
        sources, n_columns = text_columns.sources, text_columns.n_columns
        if len(sources) != len(self._sources) or (
            len(self._columns) and self._columns[-1] >= n_columns
        ):
            raise ValueError(
                f"The inverter has {len(self._sources)} vectorizers and n-grams up to column "
                f"{self._columns.max(initial=-1):,}, the model {len(sources)} vectorizers and "
                f"{n_columns:,} columns: the inverter has another vectorizer. Use "
                "NgramInverter(model)."
            )
        parts = [
            source.columns_of(list(counts))
            for source, counts in zip(sources, self._counts, strict=True)
        ]
        columns, signs = (np.concatenate(part)[self._order] for part in zip(*parts, strict=True))
        scales = np.array([source.scale for source in sources])[self._source_of]
        weights = signs * scales * column_weights(classifier, np.maximum(columns, 0), label)
        weights[columns < 0] = -np.inf
        weights[self._n_times < min_count] = -np.inf
        order = np.argsort(-weights, kind="stable")[:n].tolist()
        return [
            (self._name(index), float(weights[index]))
            for index in order
            if weights[index] > -np.inf
        ]

    def _name(self, index: int) -> str:
        source: Source = self._sources[self._source_of[index]]
        return source.name_of(self._ngrams[index])

    def _check_fitted(self) -> None:
        if not hasattr(self, "_sources"):
            raise NotFittedError("This NgramInverter has no n-grams yet: call fit with texts.")
        if not self._is_indexed:
            self._index()
