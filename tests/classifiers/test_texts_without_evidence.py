"""Texts that say nothing: empty ones, and those of words that most texts have."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sklearn_hashnlp import TextClassifier
from sklearn_hashnlp.classifiers import merge_classifiers
from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.inspection import explain
from tests.text_classifiers import text_classifier


@pytest.fixture(scope="module")
def marked():
    """Return texts of two labels, two thirds of one, with a word before most texts of that one."""
    texts, labels = load_stdlib_docstrings(return_X_y=True)
    labels = np.array(labels)
    (one, _), (two, _) = Counter(labels.tolist()).most_common(2)
    first, second = np.flatnonzero(labels == one)[:600], np.flatnonzero(labels == two)[:300]
    rows = np.random.default_rng(0).permutation(np.concatenate([first, second]))
    is_first = labels[rows] == one
    marks = is_first & (np.random.default_rng(1).random(len(rows)) < 0.8)
    return [("@user " if mark else "") + texts[row] for row, mark in zip(rows, marks, strict=True)], is_first


@pytest.fixture(scope="module")
def fitted(marked):
    return TextClassifier(random_state=0).fit(*marked)


@pytest.mark.parametrize(
    "options",
    [
        *({}, {"calibrate": False, "features": "words+characters"}, {"loss": "softmax", "features": "words"}),
        *({"loss": "ova"}, {"loss": "hsigmoid", "features": "characters"}),
    ],
    ids=str,
)
def test_a_text_without_known_ngrams_gets_the_shares_of_the_classes(options, marked, fitted):
    texts, labels = marked
    model = text_classifier(random_state=0, **options).fit(texts, labels) if options else fitted
    share = labels.mean()
    nothing = ["", " "] if options.get("features") != "words" else ["", " ", "zzqx vvkw"]  # characters are known
    assert np.abs(model.predict_proba(nothing)[:, 1] - share).max() < 0.03
    assert all(model.predict(nothing))
    if options.get("loss") in ("softmax", "ova"):
        odds = np.log(share / (1 - share))
        np.testing.assert_allclose(model.decision_function([""]), odds, atol=0.1)
    plain = uninformative_words(texts, labels)
    assert plain
    assert np.abs(model.predict_proba(plain)[:, 1] - share).max() < 0.15


def uninformative_words(texts, labels):
    """Return the frequent words that texts of each label have about as often."""
    words = [set(text.lower().split()) for text in texts]
    frequent = [word for word, _ in Counter(word for own in words for word in own).most_common(20)]
    shares = {word: np.mean(labels[[word in own for own in words]]) for word in frequent}
    return [word for word in frequent if abs(shares[word] - labels.mean()) < 0.05]


def test_further_texts_change_the_shares(marked):
    texts, labels = marked
    model = TextClassifier(random_state=0).fit(texts[:600], labels[:600])
    model.partial_fit(texts[600:], labels[600:])
    assert model.predict_proba([""])[0, 1] == pytest.approx(labels.mean(), abs=0.03)
    weights = np.where(labels, 1.0, 4.0)
    weighted = TextClassifier(random_state=0).fit(texts, labels, sample_weight=weights)
    assert weighted.predict_proba([""])[0, 1] == pytest.approx(np.average(labels, weights=weights), abs=0.03)
    by_class = TextClassifier(random_state=0, class_weight="balanced").fit(texts, labels)
    assert by_class.predict_proba([""])[0, 1] == pytest.approx(0.5, abs=0.03)


def test_several_labels(marked):
    texts, labels = marked
    y = [["first"] * bool(label) + ["any"] * (index % 4 == 0) for index, label in enumerate(labels)]
    model = TextClassifier(random_state=0).fit(texts, y)
    shares = [np.mean([label in row for row in y]) for label in model.classes_]
    np.testing.assert_allclose(model.predict_proba([""])[0], shares, atol=0.03)


def test_explained_and_merged(marked, fitted):
    texts, labels = marked
    for text in ("", "the", "return the"):
        explanation = explain(fitted, text)
        total = explanation.bias[0] + explanation.contributions.sum()
        assert total == pytest.approx(fitted.decision_function([text])[0], abs=1e-4)
    parts = [
        TextClassifier(random_state=0, loss="softmax").fit(texts[rows], labels[rows])
        for rows in (slice(450), slice(450, None))
    ]
    assert merge_classifiers(parts).predict_proba([""])[0, 1] == pytest.approx(labels.mean(), abs=0.03)


def test_a_frequent_word_that_is_a_text_of_its_own_is_predicted_as_it_was_learned():
    rng = np.random.default_rng(0)
    words = np.array([f"w{number}" for number in range(300)])
    texts = [" ".join(["no"] * (rng.random() < 0.6) + rng.choice(words, 8).tolist()) for _ in range(990)]
    labels = np.where(rng.random(990) < 0.3, "reject", "other").tolist()
    texts, labels = (
        texts + ["no"] * 10,
        labels + ["reject"] * 10,
    )  # fewer than the 2 % that may have too little evidence
    for options in ({}, {"features": "words"}, {"loss": "softmax"}):
        model = text_classifier(random_state=0, **options).fit(texts, labels)
        assert model.predict(["no"]).tolist() == ["reject"], options


def test_short_texts_that_others_predict_keep_their_scores():
    rng = np.random.default_rng(0)
    words = np.array([f"w{number}" for number in range(400)])
    long = [" ".join([*rng.permutation(["what", "is", "on"])[:2], *rng.choice(words, 9)]) for _ in range(950)]
    short = [f"what is {first}{second}" for first in "abcdefgh" for second in "nopqrst"][:50]
    texts, labels = [*long, *short[:20]], ["flight"] * 950 + ["abbreviation"] * 20
    model = text_classifier(random_state=0, features="words").fit(texts, labels)
    assert set(model.predict(short[20:])) == {"abbreviation"}
    assert model.predict([" ", "zzqx"]).tolist() == ["flight", "flight"]
