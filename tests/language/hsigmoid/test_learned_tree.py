"""The mean hidden states of words, and the tree that is built from them."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_hashnlp.language import HsigmoidLanguageModel, Regularization, _hsigmoid_language_model
from sklearn_hashnlp.language._language_net import discriminant_vectors, word_clusters
from sklearn_hashnlp.training import TimeLimit
from sklearn_hashnlp.training._callbacks import callbacks_of_kind
from sklearn_hashnlp.training._fit import fit_net
from tests.oracles import language as oracle
from tests.trainings import assert_same_bits

RNG = np.random.default_rng(0)
NAMES = ["ann", "bob", "eve", "dan"]
VERBS = ["sees", "hears", "wants", "likes"]
THINGS = ["trees", "birds", "songs"]
SENTENCES = [f"{RNG.choice(NAMES)} {RNG.choice(VERBS)} {RNG.choice(THINGS)}" for _ in range(200)]
RARE = [*SENTENCES, "dan sees everything"]
SMALL = {
    "order": 3,
    "embedding_dim": 6,
    "hidden_size": 12,
    "batch_size": 16,
    "max_epochs": 4,
    "random_state": 0,
}


@pytest.fixture(scope="module")
def model():
    return HsigmoidLanguageModel(**SMALL, tree="random").fit(RARE)


@pytest.mark.parametrize("sentences", [RARE, SENTENCES[:3]], ids=len)
def test_context_vectors_are_means_of_the_hidden_layer(model, sentences):
    vectors = model.context_vectors(sentences)
    assert vectors.shape == (len(model.vocabulary_), SMALL["hidden_size"])
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors[:-1], oracle.mean_hidden_states(model, sentences), atol=1e-6)
    # they did not occur
    assert not vectors[[model.vocabulary_["<s>"], model.vocabulary_["<unk>"]]].any()


@pytest.mark.parametrize("sentences", [RARE, SENTENCES[:3]], ids=len)
def test_discriminant_vectors_are_whitened_expectations_of_the_means(model, sentences):
    windows = model._tokenizer.read(sentences)
    vectors = discriminant_vectors(model.net_, windows, len(model.vocabulary_) - 1)
    expected = oracle.discriminant_products(model, sentences)
    np.testing.assert_allclose(
        vectors @ vectors.T, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max()
    )


def test_another_model_takes_the_tree(model):
    tree = model.learned_tree(SENTENCES)
    first = HsigmoidLanguageModel(**SMALL, tree=tree, vocabulary=model.vocabulary_).fit(SENTENCES)
    assert first.vocabulary_ == model.vocabulary_
    assert first.perplexity(SENTENCES) < 10
    again = model.learned_tree(SENTENCES)
    np.testing.assert_array_equal(again.children, tree.children)  # the same every time


@pytest.mark.parametrize(
    "options", [{"embedding": ("hash", 50, 20), "order": 4}, {"far_context": 3}]
)
def test_a_learned_tree_is_built_from_a_network_of_two_epochs(options):
    plain = Regularization(dropout=0.0)
    model = HsigmoidLanguageModel(
        **SMALL | options | {"max_epochs": 1}, tree="learned", regularization=plain
    ).fit(RARE)
    options = options | {
        "max_epochs": 2,
        "regularization": Regularization(0.25, embedding_dropout=0.0),
    }
    first = HsigmoidLanguageModel(**SMALL | options, tree="cluster").fit(RARE)
    windows = first._tokenizer.read(RARE)
    counts = np.bincount(windows.y, minlength=len(first.vocabulary_) - 1)
    vectors = discriminant_vectors(first.net_, windows, len(counts))
    assert_same_bits(
        model.net_.module_.output_layer.tree, word_clusters(counts, vectors, seed=first._seeds.hash)
    )
    assert len(model.history_) == 1
    assert model.tree == "learned"


@pytest.mark.parametrize("method", ["learned_tree", "context_vectors"])
def test_nothing_to_read_is_refused(model, method):
    with pytest.raises(ValueError, match="found no word to read"):
        getattr(model, method)([])


def test_the_small_network_takes_its_part_of_the_time(monkeypatch):
    given = []

    def record(net, train, valid, settings, **options):
        *_, limit = callbacks_of_kind(options["last_callbacks"], TimeLimit)
        given.append((limit.seconds, settings.max_grad_norm))
        return fit_net(net, train, valid, settings, **options)

    monkeypatch.setattr(_hsigmoid_language_model, "fit_net", record)
    options = {
        "callbacks": [("limit", TimeLimit(60.0))],
        "regularization": Regularization(max_grad_norm=0.1),
    }
    HsigmoidLanguageModel(**SMALL, **options, tree="learned").fit(RARE)
    (first, first_norm), (second, _) = given
    assert (first, first_norm) == (15.0, 0.1)
    assert 0 < second < 60
    with pytest.raises(ValueError, match="TimeLimit needs a number of more than 0 seconds"):
        HsigmoidLanguageModel(**SMALL, callbacks=[TimeLimit(0)], tree="learned").fit(RARE)
