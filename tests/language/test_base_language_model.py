"""Scores, predictions, samples and saving of the base of language models, by a subclass that counts
bigrams.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sklearn_hashnlp.language._base_language_model import BATCH_SIZE, draw_columns
from tests.language.bigram_model import BigramModel

RNG = np.random.default_rng(0)
SENTENCES = [" ".join(RNG.choice(list("abcdef"), size=RNG.integers(7)).tolist()) for _ in range(80)]
UNSEEN = ["a z b", "", "f e d c b a", "z z"]


@pytest.fixture(scope="module")
def model():
    return BigramModel().fit(SENTENCES)


def test_scores_above_those_of_probabilities_are_certain(model, monkeypatch):
    scores, ids = np.array([[1000.0, 0.0]]), np.array([[1, 2]])
    monkeypatch.setattr(model, "_topk", lambda batch, k: (scores, ids))  # as of damaged weights
    assert [probability for _, probability in model.predict_topk([["a"]], k=2)[0]] == [1.0, 1.0]


def probability_by_hand(word, before):
    """Count with the words of the sentences alone: a to f, the end and unknown words, 8 classes."""
    pairs = Counter()
    for sentence in SENTENCES:
        words = ["<s>", *sentence.split(), "</s>"]
        pairs.update(pairwise(words))
    n_before = sum(count for (first, _), count in pairs.items() if first == before)
    return (pairs[before, word] + 1) / (n_before + 8)


def test_scores_are_sums_of_log_probabilities(model):
    expected, n_words = [], 0
    for sentence in UNSEEN:
        words = ["<s>", *(word.replace("z", "<unk>") for word in sentence.split()), "</s>"]
        pairs = pairwise(words)
        expected.append(sum(math.log(probability_by_hand(word, before)) for before, word in pairs))
        n_words += len(words) - 1
    np.testing.assert_allclose(model.score_samples(UNSEEN), expected)
    assert model.score(UNSEEN) == pytest.approx(sum(expected) / n_words)
    assert model.perplexity(UNSEEN) == pytest.approx(math.exp(-sum(expected) / n_words))


def test_predictions_are_the_largest_probabilities(model):
    contexts = ["", "a", ["b", "c"], "z", "x y d"]
    before = ["<s>", "a", "c", "<unk>", "d"]
    words = list(model.vocabulary_)[:-1]
    probabilities = model.predict_proba(contexts)
    expected = [[probability_by_hand(word, last) for word in words] for last in before]
    np.testing.assert_allclose(probabilities, expected)
    assert model.predict(contexts).tolist() == [
        words[index] for index in probabilities.argmax(axis=1)
    ]
    for pairs, row in zip(model.predict_topk(contexts, k=3), probabilities, strict=True):
        best = np.argsort(-row, kind="stable")[:3]
        assert [word for word, _ in pairs] == [words[index] for index in best]
        np.testing.assert_allclose([probability for _, probability in pairs], row[best])
    assert [len(pairs) for pairs in model.predict_topk(contexts, k=100)] == [8] * 5
    with pytest.raises(
        ValueError, match=r"BigramModel\.predict_topk needs an integer k of at least 1, got 0"
    ):
        model.predict_topk(contexts, k=0)


def test_many_contexts_are_as_few(model):
    contexts = [sentence.split()[:2] for sentence in SENTENCES] * (
        2 * BATCH_SIZE // len(SENTENCES) + 1
    )
    assert len(contexts) > 2 * BATCH_SIZE
    few = model.predict_proba(contexts[: len(SENTENCES)])
    assert model.predict_proba(contexts).tobytes() == np.resize(few, (len(contexts), 8)).tobytes()
    assert len(model.predict(contexts)) == len(model.predict_topk(contexts)) == len(contexts)


def test_nothing_to_score_or_predict(model):
    with pytest.raises(ValueError, match="BigramModel found no sentence to learn from: X is empty"):
        BigramModel().fit([])
    with pytest.raises(ValueError, match="BigramModel found no word to score"):
        model.score([])
    assert model.score_samples([]).shape == (0,)
    assert model.predict([]).shape == (0,)
    assert model.predict_proba([]).shape == (0, 8)
    assert model.predict_topk([]) == []


def test_samples_follow_the_probabilities(model):
    sentences = model.sample(3000, random_state=0)
    assert sentences == model.sample(3000, random_state=0)
    assert sentences != model.sample(3000, random_state=1)
    [row] = model.predict_proba([[]])
    firsts = Counter(words[0] if words else "</s>" for words in sentences)
    for word, probability in zip(model.vocabulary_, row, strict=False):
        assert firsts[word] / 3000 == pytest.approx(probability, abs=0.03)
    after = Counter(
        second for words in sentences for first, second in pairwise(words) if first == "a"
    )
    [row] = model.predict_proba(["a"])
    goes_on = 1 - row[model.vocabulary_["</s>"]]
    for word in "abcdef":
        assert after[word] / after.total() == pytest.approx(
            row[model.vocabulary_[word]] / goes_on, abs=0.05
        )


def test_samples_begin_and_end_as_asked(model):
    assert all(words[:2] == ["b", "a"] for words in model.sample(9, 0, start="b a"))
    assert model.sample(9, 0, start="<s> b a </s>") == model.sample(9, 0, start="b a")
    assert max(map(len, model.sample(50, 0, max_length=3))) == 3
    assert model.sample(2, 0, start="a b", max_length=1) == [["a", "b"]] * 2
    assert model.sample(0) == []
    with pytest.raises(ValueError, match="needs n and max_length of at least 0, got -1 and 100"):
        model.sample(-1)


@pytest.mark.parametrize("wrong", [None, 2.5, "9", True])
def test_the_maximum_length_of_samples_is_an_integer(model, wrong):
    with pytest.raises(
        TypeError, match=rf"BigramModel\.sample: max_length must be an integer; .* Got {wrong!r}"
    ):
        model.sample(max_length=wrong)
    assert model.sample(1, 0, max_length=np.int64(3)) == model.sample(1, 0, max_length=3)
    for start in ("a", ["a b"]):
        with pytest.raises(TypeError, match=r"n must be an integer; pass the words as start="):
            model.sample(start)


def test_columns_are_drawn_by_their_probabilities():
    probabilities = np.tile([0.0, 2.0, 0.0, 6.0, 0.0], (4000, 1))
    drawn = draw_columns(probabilities, np.random.default_rng(0))
    assert set(drawn.tolist()) == {1, 3}
    assert (drawn == 1).mean() == pytest.approx(0.25, abs=0.03)
    assert draw_columns(probabilities[:0], np.random.default_rng(0)).shape == (0,)


def test_the_vocabulary_is_learned_or_set():
    assert list(BigramModel(max_features=2).fit(SENTENCES).vocabulary_)[-1] == "<s>"
    assert len(BigramModel(max_features=2).fit(SENTENCES).vocabulary_) == 5
    assert len(BigramModel(min_count=10**6).fit(SENTENCES).vocabulary_) == 3
    words = {"f": 0, "<s>": 1, "a": 2}
    model = BigramModel(vocabulary=words).fit(SENTENCES)
    assert list(model.vocabulary_) == ["f", "a", "</s>", "<unk>", "<s>"]
    with pytest.warns(UserWarning, match="cannot learn where sentences end"):
        ids = BigramModel(vocabulary=words).fit(lambda: iter([(1, 0), (0, 2)]))
    assert ids.score(lambda: iter([(1, 0)])) == pytest.approx(math.log(2 / 5))


def test_candidates_are_ranked_by_their_mean_log_probability(model):
    candidates = ["a z b", "f e d c b a", ["f", "e", "d"], "a z b", "b"]
    indices, scores = model.rank(candidates)
    means = [model.score([candidate]) for candidate in candidates]
    expected = sorted(range(5), key=lambda index: (-means[index], index))
    assert indices.tolist() == expected
    assert indices.dtype == np.int64
    np.testing.assert_allclose(scores, [means[index] for index in expected], rtol=1e-12)
    assert not np.array_equal(indices, np.argsort(-model.score_samples(candidates), kind="stable"))
    assert model.rank(sentence for sentence in candidates)[0].tolist() == expected


def test_words_without_probability_are_ranked_last():
    model = BigramModel().fit(["a b", "a c"])
    model.table_[:, model.vocabulary_["c"]] = -np.inf
    indices, scores = model.rank(["a c", "c", "a b"])
    assert indices.tolist() == [2, 0, 1]
    assert scores[1:].tolist() == [-np.inf, -np.inf]


@pytest.mark.parametrize(
    ("candidates", "error", "message"),
    [
        ([], ValueError, r"BigramModel\.rank needs at least one candidate sentence, got none"),
        (["a", " ", "b"], ValueError, r"BigramModel\.rank: candidate 1 is empty; leave it out"),
        ("a b", TypeError, r"BigramModel\.rank: a single str is ambiguous"),
        (b"a b", TypeError, r"BigramModel\.rank: a single bytes is ambiguous"),
        (
            [b"a b"],
            TypeError,
            r"BigramModel\.rank: a sentence is a str or a list of str, got b'a b' of type bytes",
        ),
        (
            lambda: iter([(0, 1)]),
            TypeError,
            r"BigramModel\.rank reads sentences, and its reader gave the word ids",
        ),
    ],
)
def test_candidates_that_cannot_be_ranked(model, candidates, error, message):
    with pytest.raises(error, match=message):
        model.rank(candidates)
    with pytest.raises(NotFittedError):
        BigramModel().rank(candidates)


def test_the_score_of_a_sentence_does_not_depend_on_those_before_it(model):
    # its log-probabilities have more digits than those of a network
    alone = model.score_samples(UNSEEN)
    assert (
        model.score_samples([*SENTENCES * 50, *UNSEEN])[-len(UNSEEN) :].tobytes() == alone.tobytes()
    )
