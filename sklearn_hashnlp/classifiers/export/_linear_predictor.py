"""The header and arrays of LinearTextPredictor, from a pipeline or a model folder's document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sklearn_hashnlp._hash_specification import hash_constants
from sklearn_hashnlp.classifiers._losses import label_pairs, largest, loss_from_values
from sklearn_hashnlp.classifiers.export._encoder_model import (
    Arrays,
    PredictorModel,
    UnsupportedModelError,
    decode,
    described_arrays,
    described_encoder,
    encoders_model,
    n_columns,
)
from sklearn_hashnlp.classifiers.export._standalone_encoder import EncodedTextPredictor
from sklearn_hashnlp.classifiers.export._standalone_linear import DAMAGE
from sklearn_hashnlp.persistence._tables import stored_rows

_ARCHITECTURE = (
    *(
        "num_embeddings",
        "num_buckets",
        "variant",
        "aggregation",
        "append_weight",
        "normalize",
        "hash_rows",
    ),
    "importance_init",
)


def classifier_model(
    vectorizers: list[dict[str, Any]],
    encoders: PredictorModel,  # whose vectors follow the n-grams; two empty dicts without them
    state: Mapping[str, Any],
    arrays: Arrays,
) -> PredictorModel:
    """Return header and arrays from n-gram specifications and a HashEmbeddingClassifier's state."""
    architecture, loss = state["architecture"], loss_from_values(state["probabilities"])
    if architecture["hidden_sizes"]:
        raise UnsupportedModelError(
            "a HashEmbeddingClassifier with hidden_layer_sizes is not supported"
        )
    if not loss.has_temperature:  # its probabilities are not those of scores times a factor
        raise UnsupportedModelError(
            f"a HashEmbeddingClassifier with loss={loss.name!r} is not supported"
        )
    if len(arrays["head.0.bias"]) != len(state["classes"]["values"]):
        raise UnsupportedModelError("the classifier has not as many labels as scores")
    widths = [vectorizer["n_features"] + vectorizer["padding"] for vectorizer in vectorizers]
    if sum(widths) + n_columns(encoders) != state["n_features_in"]:
        raise UnsupportedModelError(
            "the vectorizer has not as many columns as the classifier was trained with"
        )
    constants = hash_constants(architecture["hash_seed"], architecture["num_hashes"] + 1)
    header = {
        "vectorizers": vectorizers,
        "bag": {key: architecture[key] for key in _ARCHITECTURE}
        # columns are below 2**32: they have no high half
        | {"constants": [(a, b) for a, b, _ in constants]},
        "labels": state["classes"],
        "label_lists": bool(state["label_lists"]),
        "multilabel": loss.multilabel,
        "link": loss.link,
        "inverse_temperature": loss.inverse_temperature,
        **encoders[0],
    }
    kept = {"weight": arrays["head.0.weight"], "bias": arrays["head.0.bias"]}
    if (prior := loss.prior_scores(arrays["class_counts"])) is not None:
        kept["prior"] = prior
        kept |= {
            "common_columns": arrays["common_columns"].astype(np.uint32),
            "common_values": arrays["common_values"],
        }
        header["half"] = float(state["half"])
    n_rows = architecture["num_embeddings"]
    kept |= _table(
        "pool",
        arrays,
        n_rows if architecture["variant"] == "standard" else architecture["num_buckets"],
    )
    if architecture["variant"] != "standard":
        kept |= _table("importance", arrays, n_rows)
    return header, kept | encoders[1]


def _table(name: str, arrays: Arrays, n_rows: int) -> Arrays:
    """Return a table under the names that the predictor reads it by."""
    key = f"bag.{name}"
    parts = {"": arrays[f"{key}.values"], ".rows": stored_rows(key, arrays, n_rows)}
    parts[".scale"] = arrays.get(f"{key}.values.scale")
    return {f"{name}{part}": array for part, array in parts.items() if array is not None}


def model_of_document(description: Any, arrays: Arrays) -> PredictorModel:
    """Return header and arrays from a model folder's document, or raise UnsupportedModelError."""
    try:
        union, encoders = None, []
        if description["class"] == "TextClassifier":
            state = description["state"]
            if "union" in state:
                union = decode(state["union"])
                encoders = [decode(encoder) for encoder in state["encoders"]]
                given = decode(description["parameters"]["pretrained"])
                encoders = (
                    encoders if given is None or isinstance(given, str) else [given, *encoders]
                )
            description = decode(state["pipeline"])
        if description["class"] != "Pipeline":
            raise UnsupportedModelError(f"a {description['class']} is not supported")
        [(_, vectorizer), (_, classifier)] = decode(description["parameters"]["steps"])
        if classifier["class"] != "HashEmbeddingClassifier":
            raise UnsupportedModelError(f"a {classifier['class']} is not supported")
        state = {key: decode(value) for key, value in classifier["state"].items()}
        if "ngram_specs" not in description:
            raise UnsupportedModelError("its vectorizer has no n-gram specification")
        specs = description["ngram_specs"]
        if vectorizer["class"] == "NgramVectorUnion":
            union = vectorizer["state"]
            encoders = decode(vectorizer["parameters"]["encoders"])
            specs = [spec for spec in specs if spec["scheme"] != "dense"]
        vectors: PredictorModel = ({}, {})
        if union is not None:
            vectors = encoders_model(
                union["norm_ratio"] * union["weight"],
                [described_encoder(encoder, arrays) for encoder in encoders],
            )
        return classifier_model(specs, vectors, state, described_arrays(classifier, arrays))
    except (AttributeError, IndexError, KeyError, SyntaxError, TypeError, ValueError) as error:
        if isinstance(error, UnsupportedModelError):
            raise
        raise UnsupportedModelError(f"the model has another structure ({error!r})") from error


class FolderPredictor(EncodedTextPredictor):
    """A linear classifier of texts in a model folder."""

    @property
    def multilabel_(self) -> bool:
        """Whether a text may have any number of labels."""
        return self.multilabel

    def predict_topk(
        self, texts: Iterable[str], k: int = 5, threshold: float = 0.0
    ) -> list[list[tuple[Any, float]]]:
        """Return the most probable labels of each text with their probabilities."""
        best = largest(self.predict_proba(texts), k)
        return label_pairs(self.classes_.tolist(), *best, threshold)


def folder_predictor(description: Any, arrays: Arrays) -> FolderPredictor | None:
    """Return the predictor of a model folder's document; None for other or damaged models."""
    try:
        return FolderPredictor(*model_of_document(description, arrays))
    except (*DAMAGE, ValueError, re.error):
        return None
