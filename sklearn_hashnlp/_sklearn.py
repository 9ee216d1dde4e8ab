"""The private helpers of scikit-learn that the package uses, all in one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, get_args

from sklearn.base import _fit_context
from sklearn.utils import _safe_indexing as index_rows
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions, validate_parameter_constraints
from sklearn.utils.metaestimators import available_if as _available_if
from sklearn.utils.validation import _check_method_params as index_rows_of_parameters

try:
    from sklearn.utils._sparse import _align_api_if_sparse
except ImportError:  # before scikit-learn 1.9 results were always sparse matrices

    def _align_api_if_sparse(X: Any) -> Any:
        return X


__all__ = [
    "HasMethods",
    "Interval",
    "Options",
    "StrOptions",
    "available_if",
    "fit_context",
    "in_configured_sparse_interface",
    "index_rows",
    "index_rows_of_parameters",
    "literal_options",
    "validate_parameter_constraints",
]


_Method = TypeVar("_Method", bound=Callable[..., Any])


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[_Method], _Method]:
    """Return scikit-learn's decorator of ``fit``, which checks the parameters; the method keeps its type."""
    decorator: Callable[[_Method], _Method] = _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)
    return decorator


def available_if(check: Callable[[Any], bool]) -> Callable[[_Method], _Method]:
    """Return scikit-learn's decorator of a method that not every estimator has; the method keeps its type."""
    decorator: Callable[[_Method], _Method] = _available_if(check)
    return decorator


def literal_options(literal: Any) -> StrOptions:
    """Return the constraint that a parameter is one of the strings of a ``Literal``."""
    return StrOptions(set(get_args(literal)))


def in_configured_sparse_interface(X: Any) -> Any:
    """Convert a sparse result to the interface, matrix or array, that ``sklearn.set_config`` chooses."""
    return _align_api_if_sparse(X)
