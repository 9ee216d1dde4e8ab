"""A model as a JSON document and named arrays, and back."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp.persistence._values import ModelFormatError, decode_value, encode_value

Arrays = dict[str, NDArray[Any]]

# The only classes that a model folder can name, with the module that each is imported from. This folder stands left
# of the estimators and imports none of them; whoever loads a model is the one who imports.
# A class in this table either has no learned state or has _get_model_state and _set_model_state.
ALLOWED_CLASSES: dict[str, str] = {
    "CharNgramFeaturizer": "sklearn_hashnlp.text",
    "FeatureUnion": "sklearn.pipeline",
    "HashEmbeddingClassifier": "sklearn_hashnlp.estimators",
    "HashingNgramVectorizer": "sklearn_hashnlp.text",
    "HashingVectorizer": "sklearn.feature_extraction.text",
    "Normalizer": "sklearn.preprocessing",
    "Pipeline": "sklearn.pipeline",
}

# Calls of encode within one another and Python's frames grow together; what is saved must load with a deeper stack.
_DEEPEST = 50
# joblib reads this folder's files at the next fit, and they are pickles: a model that names it names code.
_CACHE = "memory"


def encode_model(model: Any) -> tuple[dict[str, Any], Arrays]:
    """Describe a model by JSON values and arrays.

    Parameters
    ----------
    model : estimator
        A fitted estimator of one of the known classes, or a pipeline of such.

    Returns
    -------
    description : dict
        ``class``, ``parameters`` and, for what was learned, ``state`` and ``arrays`` (name within the estimator to
        name in the file).
    arrays : dict of str to ndarray
        The learned arrays, contiguous.

    Raises
    ------
    TypeError
        For a class that is not known and for a parameter value that a folder cannot hold.
    ValueError
        If pipelines are nested too deeply.
    sklearn.exceptions.NotFittedError
        If there is something to learn and it was not learned yet.
    """
    arrays: Arrays = {}
    depth = 0

    def encode(estimator: Any, where: str) -> dict[str, Any]:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise ValueError(f"A model folder cannot hold this model: it is nested deeper than {_DEEPEST} estimators.")
        description = describe(estimator, where)
        depth -= 1
        return description

    def describe(estimator: Any, where: str) -> dict[str, Any]:
        name = type(estimator).__name__
        if name not in ALLOWED_CLASSES or _class_named(name) is not type(estimator):
            raise TypeError(
                f"A model folder cannot hold {where}: it is a {type(estimator).__module__}.{name}, and only these "
                f"classes are known: {', '.join(sorted(ALLOWED_CLASSES))}. Use joblib.dump(model, path) instead."
            )
        if getattr(estimator, _CACHE, None) is not None:
            raise TypeError(
                f"A model folder cannot hold parameter {_CACHE!r} of {name}: the next fit would read pickles from the "
                f"cache that it names, and pickles are code. Unset it first: set_params({_CACHE}=None)."
            )
        parameters = {
            parameter: encode_value(value, f"parameter {parameter!r} of {name}", encode)
            for parameter, value in sorted(estimator.get_params(deep=False).items())
        }
        description: dict[str, Any] = {"class": name, "parameters": parameters}
        if hasattr(estimator, "_get_model_state"):
            check_is_fitted(estimator)
            values, own_arrays = estimator._get_model_state()
            state = {key: encode_value(value, f"{key!r} of {name}", _no_estimator) for key, value in values.items()}
            description |= {"state": state, "arrays": {}}
            for key, array in own_arrays.items():
                stored = key
                while stored in arrays:  # two estimators of one class in one pipeline
                    stored += "'"
                arrays[stored] = _storable(array, f"{key!r} of {name}")
                description["arrays"][key] = stored
        return description

    return encode(model, "this model"), arrays


def decode_model(description: Any, arrays: Arrays) -> Any:
    """Build the model that :func:`encode_model` described.

    Parameters
    ----------
    description : dict
        The description.
    arrays : dict of str to ndarray
        The learned arrays.

    Returns
    -------
    estimator
        The model.

    Raises
    ------
    ModelFormatError
        If anything in the description is not what was expected.
    """

    def decode(part: Any, where: str) -> Any:
        if not isinstance(part, dict) or not isinstance(part.get("parameters"), dict):
            raise ModelFormatError(
                f"Expected the description of an estimator for {where}, found {type(part).__name__}."
            )
        name = part.get("class")
        if not isinstance(name, str) or name not in ALLOWED_CLASSES:
            raise ModelFormatError(
                f"The model asks for the class {name!r}, which this version of sklearn-hashnlp does not know. "
                f"Known are {', '.join(sorted(ALLOWED_CLASSES))}."
            )
        estimator = _construct(name, part["parameters"], decode)
        state, names = part.get("state"), part.get("arrays")
        if hasattr(estimator, "_set_model_state") != (state is not None):
            raise ModelFormatError(f"The model holds {'no' if state is None else 'a'} learned state for {name}.")
        if state is not None:
            _restore(estimator, state, names, arrays)
        return estimator

    return decode(description, "the model")


def _construct(name: str, parameters: dict[str, Any], decode: Callable[[Any, str], Any]) -> Any:
    """Make an estimator with checked parameters. One that an older version did not have keeps its default."""
    cls = _class_named(name)
    unknown = sorted(set(parameters) - set(cls._get_param_names()))
    if unknown:
        raise ModelFormatError(
            f"The model sets the parameter {unknown[0]!r}, which {name} of this version does not have. "
            "Was it saved by a newer version of sklearn-hashnlp or scikit-learn?"
        )
    if parameters.get(_CACHE) is not None:
        raise ModelFormatError(
            f"The model sets the parameter {_CACHE!r} of {name}: the next fit would read pickles from the cache that "
            "it names, and pickles are code."
        )
    values = {
        parameter: decode_value(value, f"parameter {parameter!r} of {name}", decode)
        for parameter, value in parameters.items()
    }
    try:
        estimator = cls(**values)
        if hasattr(estimator, "_parameter_constraints"):  # FeatureUnion declares none
            estimator._validate_params()
    except (TypeError, ValueError) as error:
        if isinstance(error, ModelFormatError):
            raise
        raise ModelFormatError(f"The model has a parameter that {name} does not accept: {error}") from error
    return estimator


def _restore(estimator: Any, state: Any, names: Any, arrays: Arrays) -> None:
    """Give an estimator what it had learned."""
    name = type(estimator).__name__
    if not isinstance(state, dict) or not isinstance(names, dict):
        raise ModelFormatError(f"The learned state of {name} is damaged.")
    missing = [stored for stored in names.values() if stored not in arrays]
    if missing:
        raise ModelFormatError(f"The learned state of {name} lacks its array {missing[0]!r}.")
    values = {key: decode_value(value, f"{key!r} of {name}", _no_description) for key, value in state.items()}
    try:
        estimator._set_model_state(values, {key: arrays[stored] for key, stored in names.items()})
    except (
        IndexError,
        KeyError,
        TypeError,
        ValueError,
        RuntimeError,
    ) as error:  # RuntimeError: torch, over wrong shapes
        raise ModelFormatError(f"The learned state of {name} does not fit: {error!r}.") from error


def _storable(array: Any, where: str) -> NDArray[Any]:
    array = np.asarray(array)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"A model folder cannot hold {where}: it is an array of {array.dtype}, not of numbers.")
    return np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")


def _class_named(name: str) -> Any:
    return getattr(import_module(ALLOWED_CLASSES[name]), name)


def _no_estimator(_value: Any, where: str) -> Any:
    raise TypeError(f"A model folder cannot hold {where}: an estimator is no learned value.")


def _no_description(_part: Any, where: str) -> Any:
    raise ModelFormatError(f"Expected a plain value for {where}, found an estimator.")
