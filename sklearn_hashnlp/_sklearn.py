"""The private helpers of scikit-learn that the package uses, all in one place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn import base, pipeline
from sklearn.base import _fit_context
from sklearn.pipeline import _name_estimators
from sklearn.utils import _safe_indexing as index_rows
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp._device import resolve_device

try:  # converts a sparse result to the interface, matrix or array, that sklearn.set_config chooses
    from sklearn.utils._sparse import _align_api_if_sparse as in_configured_sparse_interface
except ImportError:  # before scikit-learn 1.9 results were always sparse matrices

    def in_configured_sparse_interface(X: Any) -> Any:
        """Return a sparse result as it is."""
        return X


try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # before scikit-learn 1.9 there were no callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """An estimator without set_callbacks."""


# scikit-learn has no types: these are what its users see of it through this package
if TYPE_CHECKING:

    class BaseEstimator(base.BaseEstimator):  # type: ignore[misc]  # a base class without types
        """An estimator."""

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...

    class Pipeline(pipeline.Pipeline):  # type: ignore[misc]  # a base class without types
        """A pipeline with a classifier as its last step."""

        steps: list[tuple[str, Any]]
        classes_: NDArray[Any]

        def fit(self, X: Any, y: Any = None, **params: Any) -> Self: ...
        def predict(self, X: Any, **params: Any) -> NDArray[Any]: ...
        def predict_proba(self, X: Any, **params: Any) -> NDArray[np.float64]: ...
        def predict_log_proba(self, X: Any, **params: Any) -> NDArray[np.float64]: ...
        def decision_function(self, X: Any, **params: Any) -> NDArray[np.float64]: ...
        def score(
            self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any
        ) -> float: ...
        def set_params(self, **kwargs: Any) -> Self: ...

    # a base class without types
    class ArrayTransformerMixin(base.TransformerMixin):  # type: ignore[misc]
        """A transformer whose output is an array."""

        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray[Any]: ...

else:
    ArrayTransformerMixin = base.TransformerMixin
    BaseEstimator = base.BaseEstimator
    Pipeline = pipeline.Pipeline

__all__ = [  # of scikit-learn's names
    "CallbackSupportMixin",
    "HasMethods",
    "Interval",
    "Options",
    "StrOptions",
    "in_configured_sparse_interface",
    "index_rows",
    "validate_parameter_constraints",
]


class TextInputMixin:
    """An estimator of texts."""

    _requires_fit: ClassVar[bool] = True

    def __sklearn_tags__(self) -> Any:
        # Tags of the estimator's other base classes
        tags: Any = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = self._requires_fit
        return tags


class ParameterChecks:
    """An estimator with parameters that can be checked before there are data."""

    _validate_params: Callable[[], None]  # of scikit-learn

    def check_parameters(self) -> None:
        """Check the parameters, as ``fit`` does before it reads data.

        Raises
        ------
        ValueError
            If the value of a parameter is not as described, or does not go with that of another.
        TypeError
            If a parameter has no value of the types that are described.
        RuntimeError
            If ``device`` is not available.

        Examples
        --------
        >>> from sklearn_hashnlp import TextClassifier
        >>> try:
        ...     TextClassifier(n_buckets=0).check_parameters()
        ... except ValueError as error:
        ...     print(str(error)[:45])
        The 'n_buckets' parameter of TextClassifier m
        """
        self._validate_params()
        self._check_parameters()
        device = getattr(self, "device", "auto")
        if device != "auto":
            resolve_device(device, caller=type(self).__name__)

    def _check_parameters(self) -> None:
        """Check what the declared constraints cannot express."""


MAX_INTEGER = 2**31 - 1
"""Maximal value of integer parameters: more than can be computed, and within the range of all
libraries."""
MAX_REAL = 1e30
"""Maximal value of learning rates and weights: within the range of float32."""

_Method = TypeVar("_Method", bound=Callable[..., Any])


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[_Method], _Method]:
    """Return scikit-learn's decorator of ``fit``, which checks parameters; types are kept."""
    decorator: Callable[[_Method], _Method] = _fit_context(
        prefer_skip_nested_validation=prefer_skip_nested_validation
    )
    return decorator


def check_fitted(estimator: Any, attribute: str) -> None:
    """Raise scikit-learn's error for an estimator that is not fitted, faster than its own check."""
    if attribute not in vars(estimator):
        check_is_fitted(estimator)


def literal_options(literal: Any) -> StrOptions:
    """Return the constraint that a parameter is one of the strings of a ``Literal``."""
    return StrOptions(set(get_args(literal)))


def name_estimators(estimators: Sequence[Any]) -> list[tuple[str, Any]]:
    """Return estimators with their class names in lowercase, as in ``make_pipeline``."""
    named: list[tuple[str, Any]] = _name_estimators(estimators)
    return named


def final_estimator(model: Any) -> Any:
    """Return the last step of a pipeline or of a model's inner pipeline, or else the model."""
    model = getattr(model, "pipeline_", model)
    return model[-1] if hasattr(model, "steps") else model


def configuration(estimator: Any) -> dict[str, Any]:
    """Return what ``set_output`` and ``set_fit_request`` and the like have set, as JSON values."""
    output = getattr(estimator, "_sklearn_output_config", {}).get("transform")
    requests = getattr(estimator, "_metadata_request", None)
    set_by_user = {
        "set_output": output,
        "metadata_requests": None if requests is None else requests._serialize(),
    }
    return {name: value for name, value in set_by_user.items() if value is not None}


def configure(estimator: Any, description: dict[str, Any]) -> None:
    """Set what :func:`configuration` returned; raise ``ValueError`` for anything else."""
    output = description.get("set_output")
    if output is not None:
        if output not in ("default", "pandas", "polars"):
            raise ValueError(f"set_output takes 'default', 'pandas' or 'polars', got {output!r}.")
        # set_output would also set that of the parts
        estimator._sklearn_output_config = {"transform": output}
    methods = description.get("metadata_requests")
    if methods is not None:
        requests = estimator._get_metadata_request()
        for method, parameters in methods.items():
            for parameter, alias in parameters.items():
                if not isinstance(parameter, str):
                    raise TypeError(f"the metadata {parameter!r} is no name")
                getattr(requests, method).add_request(param=parameter, alias=alias)
        estimator._metadata_request = requests


def level_of_user() -> int:
    """Return how far up the nearest call is that is neither this package's nor scikit-learn's."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in {
        "sklearn_hashnlp",
        "sklearn",
    }:
        frame, level = frame.f_back, level + 1
    return level
