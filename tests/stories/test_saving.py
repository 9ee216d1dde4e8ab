"""Saved models are loaded, and damaged ones are refused with a message."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn import config_context
from sklearn.base import clone

from sklearn_hashnlp import (
    AugmentedTextClassifier,
    HashEmbeddingClassifier,
    HsigmoidLanguageModel,
    SGNNClassifier,
    SGNNProjector,
    load_model,
    quantize_classifier,
    save_model,
)
from sklearn_hashnlp.kernels.embeddings import _tables
from sklearn_hashnlp.persistence import ModelFormatError, _folder_files, load_word_vectors
from tests.cli.conftest import BAD, GOOD, small_pipeline

BITS = np.random.default_rng(0).integers(0, 2, (40, 8), dtype=np.uint8)
SMALL = {"n_buckets": 20, "n_embeddings": 40, "embedding_dim": 4, "max_epochs": 1, "random_state": 0}


def edit(folder: Path, change: Any) -> None:
    """Change the document of a model by hand, with a digest that fits."""
    with safe_open(folder / "weights.safetensors", framework="np") as file:
        document = json.loads(file.metadata()["sklearn-hashnlp"])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    change(document["model"])
    del document["digest"]
    document["digest"] = _folder_files.digest(document, arrays)
    save_file(arrays, folder / "weights.safetensors", metadata={"sklearn-hashnlp": json.dumps(document)})
    (folder / "parameters.json").write_text(json.dumps(document))


def test_a_language_model_with_hashed_direct_connections_is_saved_as_int8(tmp_path: Path) -> None:
    model = HsigmoidLanguageModel(
        order=2, embedding_dim=4, hidden_size=4, direct_connections=("hashed", 100), max_epochs=1
    ).fit(["a b c", "c b a"])
    save_model(model, tmp_path, precision="int8")
    assert load_model(tmp_path).perplexity(["a b c"]) == pytest.approx(model.perplexity(["a b c"]), rel=0.05)


def test_a_label_beyond_64_bits_is_a_damaged_model(tmp_path: Path) -> None:
    save_model(HashEmbeddingClassifier(**SMALL).fit(BITS, [0, 1] * 20), tmp_path)

    def change(model: Any) -> None:
        text = json.dumps(model["state"]["classes"])
        model["state"]["classes"] = json.loads(text.replace("1", str(2**63), 1))

    edit(tmp_path, change)
    with pytest.raises(ModelFormatError):
        load_model(tmp_path)


def test_a_promised_size_is_compared_before_memory_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_model(HashEmbeddingClassifier(**SMALL).fit(BITS, [0, 1] * 20), tmp_path)
    edit(tmp_path, lambda model: model["state"]["architecture"]["dict"].append(["num_buckets", 2**31 - 1]))

    def zero_bytes(n_bytes: int) -> bytearray:
        assert n_bytes < 2**20
        return bytearray(n_bytes)

    monkeypatch.setattr(_tables, "lazy_bytes", zero_bytes)
    with pytest.raises(ModelFormatError, match="must have shape"):
        load_model(tmp_path)


@pytest.mark.parametrize("content", [b"1 1\na\0b 1\n", b"1 1\na 1\nb 2\n"], ids=["NUL bytes", "more words"])
def test_a_binary_file_of_word_vectors_is_not_read_as_text(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "vectors").write_bytes(content)
    with pytest.raises(ModelFormatError, match="binary=True"):
        load_word_vectors(tmp_path / "vectors")


def test_set_output_is_saved(tmp_path: Path) -> None:
    save_model(SGNNProjector(n_projections=2, n_bits=2).fit(BITS).set_output(transform="pandas"), tmp_path)
    assert load_model(tmp_path).transform(BITS).shape == (40, 4)
    assert type(load_model(tmp_path).transform(BITS)).__module__.startswith("pandas")


def test_metadata_requests_are_saved(tmp_path: Path) -> None:
    with config_context(enable_metadata_routing=True):
        model = HashEmbeddingClassifier(**SMALL).set_fit_request(sample_weight="weights").fit(BITS, [0, 1] * 20)
        save_model(model, tmp_path)
        requests = load_model(tmp_path).get_metadata_routing()
        assert requests.fit.requests == model.get_metadata_routing().fit.requests


@pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be opened there")
def test_weights_that_cannot_be_read_are_no_missing_file(tmp_path: Path) -> None:
    save_model(HashEmbeddingClassifier(**SMALL).fit(BITS, [0, 1] * 20), tmp_path)
    (tmp_path / "weights.safetensors").unlink()
    (tmp_path / "weights.safetensors").mkdir()  # for root, permissions are no obstacle
    with pytest.raises(ModelFormatError, match=r"weights\.safetensors is not a regular file"):
        load_model(tmp_path)


def test_a_classifier_with_augmentation_is_saved(tmp_path: Path) -> None:
    model = AugmentedTextClassifier(small_pipeline(), random_state=0).fit(GOOD + BAD, [1] * 4 + [0] * 4)
    save_model(model, tmp_path)
    loaded = load_model(tmp_path)
    np.testing.assert_array_equal(loaded.predict_proba(GOOD), model.predict_proba(GOOD))
    assert str(clone(loaded)) == str(clone(model))


def test_a_quantized_classifier_is_saved(tmp_path: Path) -> None:
    model = quantize_classifier(
        SGNNClassifier(hidden_layer_sizes=(4,), max_epochs=1, random_state=0).fit(BITS, ["a", "b"] * 20)
    )
    save_model(model, tmp_path)
    loaded = load_model(tmp_path)
    np.testing.assert_array_equal(loaded.predict_proba(BITS), model.predict_proba(BITS))
    assert loaded.size_report() == model.size_report()
    assert loaded.predict(BITS).tolist() == model.predict(BITS).tolist()
