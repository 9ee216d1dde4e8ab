"""The parameters that a search draws, and their distributions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution

from sklearn_hashnlp.classifiers._make_text_classifier import MODEL_PARAMETERS

_SPACE: dict[str, Any] = {
    "features": ["auto", "words", "words+characters", "characters"],
    "lowercase": [True, False],
    "ngram_range": [(1, 1), (1, 2), (1, 3)],
    "n_buckets": IntDistribution(2**10, 2**20, log=True),
    "n_embeddings": IntDistribution(2**12, 2**20, log=True),
}
# Tried after the default parameters, since they are fast and often good.
_FIRST: list[dict[str, Any]] = [{"features": "words"}, {"features": "words", "lowercase": False}, {"lowercase": False}]


class SearchSpace:
    """Distributions of optuna, and the parameters of a classifier that are encoded by their values."""

    def __init__(self, space: Mapping[str, Any] | None, defaults: Mapping[str, Any], *, caller: str) -> None:
        first = _FIRST if space is None else []
        if space is None:
            space = _SPACE
            if defaults["classifier"] is not None:
                space = {_name_in_classifier(name): values for name, values in space.items()}
        for name in space:
            _check_name(name, defaults, caller=caller)
        self._defaults = defaults
        self._choices = {
            name: {_encoded(value): value for value in _listed(name, values, caller=caller)}
            for name, values in space.items()
            if not isinstance(values, BaseDistribution)
        }
        self.distributions: dict[str, BaseDistribution] = {
            name: CategoricalDistribution(list(self._choices[name])) if name in self._choices else distribution
            for name, distribution in space.items()
        }
        values: list[dict[str, Any]] = [{}, *first]
        self.first = list({identity(self.decode(one)): one for one in reversed(values)}.values())[::-1]

    def decode(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters that differ from the defaults."""
        params = {
            name: self._choices[name][value] if name in self._choices else value for name, value in values.items()
        }
        if params.get("features") == "characters":
            params.pop("ngram_range", None)  # is ignored
        return {name: value for name, value in params.items() if identity(value) != identity(self._defaults[name])}


def _name_in_classifier(name: str) -> str:
    """Return the name of a parameter of an estimator with ``classifier=``, which takes the parameters of the model."""
    return f"classifier__{name}" if name in MODEL_PARAMETERS else name


def _check_name(name: str, defaults: Mapping[str, Any], *, caller: str) -> None:
    has = f"param_distributions of {caller} has {name!r}"
    if name not in defaults:
        if name.startswith("classifier__") and defaults["classifier"] is None:
            raise ValueError(
                f"{has}, and the estimator needs classifier= for it, such as "
                "estimator=TextClassifier(classifier=HashEmbeddingClassifier())."
            )
        raise ValueError(
            f"{has}, which is not a parameter of a TextClassifier. Its parameters are {', '.join(defaults)}."
        )
    if defaults["classifier"] is not None and name in MODEL_PARAMETERS:
        raise ValueError(
            f"{has}, which must have its default as the estimator has classifier=. Name it "
            f"{_name_in_classifier(name)!r}."
        )


def _listed(name: str, values: Any, *, caller: str) -> list[Any]:
    """Return the values of a parameter as a list."""
    try:
        listed = [] if isinstance(values, str | bytes | Mapping) else list(values)
    except TypeError:
        listed = []
    if not listed:
        raise ValueError(
            f"param_distributions of {caller} has {name!r}: expected a non-empty list of values or a distribution of "
            f"optuna.distributions, got {values!r}."
        )
    return listed


def identity(params: Any) -> str:
    """Return a string that equal parameters share."""
    return json.dumps(params, sort_keys=True, default=repr)


def _encoded(value: Any) -> bool | int | float | str | None:
    """Return a value that optuna can store: numbers and strings, and others, such as tuples, as their repr."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
