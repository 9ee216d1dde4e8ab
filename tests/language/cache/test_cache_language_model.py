"""CacheLanguageModel: probabilities by definition, across sentences or not, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp import CacheLanguageModel, load_model, save_model
from sklearn_hashnlp.persistence import ModelFormatError
from tests.oracles.mixtures import cache_prob
from tests.persistence.damaged_models import reread

RNG = np.random.default_rng(0)
TRAIN = [RNG.choice(list("aaabbcdef"), size=RNG.integers(7)).tolist() for _ in range(40)]
TEXT = [RNG.choice(list("abcdxyz"), size=RNG.integers(9)).tolist() for _ in range(30)]
SETTINGS = [
    {},
    {"cache_size": 1},
    {"cache_size": 2, "decay": 0.5},
    {"cache_size": 17, "decay": 1.0, "unigram_prior": 0.25, "bigram_prior": 7.0},
]


def make(**options):
    return CacheLanguageModel(**options).fit(TRAIN)


def settings_of(model):
    return {
        name: getattr(model, name)
        for name in ("cache_size", "decay", "unigram_prior", "bigram_prior")
    }


def spelled(model, sentence):
    return [word if word in model.vocabulary_ else "<unk>" for word in sentence]


def scores_by_hand(model, sentences, *, reset=False):
    word_probs = dict(zip(model.vocabulary_, model.word_probs_, strict=False))
    scores, history = [], []
    for sentence in sentences:
        score, history = 0.0, [] if reset else history
        for word in [*spelled(model, sentence), "</s>"]:
            score += math.log(cache_prob(history, word, word_probs, **settings_of(model)))
            history.append(word)
        scores.append(score)
    return scores


@pytest.mark.parametrize("options", SETTINGS)
@pytest.mark.parametrize("reset", ["never", "sentence"])
def test_scores_are_those_of_the_definition(options, reset):
    model = make(**options, reset=reset)
    expected = scores_by_hand(model, TEXT, reset=reset == "sentence")
    np.testing.assert_allclose(model.score_samples(TEXT), expected, rtol=1e-12)


@pytest.mark.parametrize("options", SETTINGS)
def test_predictions_after_a_beginning_are_those_of_the_definition(options):
    model = make(**options)
    word_probs = dict(zip(model.vocabulary_, model.word_probs_, strict=False))
    beginnings = [*TEXT, []]
    expected = [
        [
            cache_prob(spelled(model, words), word, word_probs, **settings_of(model))
            for word in word_probs
        ]
        for words in beginnings
    ]
    np.testing.assert_allclose(model.predict_proba(beginnings), expected, rtol=1e-12)


def test_the_sentence_end_is_a_word_only_across_sentences():
    across, within = make(), make(reset="sentence")
    ended, same, other = (
        across.predict_proba([words]) for words in ("a b </s>", "a b", "a b <unk>")
    )
    assert not np.array_equal(ended, same)
    assert not np.array_equal(ended, other)
    assert within.predict_proba(["a b </s>"]).tobytes() == within.predict_proba(["a b"]).tobytes()


@given(
    st.lists(st.sampled_from("abcxz"), max_size=12),
    st.integers(1, 15),
    st.floats(0.01, 1),
    st.floats(1e-6, 1e6),
    st.floats(1e-6, 1e6),
)
def test_probabilities_sum_to_one(beginning, cache_size, decay, unigram_prior, bigram_prior):
    model = make(
        cache_size=cache_size, decay=decay, unigram_prior=unigram_prior, bigram_prior=bigram_prior
    )
    [probs] = model.predict_proba([beginning])
    assert probs.sum() == pytest.approx(1, abs=1e-12)
    assert (probs > 0).all()


def test_the_first_word_has_the_frequency_of_the_training_text():
    model = make()
    counts = {word: 1 for word in model.vocabulary_ if word != "<s>"}
    for sentence in TRAIN:
        for word in [*sentence, "</s>"]:
            counts[word] += 1
    expected = [counts[word] / sum(counts.values()) for word in list(model.vocabulary_)[:-1]]
    np.testing.assert_allclose(model.word_probs_, expected)
    np.testing.assert_allclose(model.predict_proba([""]), [expected])


def test_sentences_before_a_sample_are_returned_as_they_are_given():
    model = make()
    samples = model.sample(20, 0, start="<s> a b </s>")
    assert all(words[:3] == ["a", "b", "</s>"] for words in samples)
    assert not any({"<s>", "</s>"} & set(words[3:]) for words in samples)
    assert any(len(words) > 3 for words in samples)
    assert model.sample(2, 0, start="a b </s> a", max_length=3) == [["a", "b", "</s>", "a"]] * 2


def test_windows_of_ids_are_refused():
    with pytest.raises(
        TypeError, match=r"CacheLanguageModel reads sentences, .* word ids \(0, 1\)"
    ):
        make().score(lambda: iter([(0, 1)]))
    with pytest.raises(TypeError, match="CacheLanguageModel reads sentences"):
        CacheLanguageModel(vocabulary={"a": 0}).fit(lambda: iter([(0, 0)]))


@pytest.mark.parametrize(
    "options",
    [{"reset": "bogus"}, {"cache_size": 1, "decay": 0.1}, {"unigram_prior": 1e9}],
    ids=str,
)
def test_a_fitted_model_predicts_by_the_parameters_of_fit(options, tmp_path):
    model = make(reset="sentence", bigram_prior=0.5)
    scores, probs = model.score_samples(TEXT), model.predict_proba(["a b </s>"])
    model.set_params(bigram_prior=1e9, **options)
    assert model.score_samples(TEXT).tobytes() == scores.tobytes()
    assert model.predict_proba(["a b </s>"]).tobytes() == probs.tobytes()
    if "reset" in options:
        model.set_params(reset="never")  # a model is saved with parameters that it accepts
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.score_samples(TEXT).tobytes() == scores.tobytes()
    assert loaded.bigram_prior == 1e9
    assert loaded.bigram_prior_ == 0.5
    assert not np.allclose(loaded.fit(TRAIN).score_samples(TEXT), scores)


@pytest.mark.parametrize(
    ("name", "value"), [("reset", "bogus"), ("cache_size", 0), ("decay", "much")]
)
def test_a_model_with_damaged_parameters_is_refused(name, value):
    with pytest.raises(ModelFormatError, match=name):
        reread(make(), lambda state, _: state.update({name: value}))


def test_a_damaged_model_is_refused():
    for word_probs in (
        np.full(3, 1 / 3),
        np.zeros(9, dtype=np.float32),
        np.full(8, np.nan),
        np.full(8, 0.5),
    ):

        def replace(_, arrays, new=word_probs):
            assert arrays["word_probs"].shape == (8,)
            arrays["word_probs"] = new

        with pytest.raises(
            ModelFormatError, match=r"frequencies|'word_probs' has infinite values or NaN"
        ):
            reread(make(), replace)
