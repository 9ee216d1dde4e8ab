"""How much a text says: probabilities of empty, unknown, short and whole texts.

But for the docstrings *slow*, and in need of HASHNLP_DATA.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from sklearn_hashnlp import HashEmbeddingClassifier, TextClassifier
from sklearn_hashnlp.classifiers import merge_classifiers
from sklearn_hashnlp.datasets import load_labelled, load_stdlib_docstrings
from sklearn_hashnlp.inspection import explain
from sklearn_hashnlp.plotting import ReliabilityDisplay
from tests.text_classifiers import text_classifier

DATA_SETS = [
    "docstrings",
    *(
        pytest.param(f"{name}{skew}", marks=pytest.mark.slow)
        for name in ("sst2", "trec", "ag_news")
        for skew in ("", " skewed")
    ),
]
MAX_TRAIN, MAX_UNSEEN = 4000, 2000
RUNES = [chr(code) for code in range(0x16A0, 0x16EB)]  # no text has any


class Fitted(NamedTuple):
    """A classifier, and other texts with the label shares of its training texts."""

    model: TextClassifier
    train: list[str]
    shares: NDArray[np.float64]  # (n_classes,)
    texts: list[str]
    labels: NDArray[np.str_]  # (len(texts),)


@pytest.fixture(scope="module", params=DATA_SETS)
def fitted(request):
    texts, labels = read(request.param.removesuffix(" skewed"))
    if request.param.endswith(" skewed"):  # half of the texts without the most frequent label
        most_frequent = Counter(labels.tolist()).most_common(1)[0][0]
        kept = np.flatnonzero(
            (labels == most_frequent) | (np.random.default_rng(0).random(len(labels)) < 0.5)
        )
        texts, labels = [texts[row] for row in kept], labels[kept]
    n_train = min(MAX_TRAIN, int(0.7 * len(texts)))
    sizes = {"train_size": n_train, "test_size": min(MAX_UNSEEN, len(texts) - n_train)}
    train, unseen, y, y_unseen = train_test_split(
        texts, labels, stratify=labels, random_state=0, **sizes
    )
    model = TextClassifier(random_state=0).fit(train, y)
    return Fitted(
        model, train, np.array([np.mean(y == label) for label in model.classes_]), unseen, y_unseen
    )


def read(name):
    if name == "docstrings":
        texts, labels = load_stdlib_docstrings(return_X_y=True)
        return texts, np.array(labels)
    if "HASHNLP_DATA" not in os.environ:
        pytest.skip("HASHNLP_DATA names no folder")
    return load_labelled(Path(os.environ["HASHNLP_DATA"]) / name / "train.csv", multilabel=False)


def test_empty_texts_have_the_shares_of_the_labels(fitted):
    assert distances(fitted, ["", " "]).max() <= 1e-3
    assert lengths_of(fitted.model, ["", " "]).tolist() == [0, 0]


@pytest.mark.parametrize("n_words", [1, 2, 4])
def test_unknown_words_have_the_shares_of_the_labels(fitted, n_words):
    """Few n-grams of a word share rows of both tables with known ones, as if they were known."""
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(RUNES, rng.integers(3, 8))) for _ in range(20 * n_words)]
    texts = [" ".join(words[start : start + n_words]) for start in range(0, len(words), n_words)]
    differences, lengths = distances(fitted, texts), lengths_of(fitted.model, texts)
    assert differences.mean() <= 0.02 * n_words
    assert differences.max() <= 0.15
    assert differences[lengths == 0].max(initial=0) <= 1e-3  # of smoothed shares


@pytest.mark.parametrize(
    ("pattern", "n_words"), [(r"\w+", 3), (r"[^\w\s]", 1)], ids=["words", "mark"]
)
def test_the_most_frequent_words_say_little(fitted, pattern, n_words):
    n_texts = Counter(
        word for text in fitted.train for word in set(re.findall(pattern, text.lower()))
    )
    for word, _ in n_texts.most_common(n_words):
        assert distances(fitted, [word]) <= 0.15, word


def distances(fitted, texts):
    """Return the largest difference of a probability of each text from the share of its label."""
    return np.abs(fitted.model.predict_proba(texts) - fitted.shares).max(axis=1)


def lengths_of(model, texts):
    *vectorizers, classifier = model.pipeline_
    for vectorizer in vectorizers:
        texts = vectorizer.transform(texts)
    return classifier._model.lengths(classifier._rows(texts))


@pytest.mark.parametrize("n_words", [1, 2, 4, 8])
def test_crops_are_calibrated_and_say_more_than_the_shares(fitted, n_words):
    rng = np.random.default_rng(0)
    labels = np.repeat(fitted.labels, 3)
    probabilities = fitted.model.predict_proba(
        [crop(text, n_words, rng) for text in fitted.texts for _ in range(3)]
    )
    assert calibration_error(fitted.model.classes_, probabilities, labels) <= 0.1
    of_shares = np.tile(fitted.shares, (len(labels), 1))
    losses = [
        log_loss(labels, one, labels=fitted.model.classes_) for one in (probabilities, of_shares)
    ]
    assert losses[0] < losses[1]


def crop(text, n_words, rng):
    """Return some words in a row of a text, from a random place."""
    words = text.split()
    start = rng.integers(max(len(words) - n_words, 0) + 1)
    return " ".join(words[start : start + n_words])


def test_whole_texts_are_calibrated(fitted):
    probabilities = fitted.model.predict_proba(fitted.texts)
    assert calibration_error(fitted.model.classes_, probabilities, fitted.labels) <= 0.05


def calibration_error(classes, probabilities, labels):
    is_correct = classes[probabilities.argmax(axis=1)] == labels
    return ReliabilityDisplay(probabilities.max(axis=1), is_correct, n_bins=15).ece


@pytest.fixture(scope="module")
def marked():
    """Return texts of two labels, two thirds of one."""
    texts, labels = read("docstrings")
    (one, _), (two, _) = Counter(labels.tolist()).most_common(2)
    rows = np.concatenate(
        [np.flatnonzero(labels == one)[:600], np.flatnonzero(labels == two)[:300]]
    )
    rows = np.random.default_rng(0).permutation(rows)
    return [texts[row] for row in rows], labels[rows] == one


@pytest.fixture(scope="module")
def of_marked(marked):
    return TextClassifier(random_state=0).fit(*marked)


@pytest.mark.parametrize(
    "options",
    [
        *(
            {"calibrate": False, "features": "words+characters"},
            {"loss": "softmax", "features": "words"},
        ),
        *({"loss": "ova"}, {"loss": "hsigmoid", "features": "characters"}),
    ],
    ids=str,
)
def test_only_texts_without_known_ngrams_have_the_shares_exactly(options, marked):
    texts, labels = marked
    model = text_classifier(random_state=0, **options).fit(texts, labels)
    # characters are known
    nothing = ["", " "] if options.get("features") != "words" else ["", " ", "zzqx vvkw"]
    assert lengths_of(model, nothing).max() == 0
    np.testing.assert_allclose(model.predict_proba(nothing)[:, 1], labels.mean(), atol=1e-3)
    assert all(model.predict(nothing))
    if options.get("loss") in ("softmax", "ova"):
        odds = np.log(labels.mean() / (1 - labels.mean()))
        np.testing.assert_allclose(model.decision_function([""]), odds, atol=0.1)
    others = np.abs(model.predict_proba(texts[:50])[:, 1] - labels.mean())
    assert others.min() > 1e-3


@pytest.mark.parametrize("calibrate", ["auto", False])
def test_what_all_texts_have_says_nothing(calibrate):
    """Whatever the rounding of the sums of squares."""
    rng = np.random.default_rng(0)
    for count in range(1, 10):
        rows = csr_array(
            np.hstack([np.full((40, 2), count), rng.integers(0, 2, (40, 8))]).astype(np.float32)
        )
        labels = np.arange(40) % 5 == 0
        small = {"n_buckets": 2**12, "n_embeddings": 2**12}
        model = HashEmbeddingClassifier(**small, calibrate=calibrate, random_state=0).fit(
            rows, labels
        )
        common = csr_array(
            np.array([[count, count, *[0] * 8], [1, 0, *[0] * 8], [0] * 10], dtype=np.float32)
        )
        np.testing.assert_allclose(model.predict_proba(common)[:, 1], 0.2, atol=0.01)


def test_further_texts_change_the_shares(marked):
    texts, labels = marked
    model = TextClassifier(random_state=0).fit(texts[:600], labels[:600])
    assert model.predict_proba([""])[0, 1] == pytest.approx(labels[:600].mean(), abs=1e-3)
    model.partial_fit(texts[600:], labels[600:])
    assert model.predict_proba([""])[0, 1] == pytest.approx(labels.mean(), abs=1e-3)
    weights = np.where(labels, 1.0, 4.0)
    weighted = TextClassifier(random_state=0).fit(texts, labels, sample_weight=weights)
    assert weighted.predict_proba([""])[0, 1] == pytest.approx(
        np.average(labels, weights=weights), abs=1e-3
    )
    by_class = TextClassifier(random_state=0, class_weight="balanced").fit(texts, labels)
    assert by_class.predict_proba([""])[0, 1] == pytest.approx(0.5, abs=1e-3)


def test_several_labels(marked):
    texts, labels = marked
    y = [["first"] * bool(label) + ["any"] * (index % 4 == 0) for index, label in enumerate(labels)]
    model = TextClassifier(random_state=0).fit(texts, y)
    shares = [np.mean([label in row for row in y]) for label in model.classes_]
    np.testing.assert_allclose(model.predict_proba([""])[0], shares, atol=1e-3)


def test_explained_and_merged(marked, of_marked):
    texts, labels = marked
    for text in ("", "the", "return the"):
        explanation = explain(of_marked, text)
        total = explanation.bias[0] + explanation.contributions.sum()
        assert total == pytest.approx(of_marked.decision_function([text])[0], abs=1e-4)
    parts = [
        TextClassifier(random_state=0, loss="softmax").fit(texts[rows], labels[rows])
        for rows in (slice(450), slice(450, None))
    ]
    assert merge_classifiers(parts).predict_proba([""])[0, 1] == pytest.approx(
        labels.mean(), abs=1e-3
    )


def test_a_text_of_one_frequent_word_is_predicted_as_learned():
    rng = np.random.default_rng(0)
    words = np.array([f"w{number}" for number in range(300)])
    texts = [
        " ".join(["no"] * (rng.random() < 0.6) + rng.choice(words, 8).tolist()) for _ in range(990)
    ]
    labels = np.where(rng.random(990) < 0.3, "reject", "other").tolist()
    texts, labels = texts + ["no"] * 10, labels + ["reject"] * 10
    for options in ({}, {"features": "words"}, {"loss": "softmax"}):
        model = text_classifier(random_state=0, **options).fit(texts, labels)
        assert model.predict(["no"]).tolist() == ["reject"], options


@pytest.mark.parametrize("features", ["words", "auto"])
def test_short_texts_of_a_rare_label_keep_it(features):
    rng = np.random.default_rng(0)
    words = np.array([f"w{number}" for number in range(400)])
    long = [
        " ".join([*rng.permutation(["what", "is", "on"])[:2], *rng.choice(words, 9)])
        for _ in range(950)
    ]
    short = [f"what is {first}{second}" for first in "abcdefgh" for second in "nopqrst"][:50]
    texts, labels = [*long, *short[:20]], ["flight"] * 950 + ["abbreviation"] * 20
    model = text_classifier(random_state=0, features=features).fit(texts, labels)
    assert set(model.predict(short[:20])) == {"abbreviation"}
    # some last words collide with those of flights
    assert np.mean(model.predict(short[20:]) == "abbreviation") > 0.9
    assert model.predict(["", " ", "zzqx"]).tolist() == ["flight"] * 3
