"""Predictions of texts in native calls, for one or for blocks of many: as those from the counts of
all texts.
"""

import pickle
import sys
from copy import copy, deepcopy
from enum import StrEnum
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

from sklearn_hashnlp import TextClassifier
from sklearn_hashnlp._threads import is_worker, map_in_order
from sklearn_hashnlp.classifiers._losses import SoftmaxLoss
from sklearn_hashnlp.classifiers.hash_embedding import _text_scorer

TEXTS = [
    "what ?",
    "Oh , REALLY ?",
    "who knows ?",
    "no .",
    "yes yes yes .",
    "it is so .",
    "été où ?",
    "\U0001f600 .",
    "",
]
LABELS = ["question"] * 3 + ["statement"] * 3 + ["question", "statement", "statement"]
UNSEEN = [
    *TEXTS,
    "İs it ?",
    "a\tb\n\nc",
    "a\x00b",
    "yes " * 5000,
    " \x02 ",
    "ünknown wörds",
    "\u2028?",
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"features": "words", "lowercase": False, "ngram_range": (1, 3)},
    {"features": "words+characters", "loss": "softmax", "max_epochs": 2},
    {"features": "characters", "loss": "ova", "n_hashes": 2, "max_epochs": 2},
    {"loss": "hsigmoid", "max_epochs": 2},
]


def whole(model: TextClassifier, method: str, texts: list[str]) -> Any:
    """Predict from the counts of all texts."""
    return getattr(model._fitted(), method)(model._rows(texts))


def same(one: Any, other: Any) -> bool:
    return (
        one == other
        if isinstance(one, list)
        else bool((np.asarray(one) == np.asarray(other)).all())
    )


@pytest.fixture(scope="module", params=OPTIONS, ids=str)
def model(request):
    return TextClassifier(random_state=0, **request.param).fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "decision_function", "predict_topk"]
)
def test_one_text_is_predicted_as_among_others(method, model):
    expected = whole(model, method, UNSEEN)
    for row, text in enumerate(UNSEEN):
        assert same(getattr(model, method)([text]), expected[row : row + 1]), text


def test_a_model_that_changes_predicts_anew():
    model = TextClassifier(features="words", random_state=0).fit(TEXTS, LABELS)
    linear, (vectorizer, classifier) = model._fitted()._model.linear, model.pipeline_[:]
    before = model.decision_function(["what ?"])
    linear.weight[:] *= 2
    np.testing.assert_allclose(model.decision_function(["what ?"]) / before, 2, rtol=0.3)
    linear.pool[:] *= -1
    assert model.predict(["what ?"]).tolist() == ["statement"]
    classifier.classes_ = np.array(["?", "."])
    assert model.predict(["what ?"]).tolist() == ["."]
    vectorizer.ngram_range = (1, 1)
    changed = model.decision_function(["what ? ?"])
    assert changed.tolist() == whole(model, "decision_function", ["what ? ?", "."])[:1].tolist()
    vectorizer.ngram_range = (3, 3)
    assert changed.tolist() != model.decision_function(["what ? ?"]).tolist()
    vectorizer.n_features = -1
    with pytest.raises(ValueError, match="'n_features' parameter of HashingNgramVectorizer"):
        model.predict(["what ?"])


def test_one_text_that_cannot_be_encoded_is_refused_as_among_others():
    model = TextClassifier(random_state=0).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="document 0 holds the lone surrogate"):
        model.predict(["a \ud800"])


class Kind(StrEnum):
    """Strings whose format is not their text."""

    QUESTION = "où ?"

    def __format__(self, spec: str) -> str:
        return "no ."


def test_subclasses_of_str_are_their_text():
    model = TextClassifier(random_state=0).fit(TEXTS, LABELS)
    for texts in ([Kind.QUESTION], [Kind.QUESTION, "no ."]):
        plain = ["où ?", "no ."][: len(texts)]
        np.testing.assert_array_equal(model.predict_proba(texts), model.predict_proba(plain))


def test_changed_parts_of_a_union_predict_anew():
    model = TextClassifier(features="words+characters", random_state=0).fit(TEXTS, LABELS)
    union, seen = model.pipeline_[0], [model.decision_function(["REALLY ?"]).tolist()]
    union.set_params(words__lowercase=False, characters__lowercase=False)
    seen.append(model.decision_function(["REALLY ?"]).tolist())
    union.transformer_weights["words"] = 5
    seen.append(model.decision_function(["REALLY ?"]).tolist())
    assert len(set(map(str, seen))) == 3
    assert seen[2] == whole(model, "decision_function", ["REALLY ?"]).tolist()


@pytest.mark.parametrize("weight", [1e-20, 1e20, 1e-45, 0, -1])
def test_extreme_weights_of_a_part(weight):
    model = TextClassifier(features="words+characters", random_state=0).fit(TEXTS, LABELS)
    model.pipeline_[0].transformer_weights = {"words": weight, "characters": weight}
    np.testing.assert_array_equal(
        model.predict_proba(UNSEEN), whole(model, "predict_proba", UNSEEN)
    )


@pytest.mark.parametrize("texts", [["what ?"], ["what ?", "no ."]])
def test_other_columns_than_those_of_fit_are_refused(texts):
    model = TextClassifier(features="words", random_state=0).fit(TEXTS, LABELS)
    model.pipeline_[0].n_features = 1000
    with pytest.raises(ValueError, match="X has 1000 features"):
        model.predict(texts)
    model = TextClassifier(features="words+characters", random_state=0).fit(TEXTS, LABELS)
    model.pipeline_[0].set_params(words="drop")
    with pytest.raises(ValueError, match="features"):
        model.predict(texts)


def test_a_text_that_is_encoded_by_code_that_predicts():
    """Signals, finalizers and profilers run code where a text is encoded, on the same thread."""
    first = TextClassifier(features="words+characters", random_state=0).fit(TEXTS, LABELS)
    second = TextClassifier(features="words", random_state=0).fit(TEXTS, LABELS)
    text, calls = "où ? " * 200, 0

    def predict(frame, event, _argument):
        nonlocal calls
        if (
            event == "call"
            and frame.f_code.co_name == "_encode"
            and "sklearn_hashnlp" in frame.f_code.co_filename
        ):
            calls += 1
            sys.setprofile(None)
            second.predict(["what ? no ."])
            sys.setprofile(predict)

    expected = [whole(first, "predict", [text]), *[first.predict([text]) for _ in range(3)]]
    sys.setprofile(predict)
    try:
        found = [first.predict([text]) for _ in range(4)]
    finally:
        sys.setprofile(None)
    assert calls >= 4
    assert found == expected


def test_arrays_of_other_shapes_are_refused():
    model = TextClassifier(random_state=0).fit(TEXTS, LABELS)
    native = model._scorer()._native
    for n_scores, n_classes, n_labels in ((0, 2, 2), (2, 2, 1), (1, 3, 1)):
        with pytest.raises(ValueError, match="a row for each text"):
            native.score(["what ?"], np.empty((n_scores, n_classes)), np.empty(n_labels, np.int64))


def test_a_model_that_has_predicted_is_pickled_and_copied():
    model = TextClassifier(random_state=0).fit(TEXTS, LABELS)
    expected = model.predict_proba(["what ?"])
    for copied in (deepcopy(model), pickle.loads(pickle.dumps(model)), copy(model)):
        np.testing.assert_array_equal(copied.predict_proba(["what ?"]), expected)
    bare = model._fitted()._model
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(bare)).last_layer[0], bare.last_layer[0]
    )


@pytest.fixture
def in_blocks(monkeypatch):
    monkeypatch.setattr(_text_scorer, "_MIN_BLOCK", 1000)


def test_blocks_are_predicted_as_all_texts_at_once(model, in_blocks):
    texts = UNSEEN * 6  # several blocks of each thread
    for method, n_jobs in product(["predict", "predict_proba", "predict_topk"], [1, 3]):
        model.set_params(n_jobs=n_jobs)
        expected = whole(model, method, texts)
        for given in (texts, iter(texts), np.array(texts, dtype=object)):
            assert same(getattr(model, method)(given), expected)


def test_an_error_in_a_block_names_the_position_among_all_texts(in_blocks):
    model = TextClassifier(random_state=0).fit(TEXTS, LABELS)
    for wrong, message in (
        (None, "document 700 is None"),
        ("a \ud800", "document 700 holds the lone surrogate"),
    ):
        texts: list[Any] = TEXTS * 100
        texts[700] = wrong
        with pytest.raises((TypeError, ValueError), match=message):
            model.predict(texts)


def test_a_worker_starts_no_threads_of_its_own():
    assert not is_worker()
    assert all(map_in_order(lambda _: is_worker(), range(4), 2))


def test_probabilities_are_scipys_softmax():
    scores = np.random.default_rng(0).normal(scale=300, size=(50, 7))
    np.testing.assert_array_equal(SoftmaxLoss().probabilities(scores), softmax(scores, axis=1))
