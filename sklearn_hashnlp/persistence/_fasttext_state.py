"""A model of fastText as the values and arrays of a model folder."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_hashnlp.persistence._fasttext_file import LOSSES, MAX_COUNT, FastTextFile, Quantized
from sklearn_hashnlp.persistence._tables import TABLE_VALUES
from sklearn_hashnlp.text._fasttext_state import Arrays, dictionary_of_state, dictionary_to_state, typed

_ROWS = f"input{TABLE_VALUES}"  # can be stored in lower precision


def file_to_state(file: FastTextFile) -> tuple[dict[str, Any], Arrays]:
    """Return a model as JSON values and arrays."""
    values, arrays = dictionary_to_state(file.dictionary)
    arrays |= {"label_counts": file.label_counts, "output": file.output}
    part = None
    if isinstance(file.inputs, Quantized):
        part = file.inputs.part
        arrays |= {"input.codes": file.inputs.codes, "input.centroids": file.inputs.centroids}
        if file.inputs.norm_codes is not None and file.inputs.norms is not None:
            arrays |= {"input.norm_codes": file.inputs.norm_codes, "input.norms": file.inputs.norms}
    else:
        arrays[_ROWS] = file.inputs
    return values | {"arguments": file.arguments, "loss": file.loss, "part": part}, arrays


def file_of_state(values: dict[str, Any], arrays: Arrays) -> FastTextFile:
    """Build a model from what :func:`file_to_state` returned; raise a ValueError if the parts do not fit."""
    dictionary = dictionary_of_state(values, arrays)
    counts = typed(arrays, "label_counts", np.int64, 1)
    output = typed(arrays, "output", np.float32, 2)
    inputs = typed(arrays, _ROWS, np.float32, 2) if values["part"] is None else _quantized(values["part"], arrays)
    n_entries = len(dictionary.offsets) - 1
    if len(counts) < 1 or len(counts) != len(output) or dictionary.n_words + len(counts) != n_entries:
        raise ValueError(f"it has {len(counts)} labels, and an output matrix of {len(output)} rows")
    if (counts < 0).any() or (counts >= MAX_COUNT).any():
        raise ValueError("a label has a count that is negative or too large")
    if inputs.shape[1] != output.shape[1]:
        raise ValueError(f"its matrices have {inputs.shape[1]} and {output.shape[1]} columns")
    if values["loss"] not in LOSSES.values() or not isinstance(values["arguments"], dict):
        raise ValueError(f"its loss is {values['loss']!r}, or it has no arguments")
    dictionary.check(inputs.shape[0])
    return FastTextFile(values["arguments"], values["loss"], dictionary, counts, inputs, output)


def _quantized(part: Any, arrays: Arrays) -> Quantized:
    if type(part) is not int:
        raise TypeError(f"the columns of a part are {part!r}")
    norm_codes = norms = None
    if "input.norms" in arrays:
        norm_codes, norms = typed(arrays, "input.norm_codes", np.uint8, 1), typed(arrays, "input.norms", np.float32, 1)
    codes, centroids = typed(arrays, "input.codes", np.uint8, 2), typed(arrays, "input.centroids", np.float32, 2)
    table = Quantized(codes, centroids, part, norm_codes, norms)
    table.check()
    return table
