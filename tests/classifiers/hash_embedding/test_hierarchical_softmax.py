"""HashEmbeddingClassifier by a hierarchical softmax: trees, probabilities, searches, copies,
streams.
"""

from __future__ import annotations

from copy import deepcopy
from typing import get_args

import numpy as np
import pytest
import torch

from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
from sklearn_hashnlp.classifiers.hash_embedding._compiled_step import (
    CompiledStep,
    supports_compiled_step,
)
from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.trees import balanced_tree, huffman_tree, tree_from_nested
from sklearn_hashnlp.trees._tree_builders import ClassTree
from tests.oracles.hierarchical_softmax import log_probs
from tests.trainings import assert_other_bits

RNG = np.random.default_rng(0)
N_CLASSES = 23
LABELS = np.array([f"label {number:02}" for number in range(N_CLASSES)])
NUMBERS = np.minimum(RNG.geometric(0.12, 600) - 1, N_CLASSES - 1)
NUMBERS[:N_CLASSES] = np.arange(N_CLASSES)
Y = LABELS[NUMBERS]
X = (RNG.random((600, 60)) < 0.08).astype(np.float32)
X[np.arange(600), NUMBERS] = 2  # a column for each class, among noise
COUNTS = np.bincount(NUMBERS)
SMALL = {"n_buckets": 500, "n_embeddings": 5000, "random_state": 0, "loss": "hsigmoid"}


def make(**options):
    return HashEmbeddingClassifier(**SMALL | {"max_epochs": 8} | options)


@pytest.fixture(scope="module")
def model():
    return make().fit(X, Y)


def tree_of(model):
    return model.net_.module_.head[-1].tree


@pytest.mark.parametrize("tree", get_args(ClassTree))
def test_probabilities_are_products_along_paths_of_every_tree(tree):
    model = make(tree=tree).fit(X, Y)
    assert model.score(X, Y) > 0.95
    probabilities = model.predict_proba(X[:20])
    vectors = []
    with torch.no_grad():
        for row in X[:20]:
            ids = np.flatnonzero(row)
            tensors = torch.from_numpy(ids), torch.tensor([0, len(ids)]), torch.from_numpy(row[ids])
            vectors.append(model.net_.module_.bag(*tensors)[0].double().numpy())
    expected = [log_probs(model.net_.module_.head[-1], vector.tolist(), []) for vector in vectors]
    np.testing.assert_allclose(probabilities, np.exp(expected), rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.exp(model.decision_function(X[:20])), probabilities, rtol=1e-5)


def test_trees_follow_the_counts_of_the_labels():
    model = make(tree="huffman", max_epochs=1)
    assert tree_of(model.fit(X, Y)) == huffman_tree(COUNTS)
    weights = np.where(NUMBERS == 0, 1e-3, 1.0)  # rows are counted, not weighed
    assert tree_of(model.fit(X, Y, sample_weight=weights)) == huffman_tree(COUNTS)
    first, second = (
        tree_of(make(tree="random", max_epochs=1, random_state=seed).fit(X, Y)) for seed in (0, 1)
    )
    assert_other_bits(first.children, second.children)


def test_a_custom_tree_is_over_the_sorted_labels():
    X, y = np.eye(4), ["d", "b", "a", "c"]
    tree = tree_from_nested([0, [1, [2, 3]]])
    model = make(tree=tree, max_epochs=60).fit(X, y)
    assert tree_of(model) == tree
    assert model.predict(X).tolist() == y
    with pytest.raises(
        ValueError,
        match=r"'tree' parameter of HashEmbeddingClassifier must have one class for each",
    ):
        make(tree=tree).fit(np.eye(5), list("abcde"))
    with pytest.raises(ValueError, match="The 'tree' parameter of HashEmbeddingClassifier must be"):
        make(tree="willow").fit(X, y)


def test_labels_and_rankings_agree_with_all_probabilities(model, monkeypatch):
    probabilities = model.predict_proba(X)
    order = np.argsort(-probabilities, axis=1, kind="stable")
    monkeypatch.setattr(type(model.net_), "score_rows", None)  # no score of every class is taken
    assert model.predict(X).tolist() == LABELS[order[:, 0]].tolist()
    for k in (1, 5, N_CLASSES, 100):
        found = model.predict_topk(X, k=k)
        assert [[label for label, _ in row] for row in found] == LABELS[order[:, :k]].tolist()
        values = np.take_along_axis(probabilities, order[:, :k], axis=1)
        np.testing.assert_allclose(
            [[value for _, value in row] for row in found], values, rtol=1e-5
        )
    assert all(value >= 0.3 for row in model.predict_topk(X, threshold=0.3) for _, value in row)


def test_ties_are_broken_by_the_order_of_the_labels():
    model = make(tree="balanced", max_epochs=1).fit(np.eye(16), np.arange(16))
    layer = model.net_.module_.head[-1]
    with torch.no_grad():
        layer.weight.zero_()
        layer.bias.zero_()
    assert model.predict(np.eye(16)).tolist() == [0] * 16
    assert [[label for label, _ in row] for row in model.predict_topk(np.eye(16), k=3)] == [
        [0, 1, 2]
    ] * 16


def test_a_tree_that_was_given_is_saved(tmp_path):
    tree = balanced_tree(N_CLASSES, arity=3)
    model = make(tree=tree, warm_start=True).fit(X, Y)
    save_model(model, tmp_path / "model", precision="int8")
    copy = load_model(tmp_path / "model")
    assert (copy.tree, tree_of(copy)) == (tree, tree)
    assert copy.score(X, Y) > 0.9
    copy.fit(X, Y)


def test_a_warm_start_wants_the_same_tree():
    model = make(warm_start=True, tree="huffman", max_epochs=2).fit(X, Y)
    model.fit(X, Y)
    for other in ("two_level", balanced_tree(N_CLASSES)):
        with pytest.raises(
            ValueError,
            match=r"cannot continue training with tree=.*: it was trained with 'huffman'",
        ):
            model.set_params(tree=other).fit(X, Y)
    model = make(loss="softmax", warm_start=True, tree="huffman", max_epochs=1)
    assert model.fit(X, Y).set_params(tree="random").fit(X, Y)


def test_partial_fit_builds_a_tree_without_label_counts():
    model = make(tree="huffman", max_epochs=1)
    for _ in range(12):
        model.partial_fit(X, Y, classes=LABELS)
    assert tree_of(model) == huffman_tree(N_CLASSES)
    assert tree_of(model).max_depth == 5  # balanced
    assert model.score(X, Y) > 0.9
    unseen = make().partial_fit(X[:4], LABELS[:4], classes=LABELS)
    assert unseen.predict_proba(X).shape == (600, N_CLASSES)


def test_no_step_is_compiled_and_only_visited_decisions_learn(monkeypatch):
    monkeypatch.setattr(CompiledStep, "_step", None)
    net = make(tree="huffman", max_epochs=1, schedule=None).fit(X, Y).net_
    assert not supports_compiled_step(net.module_, net.optimizer_)
    rare = make(tree="balanced").partial_fit(X[:1], LABELS[:1], classes=LABELS)
    assert (
        np.count_nonzero(rare.net_.module_.head[-1].bias.detach().numpy())
        == tree_of(rare).depths[0]
    )


def test_an_unfitted_and_a_diverged_model_do_not_answer(model):
    for method in ("predict", "predict_topk"):
        with pytest.raises(ValueError, match="not fitted yet"):
            getattr(make(), method)(X)
    broken = deepcopy(model)
    with torch.no_grad():
        broken.net_.module_.head[-1].weight.fill_(torch.nan)
    for method in ("predict", "predict_topk", "predict_proba"):
        with pytest.raises(ValueError, match="a score is infinite or not a number"):
            getattr(broken, method)(X)


@pytest.mark.gpu
def test_on_cuda():
    model = make(device="cuda").fit(X, Y)
    assert model.score(X, Y) > 0.95
    assert model.predict(X).tolist() == LABELS[model.predict_proba(X).argmax(axis=1)].tolist()
    assert [row[0][0] for row in model.predict_topk(X, k=2)] == model.predict(X).tolist()
