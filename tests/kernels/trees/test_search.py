"""Search, greedy descent and sampling against the probabilities of all classes."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels.trees._search import TreeScorer, descend, search_best
from tests.oracles.hashing import hash_constants

from ...oracles import hierarchical_softmax as oracle
from ...random_trees import TREES, chain, random_shape

CONSTANTS = hash_constants(5, 1)[0][:2]


def make(tree, n_rows, n_slots, n_features, seed, scale=1.0):
    rng = np.random.default_rng(seed)
    inputs, features = (
        rng.normal(size=(n_rows, 3)),
        rng.integers(-9, 99, (n_rows, n_features if n_slots else 0)),
    )
    scorer = TreeScorer(
        tree.children,
        tree.offsets,
        tree.score_offsets,
        rng.normal(0, scale, (tree.n_scores, 3)),
        rng.normal(0, scale, tree.n_scores),
        rng.normal(0, scale, n_slots),
        np.array(CONSTANTS, dtype=np.uint64),
        int(np.diff(tree.score_offsets).max()),
    )
    return inputs, features, scorer


@pytest.mark.parametrize("most_children", [2, 6])
def test_at_a_tie_greedy_takes_the_first_child(most_children):
    tree = random_shape(20, most_children, seed=0)
    inputs, features, scorer = make(tree, 1, 0, 0, 0, scale=0.0)
    classes = np.empty(1, dtype=np.int64)
    descend(inputs, features, scorer, np.empty(0), classes)
    item = 0
    while item >= 0:
        item = tree.children[tree.offsets[item]]
    assert classes[0] == ~item


@given(
    tree=TREES.filter(lambda tree: tree.n_classes > 1),
    n_slots=st.sampled_from([0, 50]),
    seed=st.integers(0, 9),
)
def test_a_sample_is_the_class_of_the_draw_in_the_cumulative_distribution(tree, n_slots, seed):
    inputs, features, scorer = make(tree, 1, n_slots, 2, seed)
    tables = {
        "weight": scorer.weight,
        "bias": scorer.bias,
        "direct": scorer.direct,
        "direct_seed": 5,
    }
    layer = SimpleNamespace(tree=tree, n_classes=tree.n_classes, **tables)
    probabilities = np.exp(oracle.log_probs(layer, inputs[0].tolist(), features[0].tolist()))

    def leaves(node):
        for child in tree.children[tree.offsets[node] : tree.offsets[node + 1]].tolist():
            yield from [~child] if child < 0 else leaves(child)

    in_order = list(leaves(0))
    ends = probabilities[in_order].cumsum()
    draws = (np.arange(200) + 0.5) / 200
    draws = draws[np.abs(draws[:, None] - ends).min(axis=1) > 1e-9]
    classes = np.empty(len(draws), dtype=np.int64)
    rows = np.repeat(inputs, len(draws), axis=0), np.repeat(features, len(draws), axis=0)
    descend(*rows, scorer, draws, classes)
    assert classes.tolist() == [in_order[index] for index in np.searchsorted(ends, draws)]


def test_draws_at_both_ends_and_certain_nodes():
    for most_children in (2, 9):
        tree = random_shape(40, most_children, seed=1)
        # every decision has probability 0 or 1
        inputs, features, scorer = make(tree, 2, 0, 0, 0, scale=1e4)
        classes, best = np.empty(2, dtype=np.int64), np.empty((2, 1), dtype=np.int64)
        search_best(inputs, features, scorer, np.empty((2, 1)), best)
        for draw in (0.0, 0.5, 1 - 2.0**-53):
            descend(inputs, features, scorer, np.full(2, draw), classes)
            assert (classes == best[:, 0]).all()


def test_the_deepest_tree_is_searched_to_its_end():
    tree = chain(2000)
    inputs, features, scorer = make(tree, 1, 0, 0, 0, scale=0.0)
    log_probs, classes = np.empty((1, 2000)), np.empty((1, 2000), dtype=np.int64)
    search_best(inputs, features, scorer, log_probs, classes)
    assert classes[0, :1998].tolist() == list(range(1998))
    assert sorted(classes[0, 1998:]) == [1998, 1999]
    np.testing.assert_allclose(log_probs[0, :1999], -math.log(2) * np.arange(1, 2000), rtol=1e-10)
