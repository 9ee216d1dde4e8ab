"""Models saved under the lowest versions load under these, and those saved under the newest; what else is saved."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.linear_model import LogisticRegression

from sklearn_hashnlp import (
    HashEmbeddingClassifier,
    HsigmoidLanguageModel,
    SGNNProjector,
    load_model,
    save_model,
)
from tests.persistence.saved_models import FOLDER, MODELS, TEXTS, output

CASES = [(versions, model) for versions in ("lowest", "newest") for model in MODELS]


def stored(versions: str, model: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((FOLDER / versions / f"{model}.json").read_text(encoding="utf-8"))
    return document


@pytest.mark.parametrize(("versions", "model"), CASES)
def test_a_model_saved_under_other_versions_computes_the_same(versions: str, model: str) -> None:
    loaded = load_model(FOLDER / versions / model)
    expected = stored(versions, model)["output"]
    assert len(expected) in (len(TEXTS), 2 * len(TEXTS))
    assert all(map(math.isfinite, expected))
    np.testing.assert_allclose(output(loaded), expected, rtol=1e-6, atol=1e-7)


def test_parameters_that_are_being_removed_are_not_saved(tmp_path: Path) -> None:
    class_weights = {"bad": 1.0, "good": 2.0}
    model = LogisticRegression(class_weight=class_weights).fit([[0.0], [1.0]], ["bad", "good"])
    save_model(model, tmp_path)
    saved = json.loads((tmp_path / "parameters.json").read_text(encoding="utf-8"))["model"]["parameters"]
    assert "class_weight" in saved
    assert not {name for name, value in saved.items() if value in ("deprecated", "warn")}
    assert load_model(tmp_path).class_weight == class_weights


BITS = np.random.default_rng(0).integers(0, 2, (40, 8), dtype=np.uint8)
SMALL = {"n_buckets": 20, "n_embeddings": 40, "embedding_dim": 4, "max_epochs": 1, "random_state": 0}


def test_a_language_model_with_hashed_direct_connections_is_saved_as_int8(tmp_path: Path) -> None:
    model = HsigmoidLanguageModel(
        order=2, embedding_dim=4, hidden_size=4, direct_connections=("hashed", 100), max_epochs=1
    ).fit(["a b c", "c b a"])
    save_model(model, tmp_path, precision="int8")
    assert load_model(tmp_path).perplexity(["a b c"]) == pytest.approx(model.perplexity(["a b c"]), rel=0.05)


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
