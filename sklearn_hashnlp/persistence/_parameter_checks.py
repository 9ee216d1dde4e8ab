"""Checks of parameters that scikit-learn only makes in ``transform``, or not at all."""

from __future__ import annotations

from typing import Any

import numpy as np

_STEPS = {"ColumnTransformer": "transformers", "FeatureUnion": "transformer_list", "Pipeline": "steps"}
_MAX_JOBS = 2**15
_PASSED = ("drop", "passthrough", None)


def check_parameters(name: str, values: dict[str, Any]) -> None:
    """Raise a ValueError for parameters of an estimator class that would fail later."""
    if name in _STEPS and _STEPS[name] in values:
        _check_steps(name, values[_STEPS[name]])
    if name == "FeatureUnion":
        _check_weights(values.get("transformer_weights"))
        n_jobs = values.get("n_jobs")
        if n_jobs is not None and not (isinstance(n_jobs, int) and abs(n_jobs) <= _MAX_JOBS):
            raise ValueError(f"'n_jobs' must be an integer up to {_MAX_JOBS} or None, got {n_jobs!r:.60}.")
    _check_vectorizer(values)


def _check_steps(name: str, steps: Any) -> None:
    parts = 3 if name == "ColumnTransformer" else 2
    if not isinstance(steps, list | tuple) or (name == "Pipeline" and not steps):
        raise ValueError(f"{_STEPS[name]!r} must be a list of steps, got {steps!r:.60}.")
    for index, step in enumerate(steps):
        if not isinstance(step, list | tuple) or len(step) != parts or not isinstance(step[0], str):
            raise ValueError(f"each of {_STEPS[name]!r} must be a name and an estimator, got {step!r:.60}.")
        is_last = name == "Pipeline" and index == len(steps) - 1
        part = step[1]
        if isinstance(part, str | None) and part in _PASSED:
            continue
        if not hasattr(part, "get_params") or not (is_last or hasattr(part, "transform")):
            raise ValueError(f"{step[0]!r} of {_STEPS[name]!r} must be a transformer, got {type(part).__name__}.")


def _check_weights(weights: Any) -> None:
    if weights is None:
        return
    if not isinstance(weights, dict) or not all(_is_number(weight) for weight in weights.values()):
        raise ValueError(f"'transformer_weights' must be a dict of numbers, got {weights!r:.60}.")


def _check_vectorizer(values: dict[str, Any]) -> None:
    ngram_range = values.get("ngram_range", (1, 1))
    if not isinstance(ngram_range, list | tuple) or [type(n) for n in ngram_range] != [int, int]:
        raise ValueError(f"'ngram_range' must be two integers, got {ngram_range!r:.60}.")
    try:
        np.dtype(values.get("dtype", np.float64))
    except (SyntaxError, TypeError, ValueError) as error:
        raise ValueError(f"'dtype' must be a type of numbers, got {values['dtype']!r:.60}.") from error
    stop_words = values.get("stop_words")
    if isinstance(stop_words, list) and not all(isinstance(word, str) for word in stop_words):
        raise ValueError("'stop_words' must be a list of strings.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
