"""The header and arrays of the encoders that EncodedTextPredictor computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.persistence._folder_files import read_folder
from sklearn_hashnlp.persistence._tables import (
    TABLE_VALUES,
    Precision,
    to_float16,
    to_int8,
)
from sklearn_hashnlp.persistence._values import decode_value, is_finite
from sklearn_hashnlp.sentences._ngram_weights import (
    CHARACTER_WEIGHT,
    NGRAM_RANGE,
    NORM_POWER,
    ngram_weights,
)
from sklearn_hashnlp.sentences._pretrained_weights import PretrainedName, folder_of, reference_of

Arrays = dict[str, NDArray[Any]]
PredictorModel = tuple[dict[str, Any], Arrays]

_ENCODERS = ("CooccurrenceEncoder", "DistilledSentenceEncoder")


class UnsupportedModelError(ValueError):
    """Error of a model that LinearTextPredictor cannot compute."""


def encoders_model(weight: float, encoders: list[PredictorModel]) -> PredictorModel:
    """Return header and arrays of vectors, side by side, times a weight."""
    header = {"vector_weight": float(weight), "encoders": [options for options, _ in encoders]}
    arrays = {
        f"encoders.{number}.{name}": array
        for number, (_, own) in enumerate(encoders)
        for name, array in own.items()
    }
    return header, arrays


def n_columns(model: PredictorModel) -> int:
    """Return the number of columns of the vectors of a model of encoders."""
    return sum(len(array) for name, array in model[1].items() if name.endswith(".mean"))


def fitted_encoder(encoder: Any, precision: Precision) -> PredictorModel:
    """Return options and arrays of a fitted encoder, or raise a TypeError."""
    from sklearn_hashnlp.sentences._ngram_vectors import NgramVectors

    name = type(encoder).__name__
    if not isinstance(encoder, NgramVectors) or name not in _ENCODERS:
        raise TypeError(
            f"export_predictor: a model with the vectors of a {name} cannot be exported, only of a "
            f"{' or a '.join(_ENCODERS)}. Save it with save_model, or train it with one of these, "
            "as by fit(unlabeled=texts)."
        )
    values, arrays = replace(encoder._model, reference=None).to_state()
    key = f"coefficients{TABLE_VALUES}"
    table = arrays.pop(key)
    if isinstance(table, np.ndarray):
        arrays |= in_precision(key, table, precision)
    else:  # in 4 bits
        arrays |= {key: table.codes, f"{key}.scale": table.scales}
    return _encoder_model(values, encoder.get_params(deep=False).get("max_words"), arrays)


def in_precision(key: str, values: Any, precision: Precision) -> Arrays:
    """Return a table, rounded, and perhaps its scale."""
    if precision == "int8":
        levels, scale = to_int8(values, key)
        return {key: levels, f"{key}.scale": scale}
    return {key: to_float16(values, key) if precision == "float16" else values}


def described_encoder(description: Any, arrays: Arrays) -> PredictorModel:
    """Return options and arrays of an encoder in a model folder's document."""
    if description["class"] == "FrozenEstimator":
        description = decode(description["parameters"]["estimator"])
    if description["class"] not in _ENCODERS:
        raise UnsupportedModelError(f"a {description['class']} is not supported")
    max_words = description["parameters"].get("max_words")
    if "pretrained" in description["state"]:  # weights that come with the package
        description, arrays = _pretrained_model(decode(description["state"]["pretrained"]))
    values = {key: decode(value) for key, value in description["state"].items()}
    return _encoder_model(values, max_words, described_arrays(description, arrays))


def _pretrained_model(reference: dict[str, str]) -> tuple[Any, Arrays]:
    """Return the document and the arrays of the encoder that a saved model refers to."""
    name = reference["name"]
    if name not in get_args(PretrainedName) or reference_of(name) != reference:
        raise UnsupportedModelError(f"the encoder {name!r:.60} is another one")
    document, arrays = read_folder(folder_of(name))
    return document["model"], arrays


def decode(value: Any) -> Any:
    """Decode a value of the document, except for estimators, which stay descriptions."""
    return decode_value(value, "the model", lambda description, _: description)


def described_arrays(description: Any, arrays: Arrays) -> Arrays:
    """Return the arrays of an estimator in a document by their keys."""
    named: Arrays = {}
    for key, stored in description["arrays"].items():
        named |= _fetch(key, stored, arrays)
    if not all(map(is_finite, named.values())):
        raise UnsupportedModelError("it has infinite values or NaN")
    return named


def _fetch(key: str, stored: Any, arrays: Arrays) -> Arrays:
    """Return an array of the document by its key, and the scale of levels of 8 or 4 bits."""
    match stored:
        case {"int8": [str(name), str(scale)]} | {"int4": [str(name), str(scale)]}:
            return {key: arrays[name], f"{key}.scale": arrays[scale]}
        case {"float16": str(name)}:
            return {key: arrays[name]}
    return {key: arrays[stored]}


def _encoder_model(
    values: Mapping[str, Any], max_words: int | None, arrays: Mapping[str, Any]
) -> PredictorModel:
    """Return options and arrays of what an encoder learned, with weights instead of counts."""
    n_words, n_ngrams, n_pairs = values["sizes"]
    counts, n_texts = arrays["counts"], values["n_texts"]
    if (
        min(n_words, n_ngrams, n_pairs) < 0
        or counts.shape != (n_words + n_ngrams + n_pairs,)
        or counts.min(initial=0) < 0
        or n_texts < 0
    ):
        raise UnsupportedModelError("the sizes and counts of an encoder do not fit together")
    weights, of_unknown = ngram_weights(counts, (n_words, n_ngrams, n_pairs), n_texts)
    options = {
        "n_words": n_words,
        "ngram_range": list(NGRAM_RANGE),
        "unknown_weight": of_unknown,
        "character_weight": CHARACTER_WEIGHT,
        "norm_power": NORM_POWER,
        "max_words": max_words,
    }
    key = f"coefficients{TABLE_VALUES}"
    kept = {
        "fingerprints": arrays["fingerprints"],
        "weights": weights,
        "coefficients": arrays[key],
        "coefficients.scale": arrays.get(f"{key}.scale"),
        "mean": arrays["mean"],
    }
    return options, {name: array for name, array in kept.items() if array is not None}
