from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.language._corpus import (
    HashEncoder,
    ProjectionEncoder,
    SpecialTokens,
    Vocabulary,
    build_vocabulary,
    hash_words,
    vocabulary_from_dict,
)
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector

WORDS, COUNTS = ["b", "a", "<unk>", "d", "c", "zero"], np.array([5, 5, 2, 1, 3, 0])


def learned(min_count=1, max_words=None, words=WORDS, counts=COUNTS):
    return build_vocabulary(words, counts, 4, min_count=min_count, max_words=max_words)


def test_by_frequency_then_alphabet():
    vocabulary = learned()
    assert vocabulary.words == ["a", "b", "</s>", "c", "<unk>", "d", "<s>"]
    assert (
        vocabulary.start_id,
        vocabulary.end_id,
        vocabulary.unknown_id,
        vocabulary.n_classes,
    ) == (6, 2, 4, 6)
    assert len(vocabulary) == 7


def test_words_left_out_count_as_unknown():
    # 2 + 1 unknown, before c by alphabet
    assert learned(min_count=3).words == ["a", "b", "</s>", "<unk>", "c", "<s>"]
    assert learned(max_words=1).words == ["<unk>", "a", "</s>", "<s>"]  # 2 + 5 + 3 + 1


def test_special_tokens_within_sentences_are_unknown():
    vocabulary = learned(words=["<s>", "</s>", "a"], counts=np.array([3, 4, 1]))
    assert vocabulary.words == ["<unk>", "</s>", "a", "<s>"]
    assert vocabulary.encode(["a", "<s>", "</s>", "q", "<unk>"]).tolist() == [2, 0, 0, 0, 0]


def test_no_words():
    assert learned(words=[], counts=np.array([], dtype=int)).words == ["</s>", "<unk>", "<s>"]
    assert Vocabulary(["</s>", "<unk>"]).encode([]).shape == (0,)


def test_a_dict_fixes_the_order():
    vocabulary, id_map = vocabulary_from_dict({"b": 1, "<s>": 2, "a": 0, "</s>": 3}, caller="Model")
    assert vocabulary.words == ["a", "b", "</s>", "<unk>", "<s>"]
    assert id_map.tolist() == [0, 1, 4, 2]


NO_DICTS = [["a"], {"a": 0.0}, {1: 0}, {"a": False}]
GAPS = [{}, {"a": 1}, {"a": 0, "b": 0}, {"a": 0, "b": 2}]


@pytest.mark.parametrize("wrong", [*NO_DICTS, *GAPS], ids=str)
def test_what_is_no_dict_of_ids(wrong):
    message = (
        f"must give its {len(wrong)} words the ids 0, 1, 2"
        if wrong in GAPS
        else "must be a dict of words"
    )
    with pytest.raises(
        ValueError if wrong in GAPS else TypeError, match=f"Model: vocabulary {message}"
    ):
        vocabulary_from_dict(wrong, caller="Model")


def test_special_tokens_of_the_user():
    tokens = SpecialTokens("[", "]", "?")
    vocabulary = build_vocabulary(
        ["a", "</s>"], np.array([2, 1]), 4, min_count=1, max_words=None, special_tokens=tokens
    )
    assert vocabulary.words == ["]", "a", "</s>", "?", "["]
    assert vocabulary.encode(["</s>", "]", "[", "q"]).tolist() == [2, 3, 3, 3]
    vocabulary, id_map = vocabulary_from_dict(
        {"<s>": 0, "[": 1, "]": 2}, special_tokens=tokens, caller="Model"
    )
    assert vocabulary.words == ["<s>", "]", "?", "["]
    assert id_map.tolist() == [0, 3, 1]


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=5),
    st.integers(1, 12),
    st.integers(1, 20),
    st.integers(0, 2**31 - 1),
)
def test_a_code_is_the_hash_and_the_packed_bits(words, n_projections, n_bits, seed):
    codes = ProjectionEncoder(n_projections, n_bits, seed).encode(words)
    n = n_projections * n_bits
    assert codes.shape == (len(words), 1 + -(-n // 64))
    assert codes[:, 0].tolist() == hash_words(words).tolist()
    if words:
        projector = SGNNProjector(n_projections=n_projections, n_bits=n_bits, random_state=seed)
        bits = np.unpackbits(np.ascontiguousarray(codes[:, 1:]).view(np.uint8), axis=1)
        np.testing.assert_array_equal(
            bits[:, :n], projector.transform(CharNgramFeaturizer().transform(words))
        )
        assert not bits[:, n:].any()


def test_lone_surrogates_are_refused():
    with pytest.raises(
        ValueError, match=r"embedding='sgnn'.*'a\\ud800' holds the lone surrogate '\\ud800'"
    ):
        ProjectionEncoder(2, 5, 0).encode(["b", "a\ud800"])


def test_hashes_are_the_same_everywhere():
    assert hash_words(["hash", "trick"]).tolist() == [1455707387, 553385734]
    assert HashEncoder().encode(["hash", "trick"]).tolist() == [1455707387, 553385734]
