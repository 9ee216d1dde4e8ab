"""All public estimators refuse wrong sentences, rows and numbers of threads in the same words."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pandas as pd
import pytest
import torch

from sklearn_hashnlp.classifiers import EmbeddingTables
from tests.contract.estimators import BITS, CASES, LABELS, ONE_OF_A_KIND, TEXTS, answers, fitted
from tests.trainings import assert_same_bits

LANGUAGE_MODELS = [name for name in ONE_OF_A_KIND if "LanguageModel" in name]
THREADED = [name for name in ONE_OF_A_KIND if "n_jobs" in CASES[name].make().get_params(deep=False)]
OF_NUMBERS = [
    "HashEmbeddingClassifier",
    "SGNNClassifier",
    "SGNNProjector",
    "QuantizedSGNNClassifier",
]


@pytest.mark.parametrize(
    ("sentences", "error", "message"),
    [
        ("a text", TypeError, "a single str.* list"),
        (b"bytes", (TypeError, ValueError), "bytes .*[Ww]rap .* in a list"),
        (
            pd.DataFrame({"text": ["fine"], "other": ["too"]}),
            ValueError,
            "expects one column of documents",
        ),
        (7, TypeError, "expects an iterable over documents"),
        (["fine", None], TypeError, "got None of type NoneType as sentence 1"),
        (["fine", 3], TypeError, "got 3 of type int as sentence 1"),
        (["fine", float("nan")], TypeError, "got nan of type float as sentence 1"),
        (["fine", b"bytes"], TypeError, "got b'bytes' of type bytes as sentence 1"),
        (["fine", ["a", 3]], TypeError, "sentence 1 holds 3 of type int, and words are str"),
    ],
    ids=[
        "string",
        "bytes",
        "table",
        "no column",
        "None",
        "number",
        "nan",
        "a sentence of bytes",
        "a word",
    ],
)
@pytest.mark.parametrize("name", LANGUAGE_MODELS)
def test_what_is_no_list_of_sentences_is_refused(name, sentences, error, message):
    for method in ("fit", *CASES[name].answers):
        model = CASES[name].make() if method == "fit" else fitted(name)
        with pytest.raises(error, match=message) as caught:
            getattr(model, method)(sentences)
        assert "LanguageModel" in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.where(np.arange(24) == 3, np.nan, BITS[:2]), "NaN"),
        (np.where(np.arange(24) == 3, np.inf, BITS[:2]), "infinity"),
        (BITS[0], "Expected 2D array, got 1D array"),
        (BITS[:, :0], "0 feature"),
        (BITS[np.newaxis], "dim 3"),
        (BITS * 1j, "Complex data not supported"),
    ],
    ids=["nan", "infinite", "one row", "no columns", "three dimensions", "complex"],
)
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_what_are_no_rows_of_numbers_are_refused_in_scikit_learns_words(name, rows, message):
    case = CASES[name]
    for method in ("fit", *case.answers):
        model = case.make() if method == "fit" else fitted(name)
        with pytest.raises(ValueError, match=message):
            getattr(model, method)(rows, *([LABELS[: len(rows)]] if method == "fit" else []))


@pytest.mark.parametrize("name", THREADED)
def test_the_number_of_jobs_can_change_after_fit_and_is_checked(name):
    model, expected = fitted(name), answers(name, fitted(name))
    for n_jobs in (2, None, -1):
        assert_same_bits(answers(name, model.set_params(n_jobs=n_jobs)), expected)
    for method in CASES[name].answers:
        with pytest.raises(ValueError, match=r"'n_jobs' parameter.* must be .* Got 'many'"):
            getattr(model.set_params(n_jobs="many"), method)(CASES[name].asked)


LEARN_LABELS = ["HashEmbeddingClassifier", "SGNNClassifier", "TextClassifier"]


def arguments(name):
    """Return the names of all parameters of a class, and of its methods that train."""
    cls = type(CASES[name].make())
    return {
        argument
        for call in (cls, cls.fit, cls.partial_fit)
        for argument in inspect.signature(call).parameters
    }


def check_message(name, error):
    """Check that a message names no other class and no argument that its class does not have."""
    message = str(error.value)
    assert set(re.findall(r"\b(\w+)=", message)) <= arguments(name)
    assert set(re.findall(r"\w+Classifier\b", message)) <= {name}
    assert message.endswith(".")
    return message


@pytest.mark.parametrize("name", LEARN_LABELS)
def test_a_label_after_fit_is_refused_with_calls_that_work(name):
    case = CASES[name]
    X = case.X[:20]
    y = np.where(LABELS[:20] == "sport", "sport", "others")
    all_labels = ["others", "sport", "weather"]
    new = np.where(LABELS[:20] == "weather", "weather", y)
    model = case.make().fit(X, y)
    with pytest.raises(ValueError, match="'weather' in y was not seen before") as caught:
        model.partial_fit(X, new)
    message = check_message(name, caught)
    assert "call fit on all rows" in message
    assert "partial_fit(X, y, classes=[*model.classes_, 'weather'])" in message
    with pytest.raises(
        ValueError, match=r"classes lacks \['others'\]\. Call .* or call fit"
    ) as caught:
        model.partial_fit(X, new, classes=["sport", "weather"])
    check_message(name, caught)
    model.partial_fit(X, new, classes=[*model.classes_, "weather"])
    assert model.classes_.tolist() == all_labels
    assert model.fit(X, new).classes_.tolist() == all_labels
    assert (
        case.make().partial_fit(X, y, classes=all_labels).partial_fit(X, new).classes_.tolist()
        == all_labels
    )


@pytest.mark.parametrize(
    ("parameters", "labels", "arguments"),
    [
        ({}, ["same"] * 80, {}),
        ({}, [None, *LABELS[1:]], {}),
        ({}, LABELS, {"classes": ["a", "b"]}),
        ({}, LABELS, {"sample_weight": -np.ones(80)}),
        ({"loss": "softmax"}, [[label] for label in LABELS], {}),
        ({"loss": "soft_softmax"}, LABELS, {}),
        ({"solver": "dual", "loss": "softmax"}, LABELS, {}),
        ({"class_weight": {"another": 2}}, LABELS, {}),
        ({"device": "cuda"}, LABELS, {}),
        (
            {
                "learning_rate": 1e30,
                "max_epochs": 5,
                "embedding": EmbeddingTables(append_weight=True),
            },
            LABELS,
            {},
        ),
    ],
)
def test_errors_of_a_text_classifier_name_it(parameters, labels, arguments, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    model = CASES["TextClassifier"].make(**parameters)
    with pytest.raises((ValueError, RuntimeError)) as caught:
        model.fit(TEXTS, labels, **arguments).predict(TEXTS)
    check_message("TextClassifier", caught)


@pytest.mark.parametrize(
    "parameters", [{"n_buckets": 7}, {"device": "cuda"}, {"lowercase": False}, {"loss": "ova"}]
)
def test_what_a_text_classifier_cannot_change_is_told_in_its_name(parameters, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    model = fitted("TextClassifier").set_params(**parameters)
    with pytest.raises(ValueError, match=r"(Set it back|Set device='cpu'), or train") as caught:
        model.partial_fit(TEXTS, LABELS)
    check_message("TextClassifier", caught)
