"""Mixtures: sums of the members' probabilities, whatever orders, codes and ids these have."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_hashnlp import CacheLanguageModel, InterpolatedLanguageModel, KneserNeyLanguageModel
from tests.language.interpolated.models import (
    CONTEXTS,
    TRAIN,
    UNSEEN,
    VALID,
    columns_of,
    fitted_members,
    mixture,
    network,
)


@pytest.fixture(scope="module")
def model():
    return mixture()


def test_probabilities_are_the_weighted_sums(model):
    words = list(model.vocabulary_)[:-1]
    members = [columns_of(member, words) for member in model.models_]
    expected = sum(weight * probs for weight, probs in zip(model.weights_, members, strict=True))
    np.testing.assert_allclose(model.predict_proba(CONTEXTS), expected, rtol=1e-10)
    np.testing.assert_allclose(expected.sum(axis=1), 1, atol=1e-6)
    assert model.predict(CONTEXTS).tolist() == [words[index] for index in expected.argmax(axis=1)]
    for row, probs in zip(model.predict_topk(CONTEXTS, 3), expected, strict=True):
        assert [word for word, _ in row] == [words[index] for index in np.argsort(-probs, kind="stable")[:3]]


def test_a_generator_is_read_once():
    once = InterpolatedLanguageModel(fitted_members(), prefit=True, frequency_bins=True)
    again = mixture(frequency_bins=True)
    assert once.fit(iter(TRAIN), X_valid=iter(VALID)).weights_.tobytes() == again.weights_.tobytes()


def test_mixtures_can_be_mixed(model):
    first, *others = fitted_members()
    inner = InterpolatedLanguageModel([first, *others[:1]], prefit=True, weights="equal").fit()
    outer = InterpolatedLanguageModel([inner, others[1]], prefit=True, weights=[0.6, 0.4]).fit()
    flat = mixture(weights=[0.3, 0.3, 0.4])
    np.testing.assert_allclose(outer.predict_proba(CONTEXTS), flat.predict_proba(CONTEXTS))
    np.testing.assert_allclose(outer.score_samples(UNSEEN), flat.score_samples(UNSEEN))
    assert len(outer.sample(5, random_state=0)) == 5


@pytest.mark.parametrize("frequency_bins", [False, True])
def test_a_text_is_the_product_of_its_words_after_all_words_before(frequency_bins):
    members = [KneserNeyLanguageModel(order=3), CacheLanguageModel(), CacheLanguageModel(reset="sentence")]
    model = InterpolatedLanguageModel(members, frequency_bins=frequency_bins).fit(TRAIN, X_valid=VALID)
    text = ["a b c", "d a", "", "", "a a c z f", "b"]
    words = " </s> ".join([*text, ""]).split()
    steps = model.predict_proba([words[:end] for end in range(len(words))])
    ids = [model.vocabulary_.get(word, model.vocabulary_["<unk>"]) for word in words]
    expected = np.log(steps[np.arange(len(ids)), ids])
    np.testing.assert_allclose(model._log_prob(model._windows(text)), expected, rtol=1e-12)
    assert model.score_samples(text).sum() == pytest.approx(expected.sum(), rel=1e-12)


@pytest.mark.parametrize("frequency_bins", [False, True])
def test_a_network_that_reads_across_sentences_is_mixed(frequency_bins):
    far = network(far_context=6, across_sentences=True).fit(TRAIN)
    vocabulary = far.vocabulary_
    others = [KneserNeyLanguageModel(vocabulary=vocabulary), CacheLanguageModel(vocabulary=vocabulary)]
    model = InterpolatedLanguageModel(
        [far, *(one.fit(TRAIN) for one in others)], prefit=True, frequency_bins=frequency_bins
    ).fit(TRAIN, X_valid=VALID)
    text = ["a b c", "d a", "a a c b f"]
    last = [*text[-1].split(), "</s>"]
    before = " </s> ".join([*text[:-1], ""]).split()
    steps = model.predict_proba([[*before, *last[:end]] for end in range(len(last))])
    ids = [vocabulary[word] for word in last]
    expected = model._log_prob(model._windows(text))[-len(ids) :]
    np.testing.assert_allclose(np.log(steps[np.arange(len(ids)), ids]), expected, rtol=1e-5)
    assert model._reads_across_sentences()
