"""Models as documents: every parameter and array comes back, and only known classes are made."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import pytest
from joblib import Memory
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import Normalizer

from sklearn_hashnlp.persistence import ModelFormatError
from sklearn_hashnlp.persistence._model_document import ALLOWED_CLASSES, decode_model, encode_model

TEXTS = ["good day", "bad day", "good good", "bad night"]
LABELS = ["+", "-", "+", "-"]


def there_and_back(model: Any) -> Any:
    description, arrays = encode_model(model)
    return decode_model(json.loads(json.dumps(description)), arrays)


def described(cls: str = "Normalizer", **parameters: Any) -> dict[str, Any]:
    return {"class": cls, "parameters": parameters}


def test_a_nested_pipeline_predicts_the_same_bits(centroids: Any) -> None:
    words = HashingVectorizer(n_features=64, dtype=np.float32, stop_words=["the", "a"], ngram_range=(1, 2))
    letters = Pipeline([("hash", HashingVectorizer(analyzer="char", n_features=32)), ("norm", Normalizer("l1"))])
    union = FeatureUnion([("words", words), ("letters", letters)], transformer_weights={"letters": 0.5})
    model = Pipeline(
        [("features", union), ("pass", "passthrough"), ("classifier", centroids(3.0, options=(1, frozenset({2}))))]
    )
    model.fit(TEXTS, LABELS)
    loaded = there_and_back(model)
    np.testing.assert_array_equal(loaded.predict_proba(TEXTS), model.predict_proba(TEXTS))
    assert loaded.predict(TEXTS).tolist() == model.predict(TEXTS).tolist()
    assert repr(loaded) == repr(model)
    assert loaded["classifier"].options == (1, frozenset({2}))
    assert loaded["classifier"].history_[0]["loss"] == 0.5
    assert loaded["classifier"].means_.flags.c_contiguous


def test_two_estimators_of_one_class_keep_their_own_arrays(centroids: Any) -> None:
    X = np.eye(4)
    first, second = centroids().fit(X, LABELS), centroids().fit(2 * X, LABELS)
    loaded = there_and_back(Pipeline([("first", first), ("second", second)]))
    np.testing.assert_array_equal(loaded["first"].means_, first.means_)
    np.testing.assert_array_equal(loaded["second"].means_, second.means_)


def test_every_allowed_class_is_where_the_table_says() -> None:
    for name, module in ALLOWED_CLASSES.items():
        assert module.partition(".")[0] in {"sklearn", "sklearn_hashnlp"}, name


def test_big_endian_arrays_are_stored_as_numbers(centroids: Any) -> None:
    model = centroids().fit(np.eye(4), LABELS)
    model.means_ = model.means_.astype(">f8")
    np.testing.assert_array_equal(there_and_back(model).means_, model.means_)


def test_what_cannot_be_saved_is_named(centroids: Any) -> None:
    with pytest.raises(TypeError, match=r"it is a sklearn\.feature_extraction\.text\.TfidfTransformer, and only these"):
        encode_model(Pipeline([("tfidf", TfidfTransformer())]))
    with pytest.raises(TypeError, match=r"parameter 'analyzer' of HashingVectorizer: it is code \(split\)"):
        encode_model(Pipeline([("v", HashingVectorizer(analyzer=str.split))]))
    with pytest.raises(TypeError, match="only these classes are known"):
        encode_model("a string")
    with pytest.raises(NotFittedError):
        encode_model(centroids())
    model = centroids().fit(np.eye(4), LABELS)
    model.means_ = np.array(["a", "b"])
    with pytest.raises(TypeError, match="'means' of Centroids: it is an array of <U1"):
        encode_model(model)


@pytest.mark.parametrize("memory", ["cache", Memory(None)])
def test_a_cache_of_pickles_is_refused_on_both_ways(memory: Any) -> None:
    inner = Pipeline([("v", HashingVectorizer())], memory=memory)
    with pytest.raises(
        TypeError, match=r"parameter 'memory' of Pipeline: .*pickles are code.*set_params\(memory=None\)"
    ):
        encode_model(Pipeline([("inner", inner)]))
    description, arrays = encode_model(Pipeline([("v", HashingVectorizer())]))
    assert description["parameters"]["memory"] is None
    description["parameters"]["memory"] = "cache"
    with pytest.raises(ModelFormatError, match=r"sets the parameter 'memory' of Pipeline: .*pickles are code"):
        decode_model(description, arrays)


def test_nesting_has_an_end_and_what_is_saved_loads() -> None:
    model = HashingVectorizer(n_features=8)
    for _ in range(49):
        model = Pipeline([("step", model)])
    loaded = there_and_back(model)
    for _ in range(49):
        [(_, loaded)] = loaded.steps  # transform would take scikit-learn years: it asks each step for its tags twice
    assert loaded.n_features == 8
    with pytest.raises(ValueError, match="nested deeper than 50 estimators"):
        encode_model(Pipeline([("step", model)]))
    beside = [(f"step{number}", Normalizer()) for number in range(60)]
    assert len(there_and_back(Pipeline(beside))) == 60


def test_a_subclass_under_the_name_of_a_known_class_is_refused() -> None:
    cls = type("Normalizer", (Normalizer,), {})
    with pytest.raises(TypeError, match="only these classes are known"):
        encode_model(cls())


@pytest.mark.parametrize(
    "name", ["os.system", "system", "antigravity", "sklearn.pipeline.Pipeline", "", None, ["Pipeline"]]
)
def test_an_unknown_class_is_refused_and_nothing_imported(name: Any) -> None:
    before = set(sys.modules)
    with pytest.raises(ModelFormatError, match="which this version of sklearn-hashnlp does not know"):
        decode_model({"class": name, "parameters": {}}, {})
    assert set(sys.modules) == before


@pytest.mark.parametrize(
    ("description", "message"),
    [
        (None, "Expected the description of an estimator for the model, found NoneType"),
        ({"class": "Normalizer"}, "Expected the description of an estimator"),
        (described(colour="red"), "parameter 'colour', which Normalizer of this version does not have"),
        (described(norm="l3"), r"Normalizer does not accept: The 'norm' parameter"),
        (described(norm={"estimator": described("os.system")}), "class 'os.system'"),
        (described() | {"state": {}, "arrays": {}}, "holds a learned state for Normalizer"),
        (described("Centroids"), "holds no learned state for Centroids"),
        (described("Centroids") | {"state": [], "arrays": {}}, "learned state of Centroids is damaged"),
        (described("Centroids") | {"state": {}, "arrays": {"means": "lost"}}, "lacks its array 'lost'"),
        (described("Centroids") | {"state": {}, "arrays": {}}, r"does not fit: KeyError\('classes'\)"),
        (described("Pipeline", steps=3), "Pipeline does not accept"),
    ],
)
def test_damaged_descriptions_are_named(centroids: Any, description: Any, message: str) -> None:
    with pytest.raises(ModelFormatError, match=message):
        decode_model(description, {})


def test_a_parameter_that_an_older_version_did_not_have_keeps_its_default() -> None:
    assert decode_model(described(norm="l1"), {}).get_params() == Normalizer("l1").get_params()
