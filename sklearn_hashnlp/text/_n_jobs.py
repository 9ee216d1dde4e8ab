"""Change the number of threads in a copy of a fitted vectorizer."""

from __future__ import annotations

from copy import copy
from typing import Any

from sklearn.pipeline import FeatureUnion


def with_n_jobs(vectorizer: Any, n_jobs: int | None) -> Any:
    """Return a copy with shared fitted state that uses ``n_jobs`` threads; a ``FeatureUnion`` keeps its processes."""
    if isinstance(vectorizer, FeatureUnion):
        parts = [(name, with_n_jobs(part, n_jobs)) for name, part in vectorizer.transformer_list]
        return _changed(vectorizer, transformer_list=parts)
    if hasattr(vectorizer, "vectorizer"):  # an NgramVectorUnion reads this parameter in transform
        return _changed(vectorizer, vectorizer=with_n_jobs(vectorizer.vectorizer, n_jobs))
    return _changed(vectorizer, n_jobs=n_jobs)


def with_n_jobs_of(fitted: Any, given: Any) -> Any:
    """Return a fitted vectorizer, or a copy with the ``n_jobs`` of the unfitted vectorizer it was cloned from."""
    if isinstance(fitted, FeatureUnion) and isinstance(given, FeatureUnion):
        pairs = zip(fitted.transformer_list, given.transformer_list, strict=True)
        parts = [(name, with_n_jobs_of(part, other)) for (name, part), (_, other) in pairs]
        return _changed(fitted, transformer_list=parts, n_jobs=given.n_jobs)
    if not hasattr(given, "n_jobs") or fitted.n_jobs == given.n_jobs:
        return fitted
    return _changed(fitted, n_jobs=given.n_jobs)


def _changed(estimator: Any, **parameters: Any) -> Any:
    """Return a shallow copy with other parameters."""
    changed = copy(estimator)
    vars(changed).update(parameters)
    return changed
