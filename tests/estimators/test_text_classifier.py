"""make_text_classifier: strings in, labels out, good with nothing else set."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.estimators import HashEmbeddingClassifier, make_text_classifier
from sklearn_hashnlp.text import HashingNgramVectorizer

TEXTS = ["what ?", "oh , really ?", "who knows ?", "no .", "yes .", "it is so ."]
LABELS = ["question"] * 3 + ["statement"] * 3


def test_its_parts_and_parameters():
    model = make_text_classifier(
        ngram_range=(1, 3), n_buckets=500, n_hashes=3, embedding_dim=7, max_epochs=4, early_stopping=True,
        device="auto", n_jobs=2, callbacks=[], random_state=5, verbose=1,
    )  # fmt: skip
    vectorizer, classifier = model["vectorizer"], model["classifier"]
    assert isinstance(vectorizer, HashingNgramVectorizer)
    assert isinstance(classifier, HashEmbeddingClassifier)
    assert (vectorizer.ngram_range, vectorizer.n_jobs, vectorizer.n_features) == ((1, 3), 2, 2**31 - 1)
    names = ("n_buckets", "n_hashes", "embedding_dim", "max_epochs", "early_stopping", "device", "callbacks", "verbose")
    assert [getattr(classifier, name) for name in names] == [500, 3, 7, 4, True, "auto", [], 1]
    assert classifier.random_state == 5
    assert clone(model).get_params().keys() == model.get_params().keys()


def test_punctuation_is_a_word():
    model = make_text_classifier(random_state=0).fit(TEXTS, LABELS)
    assert model.predict(["?", "."]).tolist() == ["question", "statement"]


def test_any_document_is_legal():
    model = make_text_classifier(random_state=0).fit([*TEXTS, "", "\0"], [*LABELS, "question", "statement"])
    probabilities = model.predict_proba(["", "never seen", "ünïcode 🎉", "\0"])
    assert np.isfinite(probabilities).all()
    assert np.array_equal(probabilities[0], probabilities[1])


def test_the_number_of_jobs_changes_nothing():
    one, two = (make_text_classifier(random_state=0, n_jobs=n).fit(TEXTS, LABELS) for n in (1, 2))
    assert one.predict_proba(TEXTS).tobytes() == two.predict_proba(TEXTS).tobytes()


def test_on_the_standard_librarys_docstrings_it_is_not_below_a_linear_model():
    texts, labels = load_stdlib_docstrings(return_X_y=True)
    parts = train_test_split(texts, labels, test_size=0.25, stratify=labels, random_state=0)
    train, test, y_train, y_test = parts
    ours = make_text_classifier(random_state=0).fit(train, y_train).score(test, y_test)
    tokens = TfidfVectorizer(token_pattern=r"\w+|[^\w\s]", ngram_range=(1, 2))
    for vectorizer in (tokens, TfidfVectorizer()):
        theirs = make_pipeline(vectorizer, LinearSVC(random_state=0)).fit(train, y_train).score(test, y_test)
        assert ours >= theirs
    assert ours >= 0.85


@pytest.mark.slow
def test_ag_news_five_seeds():
    if "HASHNLP_DATA" not in os.environ:
        pytest.skip("HASHNLP_DATA names no data folder")
    folder = Path(os.environ["HASHNLP_DATA"]) / "ag_news"
    train, test = (pd.read_csv(folder / name, dtype=str, keep_default_na=False) for name in ("train.csv", "test.csv"))
    accuracies = [
        make_text_classifier(random_state=seed).fit(train["text"], train["label"]).score(test["text"], test["label"])
        for seed in range(5)
    ]
    assert np.mean(accuracies) >= 0.905
