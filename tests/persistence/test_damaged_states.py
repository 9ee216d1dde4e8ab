"""Learned states that do not fit together, as fuzzing found them: refused when loaded, not met in
use.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sklearn_hashnlp import (
    HashEmbeddingClassifier,
    KneserNeyLanguageModel,
    SGNNClassifier,
    SGNNSentenceEncoder,
)
from sklearn_hashnlp.classifiers import EmbeddingTables, quantize_classifier
from sklearn_hashnlp.persistence import ModelFormatError, load_model, save_model
from sklearn_hashnlp.persistence._folder_files import read_folder
from sklearn_hashnlp.sentences import DistilledSentenceEncoder, Network
from tests.persistence.model_files import replace_everywhere, write

TEXTS, LABELS = ["a fine film", "dull and long"] * 6, ["good", "bad"] * 6
BITS = np.random.default_rng(0).integers(0, 2, (12, 16)).astype(np.uint8)


def network(packed: bool = False) -> Any:
    rows = np.packbits(BITS, axis=1) if packed else BITS
    return SGNNClassifier(hidden_layer_sizes=(4,), max_epochs=1, packed=packed, random_state=0).fit(
        rows, LABELS
    )


def save(model: Any, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Save a model, check that it can be loaded, and return what its folder holds."""
    save_model(model, folder)
    load_model(folder)
    return read_folder(folder)


def refused(folder: Path, document: dict[str, Any], arrays: dict[str, Any], message: str) -> None:
    write(folder, document, arrays)
    with pytest.raises(ModelFormatError, match=message) as caught:
        load_model(folder)
    assert folder.name in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda words: [f"{word}!" if word.startswith("<") else word for word in words],
            "lacks the special token",
        ),
        (lambda words: [words[0], *words[:-1]], "distinct strings"),
        (lambda words: [*words[:-1], 3], "distinct strings"),
    ],
)
def test_words_of_a_language_model(tmp_path: Path, change: Any, message: str) -> None:
    document, arrays = save(KneserNeyLanguageModel(order=2).fit(TEXTS), tmp_path / "m")
    model = document["model"]
    state = model["state"] | {"words": change(model["state"]["words"])}
    refused(tmp_path / "m", document | {"model": model | {"state": state}}, arrays, message)


@pytest.mark.parametrize("shape", [(1, 3), (4,), (2, 2, 2)])
def test_directions_of_another_width_in_an_encoder(tmp_path: Path, shape: tuple[int, ...]) -> None:
    encoder = SGNNSentenceEncoder(
        n_projections=8, n_tables=0, projection_dim=16, network=Network(8), max_epochs=0
    )
    document, arrays = save(encoder.fit(TEXTS), tmp_path / "m")
    name = next(name for name in arrays if name.endswith("network.common"))
    changed = arrays | {name: np.ones(shape, dtype=np.float32)}
    refused(tmp_path / "m", document, changed, "and vectors have 16 columns")


@pytest.mark.parametrize("column", [8, 2**31 - 5, -(10**9)])
def test_columns_that_all_rows_have_without_a_row_of_the_table(tmp_path: Path, column: int) -> None:
    rows, tables = np.eye(6, 8), EmbeddingTables(hash_rows=False)  # a column is a row
    rows[:, 7] = 1
    model = HashEmbeddingClassifier(embedding=tables, n_buckets=40, embedding_dim=4, random_state=0)
    document, arrays = save(model.fit(rows, [0, 1] * 3), tmp_path / "m")
    assert arrays["common_columns"].tolist() == [7]
    changed = arrays | {"common_columns": np.array([column], dtype=np.int32)}
    refused(tmp_path / "m", document, changed, "ascending integers below 8")


@pytest.mark.parametrize("packed", [False, True])
def test_rows_of_another_width_than_a_network_has(tmp_path: Path, packed: bool) -> None:
    document, arrays = save(network(packed), tmp_path / "m")
    changed = replace_everywhere(document["model"], "n_features_in", 3)
    assert changed != document["model"]
    refused(
        tmp_path / "m",
        document | {"model": changed},
        arrays,
        f"16 inputs, but rows have {24 if packed else 3}",
    )


@pytest.mark.parametrize(
    ("suffix", "dtype", "message"),
    [
        ("weight", np.int16, "must be int8"),
        ("bias", np.float64, "must have integer biases"),
        ("multiplier", np.float32, "must have integer biases"),
        ("scale", np.int64, "scales of floats"),
    ],
)
def test_types_of_integer_layers(tmp_path: Path, suffix: str, dtype: Any, message: str) -> None:
    document, arrays = save(quantize_classifier(network()), tmp_path / "m")
    name = next(name for name in sorted(arrays) if name.endswith(suffix))
    refused(tmp_path / "m", document, arrays | {name: arrays[name].astype(dtype)}, message)


def test_shifts_of_integer_layers(tmp_path: Path) -> None:
    document, arrays = save(quantize_classifier(network()), tmp_path / "m")
    changed = replace_everywhere(document["model"], "shifts", [0, 0])
    assert changed != document["model"]
    refused(tmp_path / "m", document | {"model": changed}, arrays, "shift from 1 to 63, got 0")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": 5}, "in 4 bits needs codes of uint8"),
        ({"columns": 3}, "Expected a mean of the shape"),
        ({"columns": -4}, "in 4 bits needs codes of uint8"),
        ({"columns": "4"}, "unknown encoding"),
        ({"int4": ["mean", "coefficients.values.scale"]}, "in 4 bits needs codes of uint8"),
        ({"int4": ["coefficients.values", "nothing"]}, "lacks its array 'nothing'"),
    ],
)
def test_tables_in_4_bits(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    texts, vectors = ["a cat", "the cat", "a dog", "the dog"], np.eye(4)
    encoder = DistilledSentenceEncoder(n_components=None).fit(texts, vectors)
    save_model(encoder, tmp_path / "saved", precision="int4")
    document, arrays = read_folder(tmp_path / "saved")
    document["model"]["arrays"]["coefficients.values"] |= change
    refused(tmp_path / "changed", document, arrays, message)
    scales = np.full_like(arrays["coefficients.values.scale"], np.nan)
    document, arrays = read_folder(tmp_path / "saved")
    refused(tmp_path / "nan", document, arrays | {"coefficients.values.scale": scales}, "NaN")
