"""A dictionary of fastText as the values and arrays of a model folder."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.text._fasttext_dictionary import FastTextDictionary

Arrays = dict[str, NDArray[Any]]

_INTEGERS = ("n_words", "bucket", "word_ngrams", "min_n", "max_n")


def dictionary_to_state(dictionary: FastTextDictionary) -> tuple[dict[str, Any], Arrays]:
    """Return a dictionary as JSON values and arrays."""
    values = {name: getattr(dictionary, name) for name in (*_INTEGERS, "label_prefix")}
    arrays: Arrays = {"dictionary.names": dictionary.names, "dictionary.offsets": dictionary.offsets}
    if dictionary.pruned is not None:
        arrays["dictionary.pruned"] = dictionary.pruned
    return values, arrays


def dictionary_of_state(values: dict[str, Any], arrays: Arrays) -> FastTextDictionary:
    """Build a dictionary from what :func:`dictionary_to_state` returned; its ``check`` is left to the caller."""
    prefix = values["label_prefix"]
    if not isinstance(prefix, str):
        raise TypeError(f"the prefix of labels is {prefix!r}")
    pruned = None
    if "dictionary.pruned" in arrays:
        pruned = typed(arrays, "dictionary.pruned", np.int32, 2)
        if pruned.shape[1] != 2:
            raise ValueError("the buckets that were kept are no pairs")
    return FastTextDictionary(
        typed(arrays, "dictionary.names", np.uint8, 1),
        typed(arrays, "dictionary.offsets", np.int64, 1),
        **{name: _integer(values[name], name) for name in _INTEGERS},
        pruned=pruned,
        label_prefix=prefix,
    )


def typed(arrays: Arrays, name: str, dtype: Any, n_dimensions: int) -> NDArray[Any]:
    """Return an array of a folder, which must have a type and a number of dimensions."""
    array = arrays[name]
    if array.dtype != dtype or array.ndim != n_dimensions:
        raise ValueError(f"the array {name!r} is of {array.dtype} with {array.ndim} dimensions")
    return np.require(array, requirements=["C", "W"])  # kernels are compiled once for each kind of array


def _integer(value: Any, name: str) -> int:
    if type(value) is not int or not -(2**31) <= value < 2**31:
        raise TypeError(f"{name} is {value!r}")
    return value
