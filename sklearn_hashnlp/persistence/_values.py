"""Encode parameter values as JSON and preserve their types."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Every JSON object in a model is a tag with content, because JSON has no tuples, sets, keys other
# than strings, or infinity.
_SCALAR_TYPES: dict[str, type] = {"bool": bool, "float": float, "int": int}
_DTYPE_NAMES = frozenset(
    ["bool", "float16", "float32", "float64"]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)
_LABEL_DTYPE = r"[<>=|]?[biufUO]\d{0,9}|bool|object|u?int\d{1,2}|float\d{2,3}"
_MAX_LABEL_BYTES = 2**26  # for types wider than all labels
_TREES = "sklearn_hashnlp.trees"  # imported on use: it is loaded if there is a tree


class ModelFormatError(ValueError):
    """Error for a model or file that cannot be loaded: incomplete, damaged, changed, or too new.

    Raised by :func:`~sklearn_hashnlp.persistence.load_model` and
    :func:`~sklearn_hashnlp.persistence.load_word_vectors`; the message explains the problem and its
    solution.

    Examples
    --------
    >>> from sklearn_hashnlp.persistence import ModelFormatError
    >>> issubclass(ModelFormatError, ValueError)
    True
    """


def encode_value(value: Any, where: str, encode_estimator: Callable[[Any, str], Any]) -> Any:
    """Encode one parameter value as JSON."""

    def encode(part: Any) -> Any:
        return encode_value(part, where, encode_estimator)

    if isinstance(value, np.bool_ | np.integer | np.floating):
        value = value.item()
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, list):
        return [encode(part) for part in value]
    if type(value) is tuple:
        return {"tuple": [encode(part) for part in value]}
    if isinstance(value, set | frozenset):
        kind = "set" if isinstance(value, set) else "frozenset"
        return {
            kind: sorted((encode(part) for part in value), key=repr)
        }  # the order of a set differs between processes
    if type(value) is dict:
        return {"dict": [[encode(key), encode(part)] for key, part in value.items()]}
    if type(value) is np.ndarray and value.dtype.name in _DTYPE_NAMES:
        return {"array": [value.dtype.name, list(value.shape), encode(value.ravel().tolist())]}
    if isinstance(value, PurePath):
        return {"path": str(value)}
    if isinstance(value, np.dtype) and value.name in _DTYPE_NAMES:
        return {"dtype": value.name}
    if isinstance(value, type):
        if issubclass(value, np.generic) and np.dtype(value).name in _DTYPE_NAMES:
            return {"numpy_type": np.dtype(value).name}
        if value in _SCALAR_TYPES.values():
            return {"type": value.__name__}
    elif _is_estimator(value):
        return {"estimator": encode_estimator(value, where)}
    elif type(value) is getattr(sys.modules.get(_TREES), "SoftmaxTree", None):
        return {"tree": {name: array.tolist() for name, array in value.to_arrays().items()}}
    raise TypeError(f"A model folder cannot hold {where}: {_reason(value)}")


def decode_value(value: Any, where: str, decode_estimator: Callable[[Any, str], Any]) -> Any:
    """Decode the result of :func:`encode_value`."""

    def decode(part: Any) -> Any:
        return decode_value(part, where, decode_estimator)

    if isinstance(value, list):
        return [decode(part) for part in value]
    if not isinstance(value, dict):
        return value
    try:
        [(tag, content)] = value.items()
        match tag:
            case "tuple":
                return tuple(decode(part) for part in content)
            case "set":
                return {decode(part) for part in content}
            case "frozenset":
                return frozenset(decode(part) for part in content)
            case "dict":
                return {decode(key): decode(part) for key, part in content}
            case "float":
                return float(content)
            case "type":
                return _SCALAR_TYPES[content]
            case "dtype" | "numpy_type" if content in _DTYPE_NAMES:
                return np.dtype(content) if tag == "dtype" else np.dtype(content).type
            case "array":
                dtype, shape, numbers = content
                if dtype in _DTYPE_NAMES:
                    return np.array(decode(numbers), dtype=dtype).reshape(shape)
            case "path":
                return Path(content)
            case "tree":
                return import_module(_TREES).SoftmaxTree.from_arrays(content)
            case "estimator":
                return decode_estimator(content, where)
    except ModelFormatError:
        raise
    except (KeyError, OverflowError, TypeError, ValueError) as error:
        raise ModelFormatError(
            f"The value of {where} is damaged: {short(value)} ({error})."
        ) from error
    raise ModelFormatError(f"The value of {where} is of an unknown kind: {short(value)}.")


def is_finite(array: NDArray[Any]) -> bool:
    """Return whether an array has neither infinite values nor NaN, without copying it."""
    if array.dtype.kind != "f" or array.size == 0:
        return True
    with np.errstate(invalid="ignore"):
        return bool(np.isfinite(array.min()) and np.isfinite(array.max()))


def decode_labels(values: Any, dtype: Any) -> NDArray[Any]:
    """Return class labels of a stored type; raise a TypeError or ValueError for invalid ones."""
    if not isinstance(dtype, str) or not re.fullmatch(_LABEL_DTYPE, dtype, re.ASCII):
        raise TypeError(f"labels of {dtype!r:.60} are not known")
    dtype = np.dtype(dtype)
    if not isinstance(values, list) or not all(
        isinstance(value, str | int | float) for value in values
    ):
        raise TypeError("labels must be a list of strings or numbers")
    longest = max((len(value) for value in values if isinstance(value, str)), default=0)
    n_bytes = dtype.itemsize * len(values)
    if n_bytes > max(_MAX_LABEL_BYTES, np.dtype(f"U{max(longest, 1)}").itemsize * len(values)):
        raise ValueError(f"{len(values)} labels would take {n_bytes:,} bytes")
    return np.array(values, dtype=dtype)


def _is_estimator(value: Any) -> bool:
    from sklearn.base import BaseEstimator  # slow to import, and not needed to read a model

    return isinstance(value, BaseEstimator)


def _reason(value: Any) -> str:
    joblib = (
        "or save the whole model with joblib.dump(model, path), whose files can run code: load "
        "only what you trust."
    )
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return "it is a random generator. Use an int as seed."
    if callable(value):
        name = getattr(value, "__name__", type(value).__name__)
        return f"it is code ({name}), and loading a folder runs none. Unset it, {joblib}"
    if isinstance(value, np.ndarray):
        return f"it is an array of {value.dtype}, not of numbers. Use a list."
    return f"it is of type {type(value).__module__}.{type(value).__qualname__}. Unset it, {joblib}"


def short(value: Any) -> str:
    """Return the start of a value's ``repr``."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
