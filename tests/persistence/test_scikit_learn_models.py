"""Saved models with scikit-learn's estimators in them; damaged ones are refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from sklearn_hashnlp import HashingNgramVectorizer, load_model, make_text_classifier, save_model
from sklearn_hashnlp.persistence import ModelFormatError
from sklearn_hashnlp.persistence._model_document import decode_model, encode_model

RNG = np.random.default_rng(0)
WORDS = np.array(["good", "fine", "dull", "long", "film", "plot"])
TEXTS = [" ".join(RNG.choice(WORDS, 4)) for _ in range(90)]
LABELS = np.array([["bad", "good", "none"][("good" in t) + 2 * ("good" not in t and "long" in t)] for t in TEXTS])
FRAME = pd.DataFrame({"text": TEXTS, "length": [float(len(text)) for text in TEXTS], "part": RNG.random(90)})


def counts():
    return HashingNgramVectorizer(n_features=64, alternate_sign=False)


def small():
    return make_text_classifier(n_buckets=100, n_embeddings=200, random_state=0)


MODELS = {
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
    "FrozenEstimator": lambda: CalibratedClassifierCV(FrozenEstimator(small().fit(TEXTS, LABELS)), cv=2),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_with_estimators_of_scikit_learn_is_saved_and_predicts_the_same(name, tmp_path):
    model = MODELS[name]().fit(TEXTS, LABELS)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.predict(TEXTS).tolist() == model.predict(TEXTS).tolist()
    answer = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    assert getattr(loaded, answer)(TEXTS).tobytes() == getattr(model, answer)(TEXTS).tobytes()


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
