"""Models as documents: parameters and arrays are decoded as they were, and only known classes are
loaded.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from joblib import Memory
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import Normalizer

from sklearn_hashnlp.persistence import ModelFormatError
from sklearn_hashnlp.persistence._model_document import ALLOWED_CLASSES, decode_model, encode_model
from tests.trainings import assert_near

TEXTS = ["good day", "bad day", "good good", "bad night"]
LABELS = ["+", "-", "+", "-"]


def round_trip(model: Any, **options: Any) -> Any:
    description, arrays = encode_model(model, **options)
    return decode_model(json.loads(json.dumps(description)), arrays)


def described(cls: str = "Normalizer", **parameters: Any) -> dict[str, Any]:
    return {"class": cls, "parameters": parameters}


def test_a_nested_pipeline_predicts_the_same_bits(centroids: Any) -> None:
    words = HashingVectorizer(
        n_features=64, dtype=np.float32, stop_words=["the", "a"], ngram_range=(1, 2)
    )
    letters = Pipeline(
        [("hash", HashingVectorizer(analyzer="char", n_features=32)), ("norm", Normalizer("l1"))]
    )
    union = FeatureUnion(
        [("words", words), ("letters", letters)], transformer_weights={"letters": 0.5}
    )
    model = Pipeline(
        [
            ("features", union),
            ("pass", "passthrough"),
            ("classifier", centroids(3.0, options=(1, frozenset({2})))),
        ]
    )
    model.fit(TEXTS, LABELS)
    loaded = round_trip(model)
    np.testing.assert_array_equal(loaded.predict_proba(TEXTS), model.predict_proba(TEXTS))
    assert loaded.predict(TEXTS).tolist() == model.predict(TEXTS).tolist()
    assert repr(loaded) == repr(model)
    assert loaded["classifier"].options == (1, frozenset({2}))
    assert loaded["classifier"].history_[0]["loss"] == 0.5
    assert loaded["classifier"].means_.flags.c_contiguous


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_two_estimators_of_one_class_keep_their_own_arrays_and_scales(
    centroids: Any, precision: str
) -> None:
    X = np.eye(4, dtype=np.float32)
    first, second = centroids().fit(X, LABELS), centroids().fit(100 * X, LABELS)
    loaded = round_trip(Pipeline([("first", first), ("second", second)]), precision=precision)
    assert_near(loaded["first"].means_, first.means_, rtol=1e-6)
    assert_near(loaded["second"].means_, second.means_, rtol=1e-6)


def test_every_allowed_class_is_where_the_table_says() -> None:
    for name, module in ALLOWED_CLASSES.items():
        assert module.partition(".")[0] in {"sklearn", "sklearn_hashnlp"}, name


def test_big_endian_arrays_are_stored_as_numbers(centroids: Any) -> None:
    model = centroids().fit(np.eye(4), LABELS)
    model.means_ = model.means_.astype(">f8")
    np.testing.assert_array_equal(round_trip(model).means_, model.means_)


def test_models_that_cannot_be_saved_are_named(centroids: Any) -> None:
    with pytest.raises(
        TypeError,
        match=r"it is a sklearn\.feature_extraction\.text\.CountVectorizer, and only these",
    ):
        encode_model(Pipeline([("counts", CountVectorizer())]))
    with pytest.raises(
        TypeError, match=r"parameter 'analyzer' of HashingVectorizer: it is code \(split\)"
    ):
        encode_model(Pipeline([("v", HashingVectorizer(analyzer=str.split))]))
    # not the class of this name
    for unknown in ("a string", type("Normalizer", (Normalizer,), {})()):
        with pytest.raises(TypeError, match="only these classes are known"):
            encode_model(unknown)
    with pytest.raises(NotFittedError):
        encode_model(centroids())
    model = centroids().fit(np.eye(4), LABELS)
    model.means_ = np.array(["a", "b"])
    with pytest.raises(TypeError, match=r"'means\.values' of Centroids: it is an array of <U1"):
        encode_model(model)


@pytest.mark.parametrize("memory", ["cache", Memory(None)])
def test_a_cache_of_pickles_is_refused_in_saving_and_loading(memory: Any) -> None:
    inner = Pipeline([("v", HashingVectorizer())], memory=memory)
    with pytest.raises(
        TypeError,
        match=r"parameter 'memory' of Pipeline: .*pickles are code.*set_params\(memory=None\)",
    ):
        encode_model(Pipeline([("inner", inner)]))
    description, arrays = encode_model(Pipeline([("v", HashingVectorizer())]))
    assert description["parameters"]["memory"] is None
    description["parameters"]["memory"] = "cache"
    with pytest.raises(
        ModelFormatError, match=r"sets the parameter 'memory' of Pipeline: .*pickles are code"
    ):
        decode_model(description, arrays)


def test_the_depth_is_limited_and_what_was_saved_loads() -> None:
    model = HashingVectorizer(n_features=8)
    for _ in range(49):
        model = Pipeline([("step", model)])
    loaded = round_trip(model)
    for _ in range(49):
        # transform would take scikit-learn years: it asks each step for its tags twice
        [(_, loaded)] = loaded.steps
    assert loaded.n_features == 8
    with pytest.raises(ValueError, match="nested deeper than 50 estimators"):
        encode_model(Pipeline([("step", model)]))
    beside = [(f"step{number}", Normalizer()) for number in range(60)]
    assert len(round_trip(Pipeline(beside))) == 60


def learned(arrays: dict[str, Any]) -> dict[str, Any]:
    return {"state": {"classes": ["+"], "history": []}, "arrays": arrays}


@pytest.mark.parametrize(
    ("description", "message"),
    [
        (None, "Expected the description of an estimator for the model, got NoneType"),
        ({"class": "Normalizer"}, "Expected the description of an estimator"),
        (
            described(colour="red"),
            "parameter 'colour', which Normalizer of this version does not have",
        ),
        (described(norm="l3"), r"Normalizer does not accept: The 'norm' parameter"),
        (described(norm={"estimator": described("os.system")}), "class 'os.system'"),
        (described() | {"state": {}, "arrays": {}}, "holds a learned state for Normalizer"),
        (described("Centroids"), "holds no learned state for Centroids"),
        (
            described("Centroids") | {"state": [], "arrays": {}},
            "learned state of Centroids is damaged",
        ),
        (
            described("Centroids") | {"state": {}, "arrays": {"means": "lost"}},
            "lacks its array 'lost'",
        ),
        (
            described("Centroids") | {"state": {}, "arrays": {}},
            r"does not fit: KeyError\('classes'\)",
        ),
        (
            described("Centroids") | learned({"means.values": {"int4": "means"}}),
            "in an unknown encoding: {'int4'",
        ),
        (
            described("Centroids") | learned({"means.values": {"int8": "means"}}),
            "in an unknown encoding: {'int8'",
        ),
        (
            described("Centroids") | learned({"means.values": {"int8": ["levels", "lost"]}}),
            "lacks its array 'lost'",
        ),
        (
            described("Centroids") | learned({"means.values": {"int8": ["levels", "scale"]}}),
            "could not be broadcast",
        ),
        (
            described("Normalizer") | {"training": learned({})},
            "holds a training state for Normalizer, which has none",
        ),
        (described("Pipeline", steps=3), "Pipeline does not accept"),
    ],
)
def test_damaged_descriptions_are_named(centroids: Any, description: Any, message: str) -> None:
    with pytest.raises(ModelFormatError, match=message):
        decode_model(
            description,
            {"levels": np.zeros((2, 3), dtype=np.int8), "scale": np.ones(2, dtype=np.float32)},
        )


@pytest.mark.parametrize(
    ("training", "message"),
    [
        ([], "The training state of Centroids is damaged"),
        (
            {"state": {"steps": 3}, "arrays": {"counts": "lost"}},
            "training state of Centroids lacks its array 'lost'",
        ),
        (
            {"state": {"steps": 3}, "arrays": {}},
            r"training state of Centroids does not fit: KeyError\('counts'\)",
        ),
    ],
)
def test_a_damaged_training_state_is_named(centroids: Any, training: Any, message: str) -> None:
    description, arrays = encode_model(centroids().fit(np.eye(4), LABELS))
    with pytest.raises(ModelFormatError, match=message):
        decode_model(description | {"training": training}, arrays)


def test_only_tables_are_rounded(centroids: Any) -> None:
    model = centroids().fit(np.arange(16, dtype=np.float32).reshape(4, 4) / 7, LABELS)
    exact = round_trip(model).means_
    assert exact.dtype == np.float32
    for precision, error in {"float16": 1e-3, "int8": 1e-2}.items():
        loaded = round_trip(model, precision=precision)
        assert loaded.means_.dtype == np.float32
        np.testing.assert_allclose(loaded.means_, exact, rtol=0, atol=error * exact.max())
        assert (loaded.means_ != exact).any()
        assert loaded.classes_.tolist() == model.classes_.tolist()
        np.testing.assert_array_equal(round_trip(loaded, precision=precision).means_, loaded.means_)
    model.means_ = model.means_.astype(np.float64)  # of another dtype: stored exactly
    np.testing.assert_array_equal(round_trip(model, precision="int8").means_, model.means_)


def test_the_training_state_is_saved_on_request(centroids: Any) -> None:
    X = np.eye(4)
    model = Pipeline(
        [
            ("first", centroids().fit(X, LABELS)),
            ("second", centroids().fit(X, ["a", "b", "b", "b"])),
        ]
    )
    assert not hasattr(round_trip(model)["first"], "counts_")
    loaded = round_trip(model, training_state=True)
    assert [loaded[name].counts_.tolist() for name in ("first", "second")] == [[2, 2], [1, 3]]
    assert loaded["first"].steps_ == 1
    del model["first"].counts_
    loaded = round_trip(model, training_state=True)
    assert not hasattr(loaded["first"], "counts_")
    assert loaded["second"].counts_.tolist() == [1, 3]


def test_a_missing_training_state_is_an_error(centroids: Any) -> None:
    model = centroids().fit(np.eye(4), LABELS)
    for without in (round_trip(model), Normalizer()):
        with pytest.raises(
            ValueError, match="training_state=True, but this model has no training state"
        ):
            encode_model(without, training_state=True)


def test_a_parameter_that_an_older_version_did_not_have_keeps_its_default() -> None:
    assert decode_model(described(norm="l1"), {}).get_params() == Normalizer("l1").get_params()
