"""Direct connections against loops over rows, nodes and features."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp._hash_specification import hash_constants
from sklearn_hashnlp.kernels.trees._features import add_direct, direct_gradients, locate_features
from sklearn_hashnlp.kernels.trees._forward import find_path_nodes
from sklearn_hashnlp.trees import balanced_tree

from ...oracles.hashing import feature_slot
from ...random_trees import TREES
from .test_forward import upward_tree

CONSTANTS = hash_constants(3, 1)[0][:2]


@given(
    tree=TREES,
    n_slots=st.sampled_from([1, 2, 5, 1000, 2**31 - 1]),
    n_features=st.integers(0, 3),
    seed=st.integers(0, 9),
)
def test_slots_follow_the_specification(tree, n_slots, n_features, seed):
    rng = np.random.default_rng(seed)
    path_nodes = find_path_nodes(rng.integers(0, tree.n_classes, 5), upward_tree(tree))
    features = rng.integers(-(2**62), 2**62, (5, n_features))
    slots = locate_features(features, path_nodes, CONSTANTS, n_slots)
    assert slots.shape == (len(path_nodes.rows), n_features)
    for at, node in enumerate(np.repeat(path_nodes.nodes, np.diff(path_nodes.starts))):
        for j, feature in enumerate(features[path_nodes.rows[at]].tolist()):
            assert slots[at, j] == (feature_slot(feature, node, CONSTANTS, n_slots) if feature >= 0 else -1)


@given(tree=TREES, n_slots=st.sampled_from([1, 2, 5, 1000]), n_features=st.integers(0, 3), seed=st.integers(0, 9))
def test_scores_and_gradients_of_any_tree_and_any_table(tree, n_slots, n_features, seed):
    rng = np.random.default_rng(seed)
    path_nodes = find_path_nodes(rng.integers(0, tree.n_classes, 7), upward_tree(tree))
    slots = locate_features(rng.integers(-5, 9, (7, n_features)), path_nodes, CONSTANTS, n_slots)
    direct, scores, d_scores = (
        rng.integers(-9, 9, n).astype(float) for n in (n_slots, *[path_nodes.score_starts[-1]] * 2)
    )
    expected, gradient, touched = scores.copy(), np.zeros(n_slots), set()
    for group in range(len(path_nodes.nodes)):
        width = np.diff(path_nodes.weight_starts)[group]
        for i, at in enumerate(range(path_nodes.starts[group], path_nodes.starts[group + 1])):
            for slot in slots[at]:
                for j in range(width if slot >= 0 else 0):
                    place = path_nodes.score_starts[group] + i * width + j
                    expected[place] += direct[(slot + j) % n_slots]
                    gradient[(slot + j) % n_slots] += d_scores[place]
                    touched.add((slot + j) % n_slots)
    add_direct(direct, slots, path_nodes.starts, path_nodes.score_starts, scores)
    assert (scores == expected).all()
    entries, sums = direct_gradients(slots, d_scores, path_nodes, n_slots)
    assert entries.tolist() == sorted(touched)
    assert (sums == gradient[entries]).all()


@pytest.mark.parametrize("seed", range(3))
def test_features_and_nodes_spread_over_the_table(seed):
    # A feature at 1000 nodes, and 1000 features at one node: about as many different slots as by chance, 632.
    tree = balanced_tree(1001)
    path_nodes = find_path_nodes(np.arange(1001), upward_tree(tree))
    features = np.arange(1001)[:, None] * (seed + 1)
    slots = locate_features(np.full_like(features, seed), path_nodes, CONSTANTS, 1000)[path_nodes.starts[:-1], 0]
    assert 580 < len(np.unique(slots)) < 690
    at_root = locate_features(features, path_nodes, CONSTANTS, 1000)[: path_nodes.starts[1], 0]
    assert 580 < len(np.unique(at_root)) < 690
