"""Encoding of a model as a JSON document and named arrays."""

# Estimators have methods _get_model_state and _set_model_state of their learned state: values for
# encode_value, and numeric arrays, of which float32 tables (keys that end with TABLE_VALUES) can be
# stored in lower precision, or are in 4 bits already, an Int4Table. Those of the state that resumes
# a training, saved on request and set afterwards, are _get_training_state (which may return None)
# and _set_training_state.

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp._sklearn import configuration, configure
from sklearn_hashnlp.kernels.ngrams._int4_table import Int4Table
from sklearn_hashnlp.persistence._scikit_learn_steps import (
    LOADED_CLASSES,
    SAVED_CLASSES,
    check_parameters,
    set_state,
)
from sklearn_hashnlp.persistence._tables import TABLE_VALUES, from_int8, to_float16, to_int8
from sklearn_hashnlp.persistence._values import (
    ModelFormatError,
    decode_value,
    encode_value,
    is_finite,
)
from sklearn_hashnlp.text._ngram_spec import NgramSpec
from sklearn_hashnlp.text._specs_of import specs_of

Arrays = dict[str, NDArray[Any]]

# The only classes that a model folder can name, and the modules that they are imported from when a
# model is loaded: this folder imports no estimators. Each class has no learned state, or
# _get_model_state and _set_model_state.
ALLOWED_CLASSES: dict[str, str] = {
    "AutoNgramVectorizer": "sklearn_hashnlp.text",
    "CacheLanguageModel": "sklearn_hashnlp.language",
    "CharNgramFeaturizer": "sklearn_hashnlp.text",
    "CooccurrenceEncoder": "sklearn_hashnlp.sentences",
    "DistilledSentenceEncoder": "sklearn_hashnlp.sentences",
    "EarlyStopping": "sklearn_hashnlp.training",
    "EmbeddingTables": "sklearn_hashnlp.classifiers",
    "FastTextVectorizer": "sklearn_hashnlp.text._fasttext_vectorizer",
    "FrequentNgramVectorizer": "sklearn_hashnlp.text",
    "HashEmbeddingClassifier": "sklearn_hashnlp.classifiers",
    "HashingNgramVectorizer": "sklearn_hashnlp.text",
    "HsigmoidLanguageModel": "sklearn_hashnlp.language",
    "InterpolatedLanguageModel": "sklearn_hashnlp.language",
    "KneserNeyLanguageModel": "sklearn_hashnlp.language",
    "LanguageSchedule": "sklearn_hashnlp.language",
    "Network": "sklearn_hashnlp.sentences",
    "NgramVectorUnion": "sklearn_hashnlp.text._ngram_vector_union",
    "Objectives": "sklearn_hashnlp.sentences",
    "QuantizedSGNNClassifier": "sklearn_hashnlp.classifiers",
    "Regularization": "sklearn_hashnlp.language",
    "SGNNProjector": "sklearn_hashnlp.text",
    "SGNNWordProjector": "sklearn_hashnlp.text",
    "SGNNClassifier": "sklearn_hashnlp.classifiers",
    "Schedule": "sklearn_hashnlp.training",
    "SGNNSentenceEncoder": "sklearn_hashnlp.sentences",
    "TextClassifier": "sklearn_hashnlp.classifiers",
} | SAVED_CLASSES

# Recursion needs several stack frames per level; a saved model must also load with fewer free
# frames.
_MAX_DEPTH = 50
# At the next fit, joblib reads pickles, which are code, from the folder set by this parameter.
_CACHE_PARAMETER = "memory"
# Parameters of meta-estimators that fit clones: they are saved fitted or not.
_TEMPLATE_PARAMETERS = frozenset(["classifier", "estimator", "models", "vectorizer"])

# Classes that compute with tables in 4 bits. A scale per row takes more space than it saves where
# rows have few numbers, as those of classifiers.
_INT4_CLASSES = frozenset(["CooccurrenceEncoder", "DistilledSentenceEncoder"])

# Keys of arrays in which NaN is allowed: the discounts of a model from an ARPA file are unknown.
_MAY_BE_NAN = frozenset(["discounts"])


def encode_model(
    model: Any, *, precision: str = "float32", training_state: bool = False, fitted: bool = True
) -> tuple[dict[str, Any], Arrays]:
    """Encode a model as a JSON document and arrays; ``fitted=False`` if it need not be fitted."""
    arrays: Arrays = {}
    trained: list[str] = []

    def encode(
        estimator: Any, where: str, depth: int = 1, in_template: bool = False
    ) -> dict[str, Any]:
        if depth > _MAX_DEPTH:
            raise ValueError(
                f"A model folder cannot hold this model: it is nested deeper than {_MAX_DEPTH} "
                "estimators."
            )
        name, encode_part = type(estimator).__name__, partial(encode, depth=depth + 1)
        if name not in ALLOWED_CLASSES or _class_named(name) is not type(estimator):
            raise TypeError(
                f"A model folder cannot hold {where}: it is a {type(estimator).__module__}.{name}, "
                f"and only these classes are known: {', '.join(sorted(ALLOWED_CLASSES))}. Use "
                "skops.io.dump(model, path) instead, or joblib.dump(model, path)."
            )
        if getattr(estimator, _CACHE_PARAMETER, None) is not None:
            raise TypeError(
                f"A model folder cannot hold parameter {_CACHE_PARAMETER!r} of {name}: the next "
                "fit would read pickles from that cache, and pickles are code. Unset it first: "
                f"set_params({_CACHE_PARAMETER}=None)."
            )
        parameters = {}
        given = estimator.get_params(deep=False)
        if isinstance(given.get("callbacks"), list) and given["callbacks"]:
            given["callbacks"] = [
                each for each in given["callbacks"] if not _is_own_callback(each)
            ] or None
        for parameter, value in sorted(given.items()):
            encode_nested = partial(
                encode_part, in_template=in_template or parameter in _TEMPLATE_PARAMETERS
            )
            parameters[parameter] = encode_value(
                value, f"parameter {parameter!r} of {name}", encode_nested
            )
        description: dict[str, Any] = {
            "class": name,
            "parameters": parameters,
            **configuration(estimator),
        }
        if name == "Pipeline" and not in_template:  # for readers without scikit-learn
            with suppress(TypeError, ValueError):  # has other columns, too
                description["ngram_specs"] = [
                    spec.to_dict() for spec in specs_of(estimator.steps[0][1])
                ]
        if in_template and not _is_fitted(estimator):
            description["fitted"] = False
        elif _has_model_state(estimator):
            check_is_fitted(estimator)
            description |= _describe_state(
                estimator._get_model_state(), name, precision, arrays, encode_part
            )
            training = (
                estimator._get_training_state()
                if training_state and _has_training_state(estimator)
                else None
            )
            if training is not None:
                description["training"] = _describe_state(
                    training, name, "float32", arrays, encode_part
                )
                trained.append(name)
        return description

    description = encode(model, "this model", in_template=not fitted)
    if training_state and not trained:
        raise ValueError(
            "training_state=True, but this model has no training state: none of its estimators "
            "has one, or it was loaded from a folder without one. Set training_state=False."
        )
    return description, arrays


def decode_model(description: Any, arrays: Arrays) -> Any:
    """Build the model from the result of :func:`encode_model`."""

    def decode(part: Any, where: str) -> Any:
        if not isinstance(part, dict) or not isinstance(part.get("parameters"), dict):
            raise ModelFormatError(
                f"Expected the description of an estimator for {where}, got {type(part).__name__}."
            )
        name = part.get("class")
        if not isinstance(name, str) or name not in ALLOWED_CLASSES | LOADED_CLASSES:
            raise ModelFormatError(
                f"The model has the class {name!r}, which this version of sklearn-hashnlp does not "
                f"know. Known classes: {', '.join(sorted(ALLOWED_CLASSES))}."
            )
        estimator = _construct(name, part["parameters"], decode)
        try:
            configure(estimator, part)
            _ = [NgramSpec.from_dict(spec) for spec in part.get("ngram_specs", [])]
        except (AttributeError, TypeError, ValueError) as error:
            raise ModelFormatError(f"The configuration of {name} is damaged: {error!r}.") from error
        is_earlier = name in LOADED_CLASSES
        expected = (is_earlier or _has_model_state(estimator)) and part.get("fitted") is not False
        if expected != ("state" in part):
            raise ModelFormatError(
                f"The model holds {'a' if 'state' in part else 'no'} learned state for {name}."
            )
        if "state" in part:
            restore = partial(set_state, estimator) if is_earlier else estimator._set_model_state
            _restore(restore, part, arrays, f"learned state of {name}", decode)
        if "training" in part:
            if not _has_training_state(estimator):
                raise ModelFormatError(
                    f"The model holds a training state for {name}, which has none."
                )
            _restore(
                estimator._set_training_state,
                part["training"],
                arrays,
                f"training state of {name}",
                decode,
            )
        return estimator

    return decode(description, "the model")


def _is_own_callback(callback: Any) -> bool:
    """Return whether a callback, possibly named, is of this package and therefore not saved."""
    alone = callback[-1] if isinstance(callback, tuple | list) and callback else callback
    return type(alone).__module__ == "sklearn_hashnlp.training._callbacks"


def _has_model_state(estimator: Any) -> bool:
    """Return whether an estimator's class has a learned state, unlike a FrozenEstimator."""
    return hasattr(type(estimator), "_get_model_state")


def _is_fitted(estimator: Any) -> bool:
    if not hasattr(estimator, "fit"):  # a parameter bundle
        return True
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def _describe_state(
    state: tuple[dict[str, Any], Arrays],
    name: str,
    precision: str,
    arrays: Arrays,
    encode: Callable[[Any, str], dict[str, Any]],
) -> dict[str, Any]:
    """Encode the state of one estimator, and add its arrays to those of the model."""
    values, own_arrays = state
    if precision == "int4":
        tables = [key for key in own_arrays if key.endswith(TABLE_VALUES)]
        if tables and name not in _INT4_CLASSES:
            raise ValueError(
                f"precision='int4' is for {' and '.join(sorted(_INT4_CLASSES))}, and this model "
                f"has tables of a {name}: {', '.join(tables)}. Save with precision='int8', which "
                "keeps the 4 bits of a loaded encoder inside."
            )
    return {
        "state": {
            key: encode_value(value, f"{key!r} of {name}", encode) for key, value in values.items()
        },
        "arrays": {
            key: _store(key, array, f"{key!r} of {name}", precision, arrays)
            for key, array in own_arrays.items()
        },
    }


def _store(key: str, array: Any, where: str, precision: str, arrays: Arrays) -> Any:
    """Add an array to the arrays of the model, and return its names for :func:`_fetch`."""
    if isinstance(array, Int4Table):
        names = [_add(key, array.codes, arrays), _add(f"{key}.scale", array.scales, arrays)]
        return {"int4": names, "columns": array.n_columns}
    array = np.asarray(array)
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"A model folder cannot hold {where}: it is an array of {array.dtype}, not of numbers."
        )
    array = np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")
    if key not in _MAY_BE_NAN and not is_finite(array):
        raise ValueError(f"A model folder cannot hold {where}: it has infinite values or NaN.")
    if precision == "float32" or not key.endswith(TABLE_VALUES) or array.dtype != np.float32:
        return _add(key, array, arrays)
    if precision == "float16":
        return {"float16": _add(key, to_float16(array, where), arrays)}
    if precision == "int4":
        return _store(key, Int4Table.of(array), where, precision, arrays)
    levels, scale = to_int8(array, where)
    return {"int8": [_add(key, levels, arrays), _add(f"{key}.scale", scale, arrays)]}


def _add(name: str, array: NDArray[Any], arrays: Arrays) -> str:
    while name in arrays:  # two estimators of one class in one pipeline
        name += "'"
    arrays[name] = array
    return name


def _construct(name: str, parameters: dict[str, Any], decode: Callable[[Any, str], Any]) -> Any:
    """Build an estimator with checked parameters; missing parameters have their defaults."""
    cls = _class_named(name)
    unknown = sorted(set(parameters) - set(cls._get_param_names()))
    if unknown:
        raise ModelFormatError(
            f"The model sets the parameter {unknown[0]!r}, which {name} of this version does not "
            "have. Was it saved by a newer version of sklearn-hashnlp or scikit-learn?"
        )
    if parameters.get(_CACHE_PARAMETER) is not None:
        raise ModelFormatError(
            f"The model sets the parameter {_CACHE_PARAMETER!r} of {name}: the next fit would read "
            "pickles from that cache, and pickles are code."
        )
    values = {
        parameter: decode_value(value, f"parameter {parameter!r} of {name}", decode)
        for parameter, value in parameters.items()
    }
    try:
        estimator = cls(**values)
        if hasattr(estimator, "_parameter_constraints"):  # FeatureUnion declares none
            estimator._validate_params()
        check_parameters(name, values)
    except (TypeError, ValueError) as error:
        if isinstance(error, ModelFormatError):
            raise
        raise ModelFormatError(
            f"The model has a parameter that {name} does not accept: {error}"
        ) from error
    return estimator


def _restore(
    set_state: Callable[[dict[str, Any], Arrays], None],
    described: Any,
    arrays: Arrays,
    where: str,
    decode: Callable[[Any, str], Any],
) -> None:
    """Set the state of an estimator from its description."""
    state, names = (
        described.get(key) if isinstance(described, dict) else None for key in ("state", "arrays")
    )
    if not isinstance(state, dict) or not isinstance(names, dict):
        raise ModelFormatError(f"The {where} is damaged.")
    values = {
        key: decode_value(value, f"{key!r} of the {where}", decode) for key, value in state.items()
    }
    own_arrays = {key: _fetch(stored, arrays, where) for key, stored in names.items()}
    for key, array in own_arrays.items():
        numbers = array.scales if isinstance(array, Int4Table) else array
        if key not in _MAY_BE_NAN and not is_finite(numbers):
            raise ModelFormatError(
                f"The {where} is damaged: its array {key!r} has infinite values or NaN."
            )
    try:
        set_state(values, own_arrays)
    except (
        AttributeError,
        IndexError,
        KeyError,
        OverflowError,
        TypeError,
        ValueError,
        RuntimeError,
    ) as error:  # RuntimeError: torch, over wrong shapes
        raise ModelFormatError(f"The {where} does not fit: {error!r}.") from error
    except MemoryError as error:
        raise ModelFormatError(
            f"The {where} does not fit into memory, or is damaged: {error}"
        ) from error


def _fetch(stored: Any, arrays: Arrays, where: str) -> Any:
    """Return an array; a table stored in lower precision is rounded."""
    try:
        match stored:
            case str():
                return arrays[stored]
            case {"float16": str(name)}:
                return arrays[name].astype(np.float32)
            case {"int8": [str(name), str(scale)]}:
                return from_int8(arrays[name], arrays[scale])
            case {"int4": [str(name), str(scale)], "columns": int(n_columns)}:
                return Int4Table(arrays[name], arrays[scale], n_columns)
    except KeyError as error:
        raise ModelFormatError(f"The {where} lacks its array {error}.") from error
    except ValueError as error:  # scales of another shape
        raise ModelFormatError(f"The {where} is damaged: {error}.") from error
    raise ModelFormatError(f"The {where} has an array in an unknown encoding: {stored!r}.")


def _has_training_state(estimator: Any) -> bool:
    return hasattr(type(estimator), "_get_training_state")


def _class_named(name: str) -> Any:
    return getattr(import_module((ALLOWED_CLASSES | LOADED_CLASSES)[name]), name)
