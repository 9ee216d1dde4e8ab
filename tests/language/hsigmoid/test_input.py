"""Sentences, vocabularies, readers of word ids and their special tokens, and contexts that padding
leaves out.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from sklearn_hashnlp import KneserNeyLanguageModel, load_model, save_model
from tests.language.hsigmoid.small_models import GRAMMAR, NAMES, THINGS, VERBS, fitted, make
from tests.language.tokenizers import encode
from tests.trainings import assert_same_bits


def test_the_vocabulary_and_its_special_tokens(model):
    assert set(model.vocabulary_) == {*NAMES, *VERBS, *THINGS, "<s>", "</s>", "<unk>"}
    assert list(model.vocabulary_.values()) == list(range(10))
    assert next(iter(model.vocabulary_)) == "</s>"  # the most frequent
    assert list(model.vocabulary_)[-1] == "<s>"
    scores = model.score_samples(
        ["ann sees zebras", "ann sees <unk>", "<s> ann sees zebras </s>", "ann sees <s>"]
    )
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
    assert_same_bits(model.perplexity(GRAMMAR), from_words.perplexity(GRAMMAR))
    assert model.perplexity(windows) == pytest.approx(model.perplexity(GRAMMAR), rel=1e-6)


CATS = [
    "the cat sat on the mat",
    "the dog sat on the rug",
    "a cat saw the dog",
    "a dog saw the cat",
] * 5
TEST = ["a dog sat on the mat", "the UNK saw a cat"]
READER_WORDS = [
    "<s>",
    "<e>",
    "UNK",
    *sorted({word for sentence in CATS for word in sentence.split()}),
]
IDS = {word: word_id for word_id, word in enumerate(READER_WORDS)}
TOKENS = {"special_tokens": ("<s>", "<e>", "UNK")}
REFERENCE = {"order": 3, "padding": "reference", "vocabulary": IDS}


def reader_of(sentences, order=3):
    """Return a reader of ids: a start token, the words and an end token, as users write it."""

    def reader():
        for sentence in sentences:
            ids = [IDS.get(word, IDS["UNK"]) for word in ["<s>", *sentence.split(), "<e>"]]
            yield from (tuple(ids[start : start + order]) for start in range(len(ids) - order + 1))

    return reader


@pytest.fixture(scope="module", params=["table", "hash"], name="of_windows")
def _of_windows(request):
    parameters = REFERENCE | {"embedding": request.param, "max_epochs": 10}
    return make(**parameters, **TOKENS).fit(reader_of(CATS))


def test_windows_of_ids_score_like_their_sentences(of_windows, tmp_path):
    assert of_windows.perplexity(reader_of(TEST)) == of_windows.perplexity(TEST)
    assert of_windows.perplexity(
        [f"<s> {sentence} <e>" for sentence in TEST]
    ) == of_windows.perplexity(TEST)
    assert list(of_windows.vocabulary_) == [*READER_WORDS[1:], "<s>"]
    save_model(of_windows, tmp_path)
    assert load_model(tmp_path).perplexity(reader_of(TEST)) == of_windows.perplexity(TEST)


def test_a_sampled_sentence_ends_with_the_readers_end_token(of_windows):
    sentences = of_windows.sample(20, random_state=0, start="the")
    assert max(map(len, sentences)) < 100
    assert not {"<e>", "<s>"} & {word for sentence in sentences for word in sentence}
    assert of_windows.predict(["on the mat"]).tolist() == ["<e>"]


def test_a_model_that_counts_reads_the_same_tokens(tmp_path):
    model = KneserNeyLanguageModel(order=3, vocabulary=IDS, **TOKENS).fit([*CATS, "UNK"])
    assert model.perplexity([f"<s> {sentence} <e>" for sentence in TEST]) == model.perplexity(TEST)
    assert model.predict(["on the mat"]).tolist() == ["<e>"]
    assert max(map(len, model.sample(20, random_state=0))) < 100
    model.save_arpa(tmp_path / "model.arpa")
    renamed = KneserNeyLanguageModel.load_arpa(tmp_path / "model.arpa")
    assert renamed.predict(["on the mat"]).tolist() == ["</s>"]
    assert renamed.perplexity(TEST[:1]) == model.perplexity(TEST[:1])
    other = KneserNeyLanguageModel(order=2, special_tokens=["<s>", "<e>", "<unk>"]).fit(
        ["a </s> b"]
    )
    with pytest.raises(ValueError, match="'</s>' is an ordinary word"):
        other.save_arpa(tmp_path / "model.arpa")


def test_a_learned_vocabulary_has_the_special_tokens():
    model = make(special_tokens=["[", "]", "?"])
    model.fit(["[ a b ]", "a </s> ?", ["[", "b", "c"]])
    assert set(model.vocabulary_) == {"a", "b", "c", "</s>", "[", "]", "?"}
    assert list(model.vocabulary_)[-1] == "["
    assert (
        model.score_samples(["[ a b ]", "q"]).tobytes()
        == model.score_samples(["a b", "?"]).tobytes()
    )


def test_a_reader_whose_windows_never_end_a_sentence_gets_a_warning():
    with pytest.warns(
        UserWarning, match=r"'</s>'.*Set the reader's own end.*No word follows '<e>'"
    ) as caught:
        make(**REFERENCE).fit(reader_of(CATS))
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(**REFERENCE, **TOKENS).fit(reader_of(CATS))


@pytest.mark.parametrize(
    "tokens", [("<s>", "<s>", "?"), ("<s>", "?", "?"), ["", "<e>", "?"], ("<s>", "<e>"), (1, 2, 3)]
)
def test_special_tokens_must_differ(tokens):
    with pytest.raises(ValueError, match="must be three different strings"):
        make(special_tokens=tokens).fit(CATS)


def test_padding_of_the_reference_predicts_after_trained_contexts_alone():
    model = make(**REFERENCE | {"order": 4}, **TOKENS).fit(CATS)
    message = (
        r"order=4, padding='reference'\) predicts words after 2 others or more, got \['a'\] as "
        r"context 1"
    )
    for ask in (model.predict, model.predict_proba, model.predict_topk):
        with pytest.raises(ValueError, match=message):
            ask(["a cat", "a"])
    with pytest.raises(ValueError, match="start="):
        model.sample(3)
    assert model.predict(["a cat", "saw the dog"]).shape == (2,)
    assert all(
        sentence[:2] == ["a", "cat"]
        for sentence in model.sample(3, start="<s> a cat", random_state=0)
    )
    trained = model._tokenizer.read(["a cat sat"]).take(np.arange(1))[0]
    assert encode(model._tokenizer, ["a cat"]).tolist() == trained.tolist()
