"""Sentences and vocabularies in every form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sklearn_hashnlp.language import HsigmoidLanguageModel
from tests.language.hsigmoid.small_models import GRAMMAR, NAMES, THINGS, VERBS, fitted


def test_the_vocabulary_and_its_special_tokens(model):
    assert set(model.vocabulary_) == {*NAMES, *VERBS, *THINGS, "<s>", "</s>", "<unk>"}
    assert list(model.vocabulary_.values()) == list(range(10))
    assert next(iter(model.vocabulary_)) == "</s>"  # the most frequent
    assert list(model.vocabulary_)[-1] == "<s>"
    scores = model.score_samples(["ann sees zebras", "ann sees <unk>", "<s> ann sees zebras </s>", "ann sees <s>"])
    assert len(set(scores.tolist())) == 1
    assert np.isfinite(scores).all()


def test_sizes_of_vocabularies():
    assert len(fitted(max_features=2).vocabulary_) == 5
    assert len(fitted(min_count=1000).vocabulary_) == 3
    fixed = fitted(vocabulary={word: word_id for word_id, word in enumerate(["<s>", "birds", "ann"])})
    assert list(fixed.vocabulary_) == ["birds", "ann", "</s>", "<unk>", "<s>"]


def test_a_vocabulary_of_one_word():
    model = fitted(["a", "a a"])
    assert list(model.vocabulary_) == ["a", "</s>", "<unk>", "<s>"]
    assert model.perplexity(["a"]) > 0


def test_an_empty_corpus(model):
    for X in ([], lambda: iter([])):
        with pytest.raises(ValueError, match="HsigmoidLanguageModel found no sentence to learn from: X is empty"):
            HsigmoidLanguageModel().fit(X)
        with pytest.raises(ValueError, match="found no word to score"):
            model.score(X)
        assert model.score_samples(X).shape == (0,)
    assert model.predict([]).shape == (0,)
    assert model.predict_proba([]).shape == (0, 9)
    assert model.predict_topk([]) == []


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


def test_a_file_a_list_and_a_reader_are_the_same(tmp_path, model):
    path = tmp_path / "train.txt"
    path.write_text("\n".join(GRAMMAR), encoding="utf-8")
    expected = model.score_samples(GRAMMAR).tobytes()
    for X in (path, lambda: iter(GRAMMAR), [sentence.split() for sentence in GRAMMAR]):
        other = fitted(X)
        assert other.score_samples(X).tobytes() == expected
    with pytest.raises(TypeError, match="single str is ambiguous"):
        model.score_samples(str(path))


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


@pytest.mark.parametrize("wrong", ["a b", b"a"])
def test_a_single_string(wrong, model):
    with pytest.raises(TypeError, match="ambiguous"):
        HsigmoidLanguageModel().fit(wrong)
    with pytest.raises(TypeError, match="single"):
        model.predict("ann sees")


def test_a_path_that_is_not_there():
    with pytest.raises(FileNotFoundError):
        HsigmoidLanguageModel().fit(Path("no-such-file.txt"))
