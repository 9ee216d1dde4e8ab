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
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from sklearn_hashnlp import TextClassifier
from sklearn_hashnlp.datasets import load_labelled, load_stdlib_docstrings
from sklearn_hashnlp.plotting import ReliabilityDisplay

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
        kept = np.flatnonzero((labels == most_frequent) | (np.random.default_rng(0).random(len(labels)) < 0.5))
        texts, labels = [texts[row] for row in kept], labels[kept]
    n_train = min(MAX_TRAIN, int(0.7 * len(texts)))
    sizes = {"train_size": n_train, "test_size": min(MAX_UNSEEN, len(texts) - n_train)}
    train, unseen, y, y_unseen = train_test_split(texts, labels, stratify=labels, random_state=0, **sizes)
    model = TextClassifier(random_state=0).fit(train, y)
    return Fitted(model, train, np.array([np.mean(y == label) for label in model.classes_]), unseen, y_unseen)


def read(name):
    if name == "docstrings":
        texts, labels = load_stdlib_docstrings(return_X_y=True)
        return texts, np.array(labels)
    if "HASHNLP_DATA" not in os.environ:
        pytest.skip("HASHNLP_DATA names no folder")
    return load_labelled(Path(os.environ["HASHNLP_DATA"]) / name / "train.csv", multilabel=False)


def test_empty_texts_have_the_shares_of_the_labels(fitted):
    assert distance(fitted, ["", " "]) <= 0.05


@pytest.mark.parametrize("n_words", [1, 2, 4])
def test_unknown_words_have_the_shares_of_the_labels(fitted, n_words):
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(RUNES, rng.integers(3, 8))) for _ in range(20 * n_words)]
    assert (
        distance(fitted, [" ".join(words[start : start + n_words]) for start in range(0, len(words), n_words)]) <= 0.05
    )


@pytest.mark.parametrize(("pattern", "n_words"), [(r"\w+", 3), (r"[^\w\s]", 1)], ids=["words", "mark"])
def test_the_most_frequent_words_say_little(fitted, pattern, n_words):
    n_texts = Counter(word for text in fitted.train for word in set(re.findall(pattern, text.lower())))
    for word, _ in n_texts.most_common(n_words):
        assert distance(fitted, [word]) <= 0.15, word


def distance(fitted, texts):
    """Return the largest difference of a probability from the share of its label."""
    return np.abs(fitted.model.predict_proba(texts) - fitted.shares).max()


@pytest.mark.parametrize("n_words", [1, 2, 4, 8])
def test_crops_are_calibrated_and_say_more_than_the_shares(fitted, n_words):
    rng = np.random.default_rng(0)
    labels = np.repeat(fitted.labels, 3)
    probabilities = fitted.model.predict_proba([crop(text, n_words, rng) for text in fitted.texts for _ in range(3)])
    assert calibration_error(fitted.model.classes_, probabilities, labels) <= 0.1
    of_shares = np.tile(fitted.shares, (len(labels), 1))
    losses = [log_loss(labels, one, labels=fitted.model.classes_) for one in (probabilities, of_shares)]
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
