"""Models saved under the lowest versions load under these, and those saved under the newest; what else is saved."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from sklearn_hashnlp import (
    HashEmbeddingClassifier,
    HashingNgramVectorizer,
    HsigmoidLanguageModel,
    SGNNProjector,
    load_model,
    make_text_classifier,
    save_model,
)
from sklearn_hashnlp.persistence import ModelFormatError
from sklearn_hashnlp.persistence._model_document import decode_model, encode_model
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


def test_a_frozen_model_is_saved_once(tmp_path: Path) -> None:
    model = HashEmbeddingClassifier(**SMALL).fit(BITS, [0, 1] * 20)
    for name, one in (("plain", model), ("frozen", FrozenEstimator(model))):
        save_model(one, tmp_path / name)
    plain, frozen = ((tmp_path / name / "weights.safetensors").stat().st_size for name in ("plain", "frozen"))
    assert frozen < 1.1 * plain


RNG = np.random.default_rng(0)
WORDS = np.array(["good", "fine", "dull", "long", "film", "plot"])
REVIEWS = [" ".join(RNG.choice(WORDS, 4)) for _ in range(90)]
LABELS = np.array([["bad", "good", "none"][("good" in t) + 2 * ("good" not in t and "long" in t)] for t in REVIEWS])
FRAME = pd.DataFrame({"text": REVIEWS, "length": [float(len(text)) for text in REVIEWS], "part": RNG.random(90)})


def counts():
    return HashingNgramVectorizer(n_features=64, alternate_sign=False)


def small():
    return make_text_classifier(n_buckets=100, n_embeddings=200, random_state=0)


PIPELINES = {
    "LogisticRegression": lambda: make_pipeline(counts(), LogisticRegression()),
    "SGDClassifier": lambda: make_pipeline(counts(), SGDClassifier(loss="log_loss", random_state=0)),
    "LinearSVC": lambda: make_pipeline(counts(), LinearSVC(fit_intercept=False)),
    "TfidfTransformer": lambda: make_pipeline(counts(), TfidfTransformer(sublinear_tf=True), LinearSVC()),
    "TruncatedSVD, StandardScaler": lambda: make_pipeline(
        counts(), TruncatedSVD(3, random_state=0), StandardScaler(), LogisticRegression()
    ),
    "CalibratedClassifierCV, sigmoid": lambda: CalibratedClassifierCV(small(), cv=2),
    "CalibratedClassifierCV, isotonic": lambda: make_pipeline(
        counts(), CalibratedClassifierCV(LinearSVC(), method="isotonic", cv=2)
    ),
    "FrozenEstimator": lambda: CalibratedClassifierCV(FrozenEstimator(small().fit(REVIEWS, LABELS)), cv=2),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_a_model_with_estimators_of_scikit_learn_is_saved_and_predicts_the_same(name, tmp_path):
    model = PIPELINES[name]().fit(REVIEWS, LABELS)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.predict(REVIEWS).tolist() == model.predict(REVIEWS).tolist()
    answer = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    assert getattr(loaded, answer)(REVIEWS).tobytes() == getattr(model, answer)(REVIEWS).tobytes()


@pytest.mark.parametrize(("drop", "sparse_output"), [(None, True), ("first", False), ("if_binary", True)])
def test_categories_beside_texts_are_saved_and_predict_the_same(drop, sparse_output, tmp_path):
    frame = FRAME.assign(
        kind=RNG.choice(np.array(["a", "b", None, np.nan], dtype=object), len(FRAME)),
        day=RNG.integers(0, 7, len(FRAME)),
        score=RNG.choice([0.5, 1.5, np.nan], len(FRAME)),
        flag=RNG.random(len(FRAME)) < 0.5,
    )
    encoder = OneHotEncoder(handle_unknown="ignore", drop=drop, sparse_output=sparse_output)
    columns = make_column_transformer(
        (counts(), "text"), (encoder, ["kind", "day", "score", "flag"]), (StandardScaler(), ["length"]),
        ("passthrough", ["part"]),
    )  # fmt: skip
    model = make_pipeline(columns, LogisticRegression()).fit(frame, LABELS)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    unknown = frame.assign(kind="c", day=9)
    for rows in (frame, unknown) if drop is None else (frame,):  # scikit-learn warns of unknown ones that are dropped
        assert loaded.predict_proba(rows).tobytes() == model.predict_proba(rows).tobytes()
    ours, theirs = loaded[0].named_transformers_["onehotencoder"], model[0].named_transformers_["onehotencoder"]
    assert vars(ours).keys() == vars(theirs).keys()
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    assert [part.dtype for part in ours.categories_] == [part.dtype for part in theirs.categories_]
    rows = theirs.transform(frame[["kind", "day", "score", "flag"]])
    restored, expected = ours.inverse_transform(rows), theirs.inverse_transform(rows)
    assert repr(restored.tolist()) == repr(expected.tolist())


def test_grouped_categories_are_refused_by_name(tmp_path):
    encoder = OneHotEncoder(min_frequency=2, handle_unknown="infrequent_if_exist").fit([["a"], ["a"], ["b"], ["c"]])
    with pytest.raises(TypeError, match=r"groups infrequent categories.*joblib\.dump"):
        save_model(encoder, tmp_path / "model")


def test_damaged_categories_are_refused():
    description, arrays = encode_model(OneHotEncoder(drop="first").fit(np.array([["a", 1], [None, 2]], dtype=object)))
    state = description["state"]
    assert decode_model(description, arrays).categories_[0].tolist() == ["a", None]
    strings = {"dict": [["dtype", "<U1"], ["values", ["a", None]]]}
    for damage in (
        {"drop_idx_": [0]},
        {"drop_idx_": [0, 2]},
        {"drop_idx_": [0, -1]},
        {"drop_idx_": ["a", 0]},
        {"categories_": state["categories_"][:1]},
        {"categories_": [strings, state["categories_"][1]]},
        {"categories_": 3},
    ):
        with pytest.raises(ModelFormatError):
            decode_model(description | {"state": state | damage}, arrays)


def test_a_damaged_state_of_scikit_learn_is_refused():
    X, y = RNG.random((30, 3)), np.repeat([0, 1, 2], 10)
    for model in (
        LogisticRegression(),
        CalibratedClassifierCV(LinearSVC(), cv=2),
        make_column_transformer((StandardScaler(), [0, 1])),
        OneHotEncoder(drop="first"),
    ):
        description, arrays = encode_model(model.fit(X, y))
        state = description["state"]
        damages = [
            {"n_features_in_": -1},
            {"__class__": "x"},
            {"classes_": 3},
            {"calibrated": [3]},
            {"transformers_": 3},
        ]
        for damage in damages:
            with pytest.raises(ModelFormatError):
                decode_model(description | {"state": state | damage}, arrays)
        for name in set(state) - {"n_features_in_"}:
            with pytest.raises(ModelFormatError):
                decode_model(description | {"state": {key: state[key] for key in state if key != name}}, arrays)
    description, arrays = encode_model(LogisticRegression().fit(X, y))
    for wrong in (arrays["coef_"][:, :2], arrays["coef_"][:2], arrays["coef_"].astype(np.int64), np.float64(1)):
        with pytest.raises(ModelFormatError):
            decode_model(description, arrays | {"coef_": np.asarray(wrong)})
