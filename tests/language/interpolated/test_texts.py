"""Mixtures of language models on texts with subjects."""

from __future__ import annotations

import numpy as np

from sklearn_hashnlp import (
    CacheLanguageModel,
    InterpolatedLanguageModel,
    KneserNeyLanguageModel,
    load_model,
    save_model,
)

RNG = np.random.default_rng(0)
SUBJECTS = [[f"w{subject}-{number}" for number in range(30)] for subject in range(20)]


def _articles(n_articles):
    """Return sentences of articles, each of which has words of its subject and of all texts."""
    sentences = []
    for subject in RNG.integers(len(SUBJECTS), size=n_articles):
        words = [*RNG.choice(SUBJECTS[subject], 8), "of", "the", "and", "in"]
        sentences += [" ".join(RNG.choice(words, 9).tolist()) for _ in range(12)]
    return sentences


TRAIN, VALID, TEST = _articles(40), _articles(10), _articles(10)


def test_a_cache_helps_where_articles_keep_to_a_subject():
    counts = KneserNeyLanguageModel(order=3)
    model = InterpolatedLanguageModel([counts, CacheLanguageModel()]).fit(TRAIN, X_valid=VALID)
    assert model.perplexity(TEST) < 0.8 * model.models_[0].perplexity(TEST)
    shuffled = RNG.permutation(TEST).tolist()
    assert model.perplexity(TEST) < 0.9 * model.perplexity(shuffled)


def test_weights_are_not_learned_on_the_text_that_the_counts_know_by_heart():
    counts, weak = KneserNeyLanguageModel(order=5), KneserNeyLanguageModel(order=1)
    model = InterpolatedLanguageModel([counts, weak]).fit(TRAIN)
    known_by_heart = InterpolatedLanguageModel(model.models_, prefit=True).fit(X_valid=TRAIN[:100])
    assert known_by_heart.weights_[0] > 0.99
    assert model.weights_[0] < 0.99
    assert model.perplexity(TEST) < known_by_heart.perplexity(TEST)


def test_a_mixture_is_trained_today_and_used_in_another_program_tomorrow(tmp_path):
    model = InterpolatedLanguageModel([KneserNeyLanguageModel(order=2), CacheLanguageModel()]).fit(TRAIN)
    save_model(model, tmp_path / "model")
    other = load_model(tmp_path / "model")
    assert other.perplexity(TEST) == model.perplexity(TEST)
    assert other.predict_topk(["of the"], k=2) == model.predict_topk(["of the"], k=2)
    assert other.fit(TRAIN).weights_.tolist() == model.weights_.tolist()
