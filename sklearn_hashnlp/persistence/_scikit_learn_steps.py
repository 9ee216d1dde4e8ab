"""Steps of scikit-learn in a model folder: parameters, and the state of two in earlier models."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.persistence._values import decode_labels

SAVED_CLASSES: dict[str, str] = {
    "FeatureUnion": "sklearn.pipeline",
    "FrozenEstimator": "sklearn.frozen",
    "HashingVectorizer": "sklearn.feature_extraction.text",
    "Normalizer": "sklearn.preprocessing",
    "Pipeline": "sklearn.pipeline",
}
"""Classes without a state, and their modules."""

LOADED_CLASSES: dict[str, str] = {
    "LogisticRegression": "sklearn.linear_model",
    "TfidfTransformer": "sklearn.feature_extraction.text",
}
"""Classes with a state in models that earlier versions saved."""

_STEPS = {"FeatureUnion": "transformer_list", "Pipeline": "steps"}
_MAX_JOBS = 2**15
_PASSED = ("drop", "passthrough", None)


def check_parameters(name: str, values: dict[str, Any]) -> None:
    """Raise a ValueError for parameters of an estimator class that would fail later."""
    if name in _STEPS and _STEPS[name] in values:
        _check_steps(name, values[_STEPS[name]])
    if name == "FeatureUnion":
        weights = values.get("transformer_weights")
        is_dict = isinstance(weights, dict)
        if weights is not None and not (
            is_dict and all(type(weight) in (int, float) for weight in weights.values())
        ):
            raise ValueError(
                f"'transformer_weights' must be a dict of numbers, got {weights!r:.60}."
            )
        n_jobs = values.get("n_jobs")
        if n_jobs is not None and not (isinstance(n_jobs, int) and abs(n_jobs) <= _MAX_JOBS):
            raise ValueError(
                f"'n_jobs' must be an integer up to {_MAX_JOBS} or None, got {n_jobs!r:.60}."
            )
    _check_vectorizer(values)


def _check_steps(name: str, steps: Any) -> None:
    if not isinstance(steps, list | tuple) or (name == "Pipeline" and not steps):
        raise ValueError(f"{_STEPS[name]!r} must be a list of steps, got {steps!r:.60}.")
    for index, step in enumerate(steps):
        if not isinstance(step, list | tuple) or len(step) != 2 or not isinstance(step[0], str):
            raise ValueError(
                f"each of {_STEPS[name]!r} must be a name and an estimator, got {step!r:.60}."
            )
        is_last = name == "Pipeline" and index == len(steps) - 1
        part = step[1]
        if isinstance(part, str | None) and part in _PASSED:
            continue
        if not hasattr(part, "get_params") or not (is_last or hasattr(part, "transform")):
            raise ValueError(
                f"{step[0]!r} of {_STEPS[name]!r} must be a transformer, got {type(part).__name__}."
            )


def _check_vectorizer(values: dict[str, Any]) -> None:
    ngram_range = values.get("ngram_range", (1, 1))
    if not isinstance(ngram_range, list | tuple) or [type(n) for n in ngram_range] != [int, int]:
        raise ValueError(f"'ngram_range' must be two integers, got {ngram_range!r:.60}.")
    try:
        np.dtype(values.get("dtype", np.float64))
    except (SyntaxError, TypeError, ValueError) as error:
        raise ValueError(
            f"'dtype' must be a type of numbers, got {values['dtype']!r:.60}."
        ) from error
    stop_words = values.get("stop_words")
    if isinstance(stop_words, list) and not all(isinstance(word, str) for word in stop_words):
        raise ValueError("'stop_words' must be a list of strings.")


def set_state(estimator: Any, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Set the state of a model of an earlier version; raise an error if its parts do not match."""
    n_features = values["n_features_in_"]
    if type(n_features) is not int:
        raise TypeError(f"n_features_in_ must be an integer, got {n_features!r}")
    estimator.n_features_in_ = n_features
    shapes: dict[str, tuple[int, ...]] = {"idf_": (n_features,)}
    if type(estimator).__name__ == "LogisticRegression":
        estimator.classes_ = decode_labels(
            values["classes_"]["values"], values["classes_"]["dtype"]
        )
        n_rows = 1 if len(estimator.classes_) == 2 else len(estimator.classes_)
        shapes = {"coef_": (n_rows, n_features), "intercept_": (n_rows,)}
    for name, shape in shapes.items():
        if arrays[name].shape != shape or arrays[name].dtype.kind != "f":
            raise ValueError(f"{name} must be floats of shape {shape}, got {arrays[name].shape}")
        setattr(estimator, name, arrays[name])
