"""The tokenizer: contexts, special tokens and word ids of the user."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_hashnlp.language._reader import Tokenizer, build_tokenizer
from sklearn_hashnlp.language._vocabulary import vocabulary_from_dict
from sklearn_hashnlp.language._windows import read_corpus
from tests.language.tokenizers import ENCODERS, contexts_of, make_tokenizer, spelled


@pytest.mark.parametrize("word_encoder", [None, *ENCODERS])
def test_special_tokens_within_a_sentence_are_unknown_words(word_encoder):
    tokenizer = make_tokenizer(order=3, word_encoder=word_encoder)
    special, plain = tokenizer.read(["I <s> a </s> day"]), tokenizer.read(["I <unk> a <unk> day"])
    assert contexts_of(special) == contexts_of(plain)
    assert special.targets.tolist() == plain.targets.tolist()
    expected = tokenizer.contexts(["I <unk> day", "<unk> I"]).tolist()
    assert tokenizer.contexts(["I <s> day", "</s> I"]).tolist() == expected


def test_contexts_are_padded_ids():
    contexts = make_tokenizer(order=4).contexts(["I have a dream", "one", [], "zebra day"])
    assert contexts.tolist() == [[1, 2, 3], [9, 9, 5], [9, 9, 9], [9, 8, 6]]
    with pytest.raises(TypeError, match="a list of contexts, got a single str"):
        make_tokenizer().contexts("I have")


@pytest.mark.parametrize("word_encoder", ENCODERS)
def test_contexts_are_padded_codes(word_encoder):
    tokenizer = make_tokenizer(order=3, word_encoder=word_encoder)
    contexts = tokenizer.contexts(["zebra", [], "a zebra zebu"])
    start, zebra, zebu = word_encoder.encode(["<s>", "zebra", "zebu"]).tolist()
    assert contexts.tolist() == [[start, zebra], [start, start], [zebra, zebu]]
    assert contexts.dtype == np.int64
    assert len(tokenizer.contexts([])) == 0


def test_windows_of_the_users_ids():
    vocabulary, id_map = vocabulary_from_dict({"<s>": 0, "a": 1, "b": 2, "<unk>": 3}, caller="Model")
    tokenizer = make_tokenizer(3, vocabulary=vocabulary, id_map=id_map)
    windows = tokenizer.read(lambda: iter([(0, 1, 2), (1, 2, 3)]))
    assert spelled(windows, vocabulary.words) == ["<s> a b", "a b <unk>"]
    assert windows.offsets.tolist() == [0, 1, 2]
    for wrong, message in (((1, 2, 4), "the id 4, and vocabulary has 4"), ((-1, 2, 1), "the id -1")):
        with pytest.raises(ValueError, match=message):
            tokenizer.read(lambda wrong=wrong: iter([wrong]))
    with pytest.raises(ValueError, match="ends with <s>, which is never predicted"):
        tokenizer.read(lambda: iter([(1, 2, 0)]))
    for word_encoder in ENCODERS:
        encoding = make_tokenizer(3, vocabulary=vocabulary, id_map=id_map, word_encoder=word_encoder)
        start, a, b = word_encoder.encode(["<s>", "a", "b"]).tolist()
        assert contexts_of(encoding.read(lambda: iter([(0, 1, 2), (1, 2, 3)]))) == [[start, a], [a, b]]
    with pytest.raises(ValueError, match="does not know the words"):
        make_tokenizer(3).read(lambda: iter([(1, 2, 3)]))


def test_words_are_learned_from_training_sentences_alone():
    corpus = read_corpus(["a b", "c", "a"], order=2, caller="Model")
    validation = np.array([False, True, False])
    assert build_tokenizer(corpus, order=2, caller="Model").vocabulary.words == ["</s>", "a", "b", "c", "<unk>", "<s>"]
    words = build_tokenizer(corpus, order=2, validation=validation, caller="Model").vocabulary.words
    assert words == ["</s>", "a", "b", "<unk>", "<s>"]
    ids = read_corpus(lambda: iter([(0, 1)]), order=2, caller="Model")
    with pytest.raises(ValueError, match="Model got word ids from its reader and does not know the words"):
        build_tokenizer(ids, order=2, caller="Model")


@pytest.mark.parametrize("wrong", [-1, 10**19, 1.5, True, None])
@pytest.mark.parametrize("name", ["order", "n_words"])
def test_a_stored_context_of_no_length_is_refused(name, wrong):
    values, arrays = make_tokenizer().to_state()
    lengths = {"order": 3, "n_words": 0} | {name: wrong}
    values["far_context"] = {"n_words": lengths.pop("n_words")}
    with pytest.raises(ValueError, match=f"'{name}' must be an integer in"):
        Tokenizer.from_state(values, arrays, **lengths, caller="it")
