"""Scores, predictions, samples and word vectors of a trained model."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch

from sklearn_hashnlp.language import HsigmoidLanguageModel
from sklearn_hashnlp.persistence import load_word_vectors
from tests.language.hsigmoid.small_models import (
    GRAMMAR,
    NAMES,
    SENTENCES,
    THINGS,
    VERBS,
    fitted,
    make,
)
from tests.language.tokenizers import encode

OUTPUTS = [
    {"output": "softmax"},
    {"output": "adaptive"},
    {"tree": "huffman", "direct_connections": True},
    {"tree": "learned"},
    {"tree": "cluster", "direct_connections": ("hashed", 1000)},
    {"tree": "binary_cluster", "embedding": ("hash", 500, 100)},
    {"tree": "complete", "embedding": "sgnn"},
    {"tree": "random", "embedding": ("sgnn", 7, 3), "direct_connections": ("hashed", 1000)},
    {
        "hidden_layer": "sigmoid",
        "regularization__dropout": 0.1,
        "regularization__embedding_dropout": 0.1,
        "learning_rate": 1.5,
    },
    {"tree": "balanced", "optimizer": "adam", "learning_rate": 0.01},
    {"tree": "two_level", "init": "uniform"},
]


@pytest.mark.parametrize("options", OUTPUTS, ids=str)
def test_it_learns_and_its_answers_agree(options):
    model = fitted(**options)
    assert model.history_[-1]["train_loss"] < 0.75 * model.history_[0]["train_loss"]
    best = math.exp(-(2 * math.log(1 / 2) + math.log(1 / 3)) / 4)  # of four words, </s> is certain
    assert best < model.perplexity(GRAMMAR) < 1.5 * best
    contexts = [[], "ann", "ann sees", "ann sees songs", "zebra"]
    probabilities = model.predict_proba(contexts)
    words = list(model.vocabulary_)
    ids = [model.vocabulary_[word] for word in ("ann", "sees", "songs", "</s>")]
    score = np.log(probabilities[range(4), ids].astype(float)).sum()
    assert model.score_samples(["ann sees songs"])[0] == pytest.approx(score, rel=1e-5)
    assert probabilities.shape == (5, len(words) - 1)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    assert model.predict(contexts).tolist() == [
        words[word_id] for word_id in probabilities.argmax(axis=1)
    ]
    for pairs, row in zip(model.predict_topk(contexts, k=3), probabilities, strict=True):
        np.testing.assert_allclose([value for _, value in pairs], np.sort(row)[::-1][:3], rtol=1e-5)
        np.testing.assert_allclose(
            [row[model.vocabulary_[word]] for word, _ in pairs], np.sort(row)[::-1][:3], rtol=1e-5
        )


def test_search(model):
    contexts = ["ann", "ann sees trees", "bob hears", []]
    rows = torch.from_numpy(encode(model._tokenizer, contexts))
    words = list(model.vocabulary_)
    greedy = model.net_.module_.predict(rows, search="greedy").tolist()
    assert model.predict(contexts, search="greedy").tolist() == [
        words[word_id] for word_id in greedy
    ]


@pytest.mark.parametrize(
    ("output", "search", "wanted"),
    [
        ("hsigmoid", "fast", "'exact' or 'greedy', got 'fast'"),
        ("softmax", "fast", "'exact', since the model has no tree, got 'fast'"),
        ("adaptive", "greedy", "'exact', since the model has no tree, got 'greedy'"),
    ],
)
def test_no_such_search(output, search, wanted):
    model = fitted(GRAMMAR[:9], output=output, max_epochs=1)
    with pytest.raises(
        ValueError, match=rf"HsigmoidLanguageModel\.predict needs search to be {wanted}"
    ):
        model.predict(["ann"], search=search)


def test_candidates_are_ranked_as_if_there_were_no_others():
    across = fitted(hidden_layer="residual", far_context=4, across_sentences=True)
    indices, scores = across.rank(SENTENCES[:5])
    np.testing.assert_allclose(
        scores, [across.score([SENTENCES[index]]) for index in indices], rtol=1e-6
    )
    with pytest.raises(
        ValueError, match="candidate 1 is too short to have a score with padding='reference'"
    ):
        fitted(order=4, padding="reference").rank(["ann sees trees", "ann"])


def cosine_of(model, a, b):
    one, two = (model.embeddings_[model.vocabulary_[word]].astype(float) for word in (a, b))
    return one @ two / np.linalg.norm(one) / np.linalg.norm(two)


def test_similar_words():
    model = fitted(max_epochs=12)
    assert model.embeddings_.shape == (10, 6)
    [(word, similarity)] = model.most_similar("sees", n=1)
    assert word == "hears"
    assert similarity == pytest.approx(cosine_of(model, "sees", "hears"), abs=1e-6)
    assert len(model.most_similar("ann", n=100)) == 6
    units = model.embeddings_ / np.linalg.norm(model.embeddings_, axis=1, keepdims=True)
    one, two, three = (units[model.vocabulary_[word]] for word in ("ann", "sees", "birds"))
    goal = two - one + three
    result = dict(model.analogy("ann", "sees", "birds", n=100))
    assert set(result) == {*NAMES, *VERBS, *THINGS} - {"ann", "sees", "birds"}
    for word, similarity in result.items():
        assert similarity == pytest.approx(
            units[model.vocabulary_[word]] @ goal / np.linalg.norm(goal), abs=1e-5
        )
    assert list(result.values()) == sorted(result.values(), reverse=True)
    with pytest.raises(TypeError, match="has vectors of words: strings, got 5"):
        model.most_similar(5)
    with pytest.raises(ValueError, match="The word 'zebra' is not in the vocabulary"):
        model.most_similar("zebra")
    with pytest.raises(ValueError, match="most_similar needs n of at least 1, got 0"):
        model.most_similar("ann", n=0)


def test_words_of_equal_vectors_keep_their_order(monkeypatch):
    model = HsigmoidLanguageModel(max_epochs=1, min_count=1).fit(
        [" ".join(f"w{i}" for i in range(100))]
    )
    words = [word for word in model.vocabulary_ if word.startswith("w") and word != "w0"]
    vectors = np.random.default_rng(0).normal(size=(50, 2, model.embedding_dim)).astype(np.float32)
    for same, query in vectors:
        monkeypatch.setattr(model, "_vectors", partial(_vectors_of, same, query))
        assert [word for word, _ in model.most_similar("w0", n=99)] == words


def _vectors_of(same, query, words):
    return np.array([query if word == "w0" else same for word in words])


@pytest.mark.parametrize(
    "options", [{"embedding": ("hash", 500, 100)}, {"embedding": "sgnn"}], ids=str
)
def test_words_that_were_never_seen_have_vectors(options):
    model = fitted(**options)
    assert model.embeddings_.shape == (10, 6)
    assert len(model.most_similar("zebra", n=3)) == 3
    assert model.predict_proba(["zebra"])[0] != pytest.approx(model.predict_proba(["giraffe"])[0])


def test_vectors_in_a_file(tmp_path, model):
    model.save_word2vec(tmp_path / "vectors", binary=True)
    words, vectors = load_word_vectors(tmp_path / "vectors", binary=True)
    assert words == list(model.vocabulary_)
    assert vectors.tobytes() == model.embeddings_.tobytes()


def test_a_score_does_not_depend_on_the_batch():
    rng = np.random.default_rng(0)
    sentences = [" ".join(map(str, rng.integers(50, size=rng.integers(12)))) for _ in range(300)]
    model = make(max_epochs=1, direct_connections=("hashed", 1000)).fit(sentences)
    together = model.score_samples(sentences)  # more than a batch
    for index in range(0, 300, 30):
        assert model.score_samples(sentences[index : index + 7])[0] == together[index]
