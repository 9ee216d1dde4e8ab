"""Sentences and vocabularies in every form."""

from __future__ import annotations

import numpy as np
import pytest

from tests.language.hsigmoid.small_models import GRAMMAR, NAMES, THINGS, VERBS, fitted


def test_the_vocabulary_and_its_special_tokens(model):
    assert set(model.vocabulary_) == {*NAMES, *VERBS, *THINGS, "<s>", "</s>", "<unk>"}
    assert list(model.vocabulary_.values()) == list(range(10))
    assert next(iter(model.vocabulary_)) == "</s>"  # the most frequent
    assert list(model.vocabulary_)[-1] == "<s>"
    scores = model.score_samples(["ann sees zebras", "ann sees <unk>", "<s> ann sees zebras </s>", "ann sees <s>"])
    assert len(set(scores.tolist())) == 1
    assert np.isfinite(scores).all()


def test_sentences_without_words():
    model = fitted(["", []])
    assert model.predict([""]).tolist() == ["</s>"]
    assert len(model.score_samples(["", ""])) == 2


def test_padding_of_the_reference():
    model = fitted(order=4, padding="reference")
    scores = model.score_samples(["ann", "ann sees", "ann sees trees"])
    assert np.isnan(scores[0])
    assert scores[1] < 0
    with pytest.raises(ValueError, match=r"no window of 9 words to learn from.*padding='full'"):
        fitted(order=9, padding="reference")
    assert fitted(order=9).perplexity(GRAMMAR) > 1


def test_word_ids_from_a_reader():
    words = [*NAMES, *VERBS, *THINGS, "<unk>", "<s>", "</s>"]
    ids = {word: word_id for word_id, word in enumerate(words)}

    def windows():
        for sentence in GRAMMAR:
            row = [ids[word] for word in ["<s>", "<s>", *sentence.split(), "</s>"]]
            yield from (tuple(row[end - 3 : end]) for end in range(3, len(row) + 1))

    model = fitted(windows, vocabulary=ids)
    from_words = fitted(vocabulary=ids)
    assert model.perplexity(GRAMMAR) == from_words.perplexity(GRAMMAR)
    assert model.perplexity(windows) == pytest.approx(model.perplexity(GRAMMAR), rel=1e-6)
    with pytest.raises(ValueError, match="does not know the words"):
        fitted(windows)
