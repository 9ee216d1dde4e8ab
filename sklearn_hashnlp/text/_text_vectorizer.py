"""TextVectorizer: base class of transformers that count n-grams."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from sklearn.base import TransformerMixin

from sklearn_hashnlp._sklearn import BaseEstimator, TextInputMixin, validate_parameter_constraints
from sklearn_hashnlp.text._count_ngrams import count_ngrams
from sklearn_hashnlp.text._documents import as_documents
from sklearn_hashnlp.text._ngram_spec import NgramSpec


@lru_cache(maxsize=64)
def _parameter_names(cls: Any) -> tuple[str, ...]:
    return tuple(cls._get_param_names())


class TextVectorizer(TextInputMixin, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[misc, call-arg]  # scikit-learn has no types
    """A transformer that counts n-grams by the specifications from its method ``_specs``."""

    n_jobs: int | None
    _specs: Callable[[], list[NgramSpec]]
    _hash_texts: Any = None  # kernels from texts to hashes, for schemes with arrays

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit to texts, and count their n-grams, as :meth:`transform`; a generator is converted to a list first."""
        texts = list(as_documents(X, caller=type(self).__name__))
        return self.fit(texts, y).transform(texts)

    def transform(self, X: Iterable[Any]) -> Any:
        """Count the n-grams of each text.

        Parameters
        ----------
        X : iterable of str
            The texts: a list, tuple or generator, a numpy array, a column of pandas, polars or Arrow.

        Returns
        -------
        sparse matrix of shape (n_texts, n_features)
            The values, CSR with sorted columns.
        """
        self._validate_params()
        caller = type(self).__name__
        return count_ngrams(X, self._specs(), self.n_jobs, caller=caller, hash_texts=self._hash_texts)

    def ngram_specs(self) -> list[NgramSpec]:
        """Return a list of :class:`NgramSpec`, one for each kind of counted n-grams, in the order of their columns."""
        return self._specs()

    def _validate_params(self) -> None:
        """Check the parameters; faster than scikit-learn, which reads their names from the signature in each call."""
        cls: Any = type(self)
        parameters = {name: getattr(self, name) for name in _parameter_names(cls)}
        validate_parameter_constraints(self._parameter_constraints, parameters, caller_name=cls.__name__)
