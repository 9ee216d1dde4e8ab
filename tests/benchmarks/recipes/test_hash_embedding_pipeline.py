"""Preprocessing and training as in the reference of the hash-embedding experiments."""

from __future__ import annotations

import string
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.recipes.hash_embedding_pipeline import (
    make_classifier,
    make_network,
    make_ngram_counter,
)
from benchmarks.recipes.hash_embedding_settings import SETTINGS, HashEmbeddingSettings

GUIDE = Path(__file__).parents[3] / "docs" / "experiments.md"


def reference_words(text):
    """Preprocess as the README of the reference says: lowercase, no punctuation, no single characters."""
    letters = "".join(" " if character in string.punctuation + "\t\n" else character for character in text.lower())
    return [word for word in letters.split(" ") if len(word) > 1]


def ngrams_of(words, least, most):
    return Counter(
        " ".join(words[first : first + n]) for n in range(least, most + 1) for first in range(len(words) - n + 1)
    )


# White space other than the reference's is a part of words there.
TEXT = st.text(st.sampled_from("abcXY19 .,'$-_\t\né漢’–"), max_size=40)


@pytest.mark.parametrize("name", ["hash-embed-nodict", "hash-embed-dict"])
@settings(max_examples=30)
@given(texts=st.lists(TEXT, min_size=1, max_size=6).map(lambda texts: ["at least one", *texts]))
def test_ngrams_are_those_of_the_reference(name, texts):
    counts = make_ngram_counter(SETTINGS[name]).fit_transform(texts)
    least, most = SETTINGS[name].ngram_range
    for row, text in enumerate(texts):
        expected = ngrams_of(reference_words(text), least, most)
        assert sorted(counts[[row]].data.tolist()) == sorted(expected.values())
    total = sum((ngrams_of(reference_words(text), least, most) for text in texts), Counter())
    columns = np.unique(counts.indices, return_inverse=True)[1]
    assert sorted(np.bincount(columns, counts.data).tolist()) == sorted(total.values())


def test_a_dictionary_is_cut_to_its_most_frequent_n_grams():
    three = HashEmbeddingSettings(dictionary=True, n_embeddings=3, n_embeddings_grid=(2, 5))
    texts = ["aa aa aa bb bb cc", "aa bb dd"]
    counts = make_ngram_counter(three).fit_transform(texts)
    assert counts.shape[1] == 5
    cut = make_network(three, 0)["cut"].transform(counts)
    assert cut.shape[1] == 3
    assert cut[:, :2].toarray().tolist() == [[3, 2], [1, 1]]


def test_the_training_is_that_of_the_reference():
    classifier = make_classifier(SETTINGS["hash-embed-nodict"], 7)
    guide = GUIDE.read_text(encoding="utf-8").split("## Options of the reference implementation")[1].split("\n## ")[0]
    for name, value in classifier.get_params().items():
        if f"{name}=" in guide and name not in ("verbose", "device", "early_stopping", "schedule", "embedding"):
            texts = {repr(value), str(value), "10**6" if value == 10**6 else "10**7" if value == 10**7 else ""}
            if name in ("random_state", "hidden_layer_sizes", "variant"):
                continue  # the guide says there how to choose another
            if name == "ngram_dropout":
                texts = {"(4, 99)"}
            assert any(f"{name}={text}" in guide for text in texts), name
    assert classifier.random_state == 7


@pytest.mark.parametrize(
    ("name", "n_parameters"), [("hash-embed-nodict", 40_000_000), ("std-embed-nodict", 200_000_000)]
)
def test_the_sizes_are_the_paper_s(name, n_parameters):
    network = make_network(SETTINGS[name], 0).set_params(classifier__max_epochs=1, classifier__early_stopping=False)
    X = make_ngram_counter(SETTINGS[name]).transform(["some words", "other words"] * 4)
    network.fit(X, ["a", "b"] * 4)
    assert network[-1].n_parameters_ == pytest.approx(n_parameters, rel=1e-5)


def test_zeros_of_settings_are_none_in_the_classifier():
    never = HashEmbeddingSettings(ngram_dropout=(), n_iter_no_change=0, plateau_patience=0)
    classifier = make_classifier(never, 0)
    stopping, schedule = classifier.early_stopping, classifier.schedule
    assert (classifier.ngram_dropout, stopping.patience, schedule.plateau) == (None, None, None)
