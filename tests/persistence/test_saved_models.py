"""Models saved under the lowest versions load under these, and those saved under the newest; what
else is saved.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_hashnlp import (
    HashEmbeddingClassifier,
    HashingNgramVectorizer,
    HsigmoidLanguageModel,
    SGNNProjector,
    load_model,
    save_model,
)
from sklearn_hashnlp.persistence import ModelFormatError
from sklearn_hashnlp.persistence._folder_files import read_folder
from sklearn_hashnlp.persistence._model_document import decode_model
from tests.persistence.model_files import replace_everywhere
from tests.persistence.saved_models import FOLDER, MODELS, TEXTS, output

CASES = [(versions, model) for versions in ("lowest", "newest") for model in [*MODELS, "linear"]]


def stored(versions: str, model: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(
        (FOLDER / versions / f"{model}.json").read_text(encoding="utf-8")
    )
    return document


@pytest.mark.parametrize(("versions", "model"), CASES)
def test_a_model_saved_under_other_versions_computes_the_same(versions: str, model: str) -> None:
    loaded = load_model(FOLDER / versions / model)
    expected = stored(versions, model)["output"]
    assert len(expected) in (len(TEXTS), 2 * len(TEXTS))
    assert all(map(math.isfinite, expected))
    np.testing.assert_allclose(output(loaded), expected, rtol=1e-6, atol=1e-7)


BITS = np.random.default_rng(0).integers(0, 2, (40, 8), dtype=np.uint8)
SMALL = {
    "n_buckets": 20,
    "n_embeddings": 40,
    "embedding_dim": 4,
    "max_epochs": 1,
    "random_state": 0,
}


def test_a_language_model_with_hashed_direct_connections_is_saved_as_int8(tmp_path: Path) -> None:
    model = HsigmoidLanguageModel(
        order=2, embedding_dim=4, hidden_size=4, direct_connections=("hashed", 100), max_epochs=1
    ).fit(["a b c", "c b a"])
    save_model(model, tmp_path, precision="int8")
    assert load_model(tmp_path).perplexity(["a b c"]) == pytest.approx(
        model.perplexity(["a b c"]), rel=0.05
    )


def test_set_output_is_saved(tmp_path: Path) -> None:
    save_model(
        SGNNProjector(n_projections=2, n_bits=2).fit(BITS).set_output(transform="pandas"), tmp_path
    )
    assert load_model(tmp_path).transform(BITS).shape == (40, 4)
    assert type(load_model(tmp_path).transform(BITS)).__module__.startswith("pandas")


def test_metadata_requests_are_saved(tmp_path: Path) -> None:
    with config_context(enable_metadata_routing=True):
        model = (
            HashEmbeddingClassifier(**SMALL)
            .set_fit_request(sample_weight="weights")
            .fit(BITS, [0, 1] * 20)
        )
        save_model(model, tmp_path)
        requests = load_model(tmp_path).get_metadata_routing()
        assert requests.fit.requests == model.get_metadata_routing().fit.requests


def test_a_frozen_model_is_saved_once(tmp_path: Path) -> None:
    model = HashEmbeddingClassifier(**SMALL).fit(BITS, [0, 1] * 20)
    for name, one in (("plain", model), ("frozen", FrozenEstimator(model))):
        save_model(one, tmp_path / name)
    plain, frozen = (
        (tmp_path / name / "weights.safetensors").stat().st_size for name in ("plain", "frozen")
    )
    assert frozen < 1.1 * plain


def test_damaged_steps_of_scikit_learn_are_refused() -> None:
    document, arrays = read_folder(FOLDER / "newest" / "linear")
    decode_model(document["model"], arrays)
    for key, value in (
        ("n_features_in_", 63),
        ("n_features_in_", "64"),
        ("state", {}),
        ("arrays", {}),
    ):
        with pytest.raises(ModelFormatError):
            decode_model(replace_everywhere(document["model"], key, value), arrays)
    for name, wrong in (
        ("coef_", arrays["coef_"][:, :2]),
        ("coef_", arrays["coef_"].astype(np.int64)),
        ("intercept_", np.float64(1)),
        ("idf_", arrays["idf_"][:5]),
    ):
        with pytest.raises(ModelFormatError):
            decode_model(document["model"], arrays | {name: np.asarray(wrong)})


@pytest.mark.parametrize(
    "step", [LogisticRegression(), TfidfTransformer(), StandardScaler(), CalibratedClassifierCV()]
)
def test_steps_of_scikit_learn_are_not_saved(step: Any, tmp_path: Path) -> None:
    with pytest.raises(
        TypeError,
        match=rf"it is a sklearn\..*{type(step).__name__}, .*skops\.io\.dump.*joblib\.dump",
    ):
        save_model(make_pipeline(HashingNgramVectorizer(), step), tmp_path / "model")
    with pytest.raises(TypeError, match=r"skops\.io\.dump"):
        save_model(load_model(FOLDER / "newest" / "linear"), tmp_path / "model")
    assert not (tmp_path / "model").exists()
