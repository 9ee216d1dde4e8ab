"""The weight of n-grams of characters, chosen by cross-validation."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from sklearn_hashnlp import TextClassifier, make_text_classifier
from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.text import AutoNgramVectorizer
from sklearn_hashnlp.text._choose_weight import choose_weight, encode_labels
from tests.trainings import assert_same_bits

LETTERS = np.array(list("abcdefgh"))


def random_words(generator, n_words, length=4):
    return ["".join(generator.choice(LETTERS, length)) for _ in range(n_words)]


def texts_of_words(n_texts):
    """Make texts with one word of their class among words of the same letters."""
    generator = np.random.default_rng(0)
    names = np.reshape(random_words(generator, 20), (2, 10))
    labels = generator.integers(2, size=n_texts)
    return [
        " ".join([*random_words(generator, 12), generator.choice(names[label])]) for label in labels
    ], labels


def texts_of_suffixes(n_texts):
    """Make texts of new words with a suffix by class."""
    generator = np.random.default_rng(0)
    labels = generator.integers(2, size=n_texts)
    return [
        " ".join(word + ("xy", "yx")[label] for word in random_words(generator, 3))
        for label in labels
    ], labels


def test_the_weight_is_smaller_if_words_decide():
    texts, labels = texts_of_words(400)
    vectorizer = AutoNgramVectorizer().fit(texts, labels)
    assert (vectorizer.features_, vectorizer.character_weight_) == ("words+characters", 0.25)
    counts = vectorizer.transform(texts)
    without = AutoNgramVectorizer().fit(texts)
    assert without.character_weight_ == 0.5
    expected = without.transform(texts)
    np.testing.assert_array_equal(counts.indices, expected.indices)
    is_character = counts.indices >= vectorizer.n_features // 2
    assert 0 < is_character.sum() < len(is_character)
    np.testing.assert_array_equal(counts.data * np.where(is_character, 2, 1), expected.data)
    assert vectorizer.fit(texts[:29], labels[:29]).character_weight_ == 0.5  # too few


def test_the_weight_stays_if_characters_decide():
    texts, labels = texts_of_suffixes(400)
    assert AutoNgramVectorizer().fit(texts, labels).character_weight_ == 0.5


def test_texts_without_characters_have_the_default_weight():
    assert AutoNgramVectorizer().fit([""] * 40, ["a", "b"] * 20).character_weight_ == 0.5


def test_an_error_names_the_text():
    texts, labels = [f"a{i % 7} b{i % 5}" for i in range(5000)], np.arange(5000) % 2
    texts[4001] += " \ud800"  # not in the evenly spaced sample for unseen words
    with pytest.raises(ValueError, match="document 4001 holds the lone surrogate"):
        AutoNgramVectorizer().fit(texts, labels)


def test_texts_of_weight_zero_do_not_count():
    texts, labels = texts_of_words(400)
    assert TextClassifier(random_state=0).fit(texts, labels).pipeline_[0].character_weight_ == 0.25
    weights = np.append(np.ones(100), np.zeros(300))
    changed = np.append(labels[:100], np.random.default_rng(1).integers(2, size=300))
    model, other = (
        TextClassifier(random_state=0).fit(texts, y, sample_weight=weights)
        for y in (labels, changed)
    )
    assert_same_bits(model.predict_proba(texts), other.predict_proba(texts))


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_weight_does_not_depend_on_threads_or_names(n_classes):
    texts, labels = texts_of_words(200)
    labels = np.arange(200) % n_classes if n_classes > 2 else labels
    specs = AutoNgramVectorizer(n_features=2**20).fit(texts)
    counts = specs.transform(texts)
    weights = {
        choose_weight(counts, 2**19, (0.5, 0.25), encode_labels(y, 200), n)
        for n in (1, 2)
        for y in (labels, 7 * labels)
    }
    assert len(weights) == 1


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        np.array,
        pd.Series,
        lambda y: np.array(y, dtype=object),
        lambda y: ["bc"[i] for i in y],
        lambda y: np.array(y)[:, np.newaxis],
    ],
)
def test_labels_of_any_type(make):
    assert encode_labels(make([1, 0, 1]), 3).tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "y",
    [
        None,
        [1, 1, 1],
        [0, 1],
        [0.5, 1.0, 2.0],
        [["a"], ["b", "c"], []],
        [["a"], ["b"], ["c"]],
        [{"a"}, {"b"}, set()],
        ["a", None, "b"],
        np.array(["a", 1, "b"], dtype=object),
        np.eye(3),
        csr_matrix(np.eye(3)),
    ],
)
def test_other_targets_choose_no_weight(y):
    assert encode_labels(y, 3) is None


def test_many_classes_choose_no_weight():
    assert encode_labels(np.arange(256), 256) is not None
    assert encode_labels(np.arange(257), 257) is None


def test_classifiers_of_texts_choose_the_weight(tmp_path):
    texts, labels = texts_of_words(400)
    model = TextClassifier(random_state=0).fit(texts, labels)
    assert model.pipeline_[0].character_weight_ == 0.25
    pipeline = make_text_classifier(random_state=0).fit(texts, labels)
    assert_same_bits(pipeline.predict_proba(texts), model.predict_proba(texts))
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.pipeline_[0].character_weight_ == 0.25
    np.testing.assert_array_equal(loaded.predict_proba(texts[:5]), model.predict_proba(texts[:5]))
    more = loaded.partial_fit(texts[:50], labels[:50])
    assert more.pipeline_[0].character_weight_ == 0.25
    rows = [[f"{label}"] for label in labels]
    assert (
        TextClassifier(random_state=0, max_epochs=1).fit(texts, rows).pipeline_[0].character_weight_
        == 0.5
    )
