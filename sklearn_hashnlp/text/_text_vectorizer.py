"""TextVectorizer: base class of transformers that count n-grams, and their number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from functools import lru_cache
from typing import Any

from sklearn.base import TransformerMixin
from sklearn.pipeline import FeatureUnion

from sklearn_hashnlp._sklearn import (
    BaseEstimator,
    ParameterChecks,
    TextInputMixin,
    validate_parameter_constraints,
)
from sklearn_hashnlp.text._count_ngrams import count_ngrams
from sklearn_hashnlp.text._documents import as_documents
from sklearn_hashnlp.text._ngram_spec import NgramSpec


@lru_cache(maxsize=64)
def _parameter_names(cls: Any) -> tuple[str, ...]:
    return tuple(cls._get_param_names())


# scikit-learn has no types
class TextVectorizer(  # type: ignore[call-arg]
    TextInputMixin,
    ParameterChecks,
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,
    auto_wrap_output_keys=None,
):
    """A transformer that counts n-grams by the specifications from its method ``_specs``."""

    n_jobs: int | None
    _specs: Callable[[], list[NgramSpec]]
    _hash_texts: Any = None  # kernels from texts to hashes, for schemes with arrays

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit to texts, and count their n-grams; a generator is converted to a list first."""
        texts = list(as_documents(X, caller=type(self).__name__))
        return self.fit(texts, y).transform(texts)

    def transform(self, X: Iterable[Any]) -> Any:
        """Count the n-grams of each text.

        Parameters
        ----------
        X : iterable of str
            The texts: a list, tuple or generator, a numpy array, a column of pandas, polars or
            Arrow.

        Returns
        -------
        sparse matrix of shape (n_texts, n_features)
            The values, CSR with sorted columns.
        """
        self._validate_params()
        caller = type(self).__name__
        return count_ngrams(
            X, self._specs(), self.n_jobs, caller=caller, hash_texts=self._hash_texts
        )

    def ngram_specs(self) -> list[NgramSpec]:
        """Return a list of :class:`NgramSpec`, one per kind of n-gram, in the order of columns."""
        return self._specs()

    def _validate_params(self) -> None:
        """Check parameters, faster than scikit-learn, which reads the signature in each call."""
        cls: Any = type(self)
        parameters = {name: getattr(self, name) for name in _parameter_names(cls)}
        validate_parameter_constraints(
            self._parameter_constraints, parameters, caller_name=cls.__name__
        )


def with_n_jobs(vectorizer: Any, n_jobs: int | None) -> Any:
    """Return a copy with shared state and ``n_jobs`` threads; a union keeps its processes."""
    if isinstance(vectorizer, FeatureUnion):
        named = vectorizer.transformer_list
        parts = [
            (name, part if isinstance(part, str) else with_n_jobs(part, n_jobs))
            for name, part in named
        ]
        return _changed(vectorizer, transformer_list=parts)
    if hasattr(vectorizer, "vectorizer"):  # an NgramVectorUnion reads this parameter in transform
        return _changed(vectorizer, vectorizer=with_n_jobs(vectorizer.vectorizer, n_jobs))
    return _changed(vectorizer, n_jobs=n_jobs)


def with_n_jobs_of(fitted: Any, given: Any) -> Any:
    """Return a fitted vectorizer, or a copy with the ``n_jobs`` of the unfitted original."""
    if isinstance(fitted, FeatureUnion) and isinstance(given, FeatureUnion):
        pairs = zip(fitted.transformer_list, given.transformer_list, strict=True)
        parts = [(name, with_n_jobs_of(part, other)) for (name, part), (_, other) in pairs]
        return _changed(fitted, transformer_list=parts, n_jobs=given.n_jobs)
    if not hasattr(given, "n_jobs") or fitted.n_jobs == given.n_jobs:
        return fitted
    return _changed(fitted, n_jobs=given.n_jobs)


def _changed(estimator: Any, **parameters: Any) -> Any:
    changed = copy(estimator)
    vars(changed).update(parameters)
    return changed
