"""The header and the arrays of LinearTextPredictor, from a pipeline or from the document of a model folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._hash_specification import hash_constants
from sklearn_hashnlp._text_marks import BEGIN, CHARACTER_WEIGHT, END, TOKENS
from sklearn_hashnlp.classifiers._class_shares import prior_scores
from sklearn_hashnlp.persistence._values import decode_value, is_finite

Arrays = dict[str, NDArray[Any]]
PredictorModel = tuple[dict[str, Any], Arrays]

VECTORIZERS: Final = ("HashingNgramVectorizer", "HashingVectorizer")
LINKS: Final = {"softmax": "identity", "ova": "log_sigmoid", "hinge": "identity"}
"""The losses of linear predictors, and the links of their scores."""

_ARCHITECTURE = (
    *("num_embeddings", "num_buckets", "variant", "aggregation", "append_weight", "normalize", "hash_rows"),
    "importance_init",
)
_FLOATS = ("float32", "float64")


class UnsupportedModelError(ValueError):
    """Error of a model that LinearTextPredictor cannot compute."""


def vectorizer_header(
    name: str, parameters: Mapping[str, Any], stop_words: list[str] | None, weight: float | None
) -> dict[str, Any]:
    """Return the options of a vectorizer, given by its class, parameters, stop words and weight in a union."""
    for parameter in ("preprocessor", "tokenizer"):
        if parameters[parameter] is not None:
            raise UnsupportedModelError(f"a {name} with a {parameter} is not supported: it is code")
    for parameter, allowed in {
        "input": ("content",),
        "analyzer": ("word", "char", "char_wb"),
        "strip_accents": (None, "ascii", "unicode"),
        "norm": (None, "l1", "l2"),
    }.items():
        if parameters[parameter] not in allowed:
            raise UnsupportedModelError(f"a {name} with {parameter}={parameters[parameter]!r} is not supported")
    if np.dtype(parameters["dtype"]).name not in _FLOATS:
        raise UnsupportedModelError(f"a {name} with dtype={parameters['dtype']!r} is not supported")
    decode = [parameters["encoding"], parameters["decode_error"]]
    return ({} if decode == ["utf-8", "strict"] else {"decode": decode}) | {
        "class": name,
        "analyzer": parameters["analyzer"],
        "token_pattern": parameters["token_pattern"],
        "lowercase": bool(parameters["lowercase"]),
        "strip_accents": parameters["strip_accents"],
        "stop_words": stop_words or [],
        "ngram_range": [int(n) for n in parameters["ngram_range"]],
        "n_features": int(parameters["n_features"]),
        "binary": bool(parameters["binary"]),
        "norm": parameters["norm"],
        "alternate_sign": bool(parameters["alternate_sign"]),
        "weight": None if weight is None else float(weight),
    }


def auto_headers(parameters: Mapping[str, Any], features: str) -> list[dict[str, Any]]:
    """Return the options of the vectorizers of an AutoNgramVectorizer."""
    n_features = int(parameters["n_features"])
    common = {
        "class": "HashingNgramVectorizer",
        "lowercase": bool(parameters["lowercase"]),
        "strip_accents": None,
        "stop_words": [],
        "n_features": n_features // 2,
        "binary": False,
        "norm": None,
        "alternate_sign": False,
        "damped": True,
    }
    words = common | {
        "analyzer": "word",
        "token_pattern": TOKENS,
        "ngram_range": [int(n) for n in parameters["ngram_range"]],
        "weight": None,
        "around": [BEGIN, END],
    }
    if features == "words":
        return [words | {"padding": n_features - n_features // 2}]
    characters = common | {
        "analyzer": "char_wb",
        "token_pattern": None,
        "ngram_range": [2, 5],
        "weight": CHARACTER_WEIGHT,
        "padding": n_features % 2,
    }
    return [words, characters]


def classifier_model(vectorizers: list[dict[str, Any]], state: Mapping[str, Any], arrays: Arrays) -> PredictorModel:
    """Return the header and the arrays from the state of a HashEmbeddingClassifier."""
    architecture, loss = state["architecture"], state["probabilities"]
    name = loss["loss"]
    if architecture["hidden_sizes"]:
        raise UnsupportedModelError("a HashEmbeddingClassifier with hidden_layer_sizes is not supported")
    if name not in LINKS:
        raise UnsupportedModelError(f"a HashEmbeddingClassifier with loss={name!r} is not supported")
    if len(arrays["head.0.bias"]) != len(state["classes"]["values"]):
        raise UnsupportedModelError("the classifier has not as many labels as scores")
    widths = [vectorizer["n_features"] + vectorizer.get("padding", 0) for vectorizer in vectorizers]
    if sum(widths) != state["n_features_in"]:
        raise UnsupportedModelError("the vectorizer has not as many columns as the classifier was trained with")
    constants = hash_constants(architecture["hash_seed"], architecture["num_hashes"] + 1)
    header = {
        "vectorizers": vectorizers,
        "bag": {key: architecture[key] for key in _ARCHITECTURE}
        | {"constants": [(a, b) for a, b, _ in constants]},  # columns are below 2**32: they have no high half
        "labels": state["classes"],
        "label_lists": bool(state["label_lists"]),
        "multilabel": bool(loss["multilabel"]),
        "link": LINKS[name],
        "inverse_temperature": float(loss["sharpness"]),
    }
    kept = {"weight": arrays["head.0.weight"], "bias": arrays["head.0.bias"]}
    if "class_counts" in arrays and arrays["class_counts"][-1] > 0:
        options = {name: header[name] for name in ("link", "multilabel", "inverse_temperature")}
        kept["prior"] = prior_scores(arrays["class_counts"], **options)
        divisor = None if architecture["variant"] == "standard" else state["idf_divisor"]
        header["evidence"] = {"idf_divisor": divisor, "enough": float(state["enough_evidence"])}
    n_rows = architecture["num_embeddings"]
    kept |= _table("pool", arrays, n_rows if architecture["variant"] == "standard" else architecture["num_buckets"])
    if architecture["variant"] != "standard":
        kept |= _table("importance", arrays, n_rows)
    return header, kept


def _table(name: str, arrays: Arrays, n_rows: int) -> Arrays:
    """Return a table under the names that the predictor reads it by; a bitmap of rows becomes their numbers."""
    stored = f"bag.{name}"
    table = {name: arrays[f"{stored}.values"]}
    if f"{stored}.bitmap" in arrays:
        if len(arrays[f"{stored}.bitmap"]) != -(-n_rows // 8):  # more rows would take their memory
            raise UnsupportedModelError(f"the bitmap of {name} has not a bit for each of {n_rows} rows")
        touched = np.unpackbits(arrays[f"{stored}.bitmap"], count=n_rows).view(bool)
        table[f"{name}.rows"] = np.flatnonzero(touched).astype(np.uint32)
    elif f"{stored}.rows" in arrays:
        table[f"{name}.rows"] = arrays[f"{stored}.rows"]
    if f"{stored}.values.scale" in arrays:
        table[f"{name}.scale"] = arrays[f"{stored}.values.scale"]
    return table


def model_of_document(description: Any, arrays: Arrays) -> PredictorModel:
    """Return the header and the arrays from a model folder's document, or raise UnsupportedModelError."""
    try:
        if description["class"] == "TextClassifier":
            description = _decode(description["state"]["pipeline"])
        [(_, vectorizer), (_, classifier)] = _steps_of(description)
        if classifier["class"] != "HashEmbeddingClassifier":
            raise UnsupportedModelError(f"a {classifier['class']} is not supported")
        state = {key: _decode(value) for key, value in classifier["state"].items()}
        vectorizers = _headers_of(vectorizer)
        named: Arrays = {}
        for key, stored in classifier["arrays"].items():
            named |= _fetch(key, stored, arrays)
        if not all(map(is_finite, named.values())):
            raise UnsupportedModelError("it has infinite values or NaN")
        return classifier_model(vectorizers, state, named)
    except (AttributeError, IndexError, KeyError, SyntaxError, TypeError, ValueError) as error:
        if isinstance(error, UnsupportedModelError):
            raise
        raise UnsupportedModelError(f"the model has another structure ({error!r})") from error


def _decode(value: Any) -> Any:
    """Decode a value of the document, except for estimators, of which the descriptions are returned."""
    return decode_value(value, "the model", lambda description, _: description)


def _steps_of(description: dict[str, Any]) -> Any:
    if description["class"] != "Pipeline":
        raise UnsupportedModelError(f"a {description['class']} is not supported")
    return _decode(description["parameters"]["steps"])


def _headers_of(description: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the options of the vectorizers of a step."""
    if description["class"] == "AutoNgramVectorizer":
        parameters = {name: _decode(value) for name, value in description["parameters"].items()}
        return auto_headers(parameters, _decode(description.get("state", {}).get("features", "words")))
    return [_vectorizer_of(part, weight) for part, weight in _parts_of(description)]


def _parts_of(description: dict[str, Any]) -> list[tuple[dict[str, Any], float | None]]:
    """Return the vectorizers of a step with their weights."""
    if description["class"] in VECTORIZERS:
        return [(description, None)]
    if description["class"] != "FeatureUnion":
        raise UnsupportedModelError(f"a {description['class']} is not supported")
    weights = _decode(description["parameters"]["transformer_weights"]) or {}
    parts = _decode(description["parameters"]["transformer_list"])
    return [(part, weights.get(name)) for name, part in parts if part != "drop"]


def _vectorizer_of(description: dict[str, Any], weight: float | None) -> dict[str, Any]:
    if description["class"] not in VECTORIZERS:
        raise UnsupportedModelError(f"a {description['class']} is not supported")
    parameters = {name: _decode(value) for name, value in description["parameters"].items()}
    words = parameters["stop_words"]
    if isinstance(words, str):
        raise UnsupportedModelError(f"stop_words={words!r} are those of scikit-learn")
    return vectorizer_header(description["class"], parameters, sorted(words or []), weight)


def _fetch(key: str, stored: Any, arrays: Arrays) -> Arrays:
    """Return an array of the document by its key, and the scale of levels of eight bits."""
    match stored:
        case {"int8": [str(name), str(scale)]}:
            return {key: arrays[name], f"{key}.scale": arrays[scale]}
        case {"float16": str(name)}:
            return {key: arrays[name]}
    return {key: arrays[stored]}
