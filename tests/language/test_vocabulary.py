from __future__ import annotations

import numpy as np
import pytest

from sklearn_hashnlp.language._vocabulary import SpecialTokens, Vocabulary, build_vocabulary, vocabulary_from_dict

WORDS, COUNTS = ["b", "a", "<unk>", "d", "c", "zero"], np.array([5, 5, 2, 1, 3, 0])


def learned(min_count=1, max_words=None, words=WORDS, counts=COUNTS):
    return build_vocabulary(words, counts, 4, min_count=min_count, max_words=max_words)


def test_by_frequency_then_alphabet():
    vocabulary = learned()
    assert vocabulary.words == ["a", "b", "</s>", "c", "<unk>", "d", "<s>"]
    assert (vocabulary.start_id, vocabulary.end_id, vocabulary.unknown_id, vocabulary.n_classes) == (6, 2, 4, 6)
    assert len(vocabulary) == 7


def test_words_left_out_count_as_unknown():
    assert learned(min_count=3).words == ["a", "b", "</s>", "<unk>", "c", "<s>"]  # 2 + 1 unknown, before c by alphabet
    assert learned(max_words=1).words == ["<unk>", "a", "</s>", "<s>"]  # 2 + 5 + 3 + 1


def test_special_tokens_within_sentences_are_unknown():
    vocabulary = learned(words=["<s>", "</s>", "a"], counts=np.array([3, 4, 1]))
    assert vocabulary.words == ["<unk>", "</s>", "a", "<s>"]
    assert vocabulary.encode(["a", "<s>", "</s>", "q", "<unk>"]).tolist() == [2, 0, 0, 0, 0]


def test_a_corpus_without_words():
    assert learned(words=[], counts=np.array([], dtype=int)).words == ["</s>", "<unk>", "<s>"]


def test_a_dict_fixes_the_order():
    vocabulary, id_map = vocabulary_from_dict({"b": 1, "<s>": 2, "a": 0, "</s>": 3}, caller="Model")
    assert vocabulary.words == ["a", "b", "</s>", "<unk>", "<s>"]
    assert id_map.tolist() == [0, 1, 4, 2]


@pytest.mark.parametrize("wrong", [["a"], {"a": 0.0}, {1: 0}, {"a": True}])
def test_what_is_no_dict_of_ids(wrong):
    with pytest.raises(TypeError, match="Model: vocabulary must be a dict of words"):
        vocabulary_from_dict(wrong, caller="Model")


@pytest.mark.parametrize("wrong", [{}, {"a": 1}, {"a": 0, "b": 0}, {"a": 0, "b": 2}])
def test_ids_with_gaps(wrong):
    with pytest.raises(ValueError, match=f"must give its {len(wrong)} words the ids 0, 1, 2"):
        vocabulary_from_dict(wrong, caller="Model")


def test_ids_of_no_words():
    assert Vocabulary(["</s>", "<unk>"]).encode([]).shape == (0,)


def test_special_tokens_of_the_user():
    tokens = SpecialTokens("[", "]", "?")
    vocabulary = build_vocabulary(
        ["a", "</s>"], np.array([2, 1]), 4, min_count=1, max_words=None, special_tokens=tokens
    )
    assert vocabulary.words == ["]", "a", "</s>", "?", "["]
    assert vocabulary.encode(["</s>", "]", "[", "q"]).tolist() == [2, 3, 3, 3]
    vocabulary, id_map = vocabulary_from_dict({"<s>": 0, "[": 1, "]": 2}, special_tokens=tokens, caller="Model")
    assert vocabulary.words == ["<s>", "]", "?", "["]
    assert id_map.tolist() == [0, 3, 1]
