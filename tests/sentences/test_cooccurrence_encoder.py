"""CooccurrenceEncoder: vectors of texts from the co-occurrence of their words."""

import math
from collections import Counter

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_hashnlp import load_model, save_model
from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.sentences import CooccurrenceEncoder
from sklearn_hashnlp.sentences._cooccurrence import ppmi_vectors
from sklearn_hashnlp.sentences._sentence_reader import Paragraphs, read_texts
from tests.trainings import assert_near, assert_same_bits

TEXTS = [
    "The cat purrs, and the cat sleeps.",
    "A kitten purrs and sleeps.",
    "A kitten and a cat!",
    "Shares fell; investors sold shares.",
    "Investors sold stocks.",
    "Stocks and shares fell.",
    "",
] * 4


def words_of(text):
    return text.lower().replace(".", " .").replace(",", " ,").replace(";", " ;").split()


def test_the_vector_of_a_text_is_the_weighted_sum_of_centered_word_vectors():
    encoder = CooccurrenceEncoder(n_components=5).fit(TEXTS)
    words, rows = read_texts(TEXTS, max_words=512, caller="test")
    filled = rows.offsets[np.flatnonzero(np.diff(rows.offsets, prepend=-1))]
    paragraphs = Paragraphs(words, rows._replace(offsets=filled), np.arange(len(filled)))
    ids, vectors, _ = ppmi_vectors(paragraphs, n_components=5)
    vector_of = {words[i]: row.astype(float) for i, row in zip(ids, vectors, strict=True)}
    texts = [set(words_of(text.replace("!", " !"))) for text in TEXTS if text]
    frequency = Counter(word for text in texts for word in text)
    weight_of = {
        word: (math.log((1 + len(texts)) / (1 + n)) + 1) ** 1.5 for word, n in frequency.items()
    }
    unknown = (math.log(1 + len(texts)) + 1) ** 1.5
    total, sums = 0.0, np.zeros(5)
    for text in texts:
        divisor = math.sqrt(sum(weight_of[word] ** 2 for word in text)) ** 0.7
        for word in text & set(vector_of):
            total += weight_of[word] / divisor
            sums += weight_of[word] / divisor * vector_of[word]
    mean = sums / total
    for text in ["The cat sold shares.", "investors purrs zebra"]:
        expected = sum(
            weight_of.get(word, unknown) * (vector_of[word] - mean)
            for word in set(words_of(text)) & set(vector_of)
        )
        expected /= np.linalg.norm(expected)
        assert_near(encoder.transform([text])[0], expected, rtol=1e-4, atol=1e-5)


def test_words_with_the_same_neighbors_are_similar():
    encoder = CooccurrenceEncoder(n_components=4).fit(TEXTS)
    near, far = encoder.similarity(["cat", "cat"], ["kitten", "stocks"])
    assert near > far + 0.5


def test_texts_of_new_words_have_no_vector():
    encoder = CooccurrenceEncoder(n_components=4).fit(TEXTS)
    assert not encoder.transform(["", "zebra xylophone"]).any()
    assert_near(encoder.transform(["cat zebra"]), encoder.transform(["cat"]), rtol=1e-5, atol=1e-6)


def test_limits_of_words():
    few = CooccurrenceEncoder(n_features=3).fit(TEXTS)
    assert few.coef_.shape == (3, 100)
    assert CooccurrenceEncoder(min_count=8).fit(TEXTS).n_parameters_ < (
        CooccurrenceEncoder(min_count=1).fit(TEXTS).n_parameters_
    )
    with pytest.raises(ValueError, match=r"occur 99 times or more.* found none in 28 texts"):
        CooccurrenceEncoder(min_count=99).fit(TEXTS)


def test_save_and_clone(tmp_path):
    encoder = CooccurrenceEncoder(n_components=8).fit(TEXTS)
    save_model(encoder, tmp_path / "encoder")
    loaded = load_model(tmp_path / "encoder")
    assert_same_bits(loaded.transform(TEXTS), encoder.transform(TEXTS))
    assert loaded.get_feature_names_out().tolist()[:1] == ["cooccurrenceencoder0"]
    assert not hasattr(clone(encoder), "coef_")


def test_vectors_of_4_bits(tmp_path):
    model = CooccurrenceEncoder(n_components=8).fit(TEXTS)
    save_model(model, tmp_path / "encoder", precision="int4")
    loaded = load_model(tmp_path / "encoder")
    similarities = (loaded.transform(TEXTS[:6]) * model.transform(TEXTS[:6])).sum(axis=1)
    assert similarities.min() > 0.95


def test_results_depend_neither_on_threads_nor_on_other_texts():
    texts = load_stdlib_docstrings().data[:600]
    encoder = CooccurrenceEncoder(n_components=20).fit(texts)
    vectors = encoder.transform(texts)
    assert_same_bits(encoder.set_params(n_jobs=2).transform(texts), vectors)
    assert_same_bits(encoder.transform(texts[5:6]), vectors[5:6])
    assert_same_bits(CooccurrenceEncoder(n_components=20).fit(texts).transform(texts), vectors)
