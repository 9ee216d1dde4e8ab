"""Probabilities of KneserNeyLanguageModel against the definition, parameters, saved models."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_hashnlp import KneserNeyLanguageModel, load_model, save_model
from sklearn_hashnlp.persistence import ModelFormatError
from tests.oracles import kneser_ney as oracle
from tests.persistence.damaged_models import reread

SENTENCES = ["a b c", "a b d", "b c a", "c", "a b c d"]


@pytest.mark.parametrize(
    ("discounts", "expected"),
    [
        (0.75, [[0.75] * 3] * 2),
        ([0.5, 1, 1.5], [[0.5, 1, 1.5]] * 2),
        (np.array([[0.5, 1, 1.5], [0.6, 1.1, 1.2]]), [[0.5, 1, 1.5], [0.6, 1.1, 1.2]]),
    ],
)
def test_discounts_can_be_given(discounts, expected):
    model = KneserNeyLanguageModel(order=2, discounts=discounts).fit(SENTENCES)
    assert model.discounts_.tolist() == expected
    assert model.predict_proba(["a", "d"]).sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"discounts": [0.5, 1]}, r"a number, three numbers or an array of shape \(2, 3\)"),
        ({"discounts": ["a", "b", "c"]}, "three numbers"),
        ({"discounts": [0.5, 2.5, 1]}, "above 0 and at most 1, 2 and 3"),
        ({"discounts": [0.0, 1, 1]}, "above 0"),
        ({"discounts": [np.nan, 1, 1]}, "above 0"),
        ({"min_ngram_counts": [1, 1, 1]}, "up to 2 integers"),
        ({"min_ngram_counts": []}, "up to 2 integers"),
        ({"min_ngram_counts": [1, 1.5]}, "up to 2 integers"),
        ({"min_ngram_counts": [2, 2]}, "begin with 1"),
        ({"min_ngram_counts": [1, 0]}, "none may be smaller"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        KneserNeyLanguageModel(**{"order": 2} | parameters).fit(SENTENCES)


def test_no_text_is_an_error_and_a_fitted_model_stays():
    model = KneserNeyLanguageModel(order=2).fit(SENTENCES)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="found no sentence to learn from"):
        model.fit([])
    assert vars(model) == before


def test_parameters_that_are_arrays_are_saved(tmp_path):
    discounts, counts = np.full((4, 3), 0.5), np.array([1, 1, 2])
    model = KneserNeyLanguageModel(order=4, discounts=discounts, min_ngram_counts=counts).fit(
        SENTENCES
    )
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.score_samples(SENTENCES).tobytes() == model.score_samples(SENTENCES).tobytes()
    assert np.array_equal(loaded.discounts, discounts)
    assert np.array_equal(loaded.min_ngram_counts, counts)
    assert loaded.fit(SENTENCES).n_ngrams_ == model.n_ngrams_


def _set(index, value):
    def change(array):
        array[index] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("words", _set(-1, 99), "words in the trie"),
        ("words", _set(-1, -1), "words in the trie"),
        ("words", _set(3, 0), "words in the trie"),
        ("words", _set(8, 6), "words in the trie"),  # <s>
        ("words", lambda array: array[:-1], "same length"),
        ("words", lambda array: array.astype(np.int64), "dtypes"),
        ("first_child", _set(-1, 99), "children"),
        ("first_child", _set(0, 0), "children"),
        ("first_child", _set(1, 5), "order 3"),
        ("first_child", _set(5, -7), "children"),
        ("first_child", lambda array: array[:-1], "same length"),
        ("suffixes", _set(9, 9), "suffixes"),  # its own suffix: the lookup would never end
        ("suffixes", _set(0, 1), "suffixes"),
        ("suffixes", _set(4, -1), "suffixes"),
        ("log_probs", _set(4, np.nan), "infinite values or NaN"),
        ("log_probs", _set(4, 0.5), "logarithm"),
        ("log_probs", lambda array: array.reshape(1, -1), "dtypes"),
        ("backoffs", _set(4, np.inf), "infinite values or NaN"),
        ("discounts", lambda array: array[:2], "discounts have the shape"),
    ],
)
def test_damaged_arrays_are_refused(name, change, message):
    model = KneserNeyLanguageModel(order=3).fit(SENTENCES)
    with pytest.raises(ModelFormatError, match=message):
        reread(model, lambda _, arrays: arrays.update({name: change(arrays[name].copy())}))


@pytest.mark.parametrize(
    ("key", "value"), [("order", 2), ("order", 4), ("words", ["</s>", "<unk>"])]
)
def test_damaged_values_are_refused(key, value):
    with pytest.raises(ModelFormatError):
        reread(
            KneserNeyLanguageModel(order=3).fit(SENTENCES),
            lambda state, _: state.update({key: value}),
        )


LETTERS = st.lists(st.sampled_from("abcd"), max_size=6)
CORPUS = st.lists(LETTERS, min_size=1, max_size=25)
SHORT = ["a b c d e", "a b c", "b c d", "", "a a a a", "c d e a b c"]


@settings(max_examples=60, deadline=None)
@given(
    sentences=CORPUS,
    asked=st.lists(LETTERS, min_size=1, max_size=4),
    order=st.integers(1, 5),
    min_counts=st.sampled_from([(1,), (1, 1, 2), (1, 2), (1, 2, 3)]),
)
def test_probabilities_equal_those_of_the_definition(sentences, asked, order, min_counts):
    min_counts = min_counts[:order]
    model = KneserNeyLanguageModel(order=order, min_ngram_counts=min_counts).fit(sentences)
    padded = [*min_counts, *[min_counts[-1]] * (order - len(min_counts))]
    occurrences = oracle.KneserNey(
        sentences, order=order, words=set(), discounts=[], min_counts=padded
    ).counts
    discounts = [oracle.discounts(occurrences, n) for n in range(1, order + 1)]
    np.testing.assert_allclose(model.discounts_, discounts, rtol=1e-12)
    expected = oracle.KneserNey(
        sentences, order=order, words=set(model.vocabulary_), discounts=discounts, min_counts=padded
    )
    words = [word for word in model.vocabulary_ if word != "<s>"]
    for context, probs in zip(asked, model.predict_proba(asked), strict=True):
        known = ["<s>", *(word if word in model.vocabulary_ else "<unk>" for word in context)]
        tail = tuple(known[max(len(known) - order + 1, 0) :])
        np.testing.assert_allclose(probs, [expected.prob(tail, word) for word in words], rtol=1e-12)
        assert probs.sum() == pytest.approx(1, abs=1e-12)
    kept = [ngram for ngram in expected.kept if len(ngram) > 1]
    assert model.n_ngrams_[1:] == [
        sum(len(ngram) == n for ngram in kept) for n in range(2, order + 1)
    ]


@settings(max_examples=40, deadline=None)
@given(sentences=CORPUS, asked=CORPUS, order=st.integers(1, 4))
def test_scores_are_sums_of_the_log_probabilities(sentences, asked, order):
    model = KneserNeyLanguageModel(order=order).fit(sentences)
    for sentence, score in zip(asked, model.score_samples(asked), strict=True):
        words = [*sentence, "</s>"]
        ids = [model.vocabulary_.get(word, model.vocabulary_["<unk>"]) for word in words]
        probs = model.predict_proba([sentence[:end] for end in range(len(words))])
        assert score == pytest.approx(
            sum(math.log(row[i]) for row, i in zip(probs, ids, strict=True)), abs=1e-11
        )


def test_a_reader_of_word_ids_gives_the_model_of_its_sentences():
    vocabulary = {word: word_id for word_id, word in enumerate(["<s>", "</s>", "<unk>", *"abcde"])}

    def windows():
        for sentence in SHORT:
            words = [*["<s>"] * 2, *sentence.split(), "</s>"]
            for end in range(3, len(words) + 1):
                yield tuple(vocabulary[word] for word in words[end - 3 : end])

    by_ids = KneserNeyLanguageModel(order=3, vocabulary=vocabulary).fit(windows)
    by_words = KneserNeyLanguageModel(order=3, vocabulary=vocabulary).fit(SHORT)
    assert by_ids.predict_proba(SHORT).tobytes() == by_words.predict_proba(SHORT).tobytes()
    assert by_ids.perplexity(windows) == pytest.approx(by_words.perplexity(SHORT))


def test_windows_of_a_reader_without_padding_are_counted():
    vocabulary = {word: word_id for word_id, word in enumerate(["<s>", "a", "b", "c"])}
    model = KneserNeyLanguageModel(
        order=3, vocabulary=vocabulary, special_tokens=("<s>", "c", "<unk>")
    )
    model.fit(lambda: iter([(0, 1, 2), (1, 2, 3), (1, 2, 3)]))
    assert model.predict_proba([["a"], ["a", "b"], ["b", "a"]]).sum(axis=1) == pytest.approx(1)
    assert model.predict([["a", "b"]]).tolist() == ["c"]
    assert model.n_ngrams_ == [5, 3, 2]  # also those that no window ends with: "<s> a" and "a b"


def test_rare_words_are_unknown_words():
    model = KneserNeyLanguageModel(order=2, min_count=2).fit(["a x", "a y", "a b", "b a"])
    assert "x" not in model.vocabulary_
    unknown = model.predict_proba(["a"])[0, model.vocabulary_["<unk>"]]
    assert unknown > model.predict_proba(["b"])[0, model.vocabulary_["<unk>"]]
    assert set(KneserNeyLanguageModel(order=2, max_features=1).fit(["a x", "a"]).vocabulary_) == {
        *("a", "</s>", "<unk>", "<s>")
    }


def test_many_words_are_predicted_in_small_batches(monkeypatch):
    model = KneserNeyLanguageModel(order=2).fit(SHORT)
    expected = model.predict_topk(SHORT, 2), model.sample(9, 0)
    monkeypatch.setattr("sklearn_hashnlp.language._base_language_model._MAX_PROBABILITIES", 16)
    assert model._batch_size() == 2
    assert (model.predict_topk(SHORT, 2), model.sample(9, 0)) == expected


def test_a_wide_vocabulary_needs_no_matrix_of_all_probabilities():
    words = [f"w{number}" for number in range(50_000)]
    model = KneserNeyLanguageModel(order=2).fit([words])
    assert model.predict_topk(["w7", "w8"], 1)[0][0][0] == "w8"
    assert model.predict(["w3 w4"] * 300).tolist() == ["w5"] * 300
