"""Trees over classes for hierarchical softmax, and functions that build them; numpy only."""

from sklearn_hashnlp.trees._cluster_tree import cluster_tree
from sklearn_hashnlp.trees._custom_trees import tree_from_nested, tree_from_paths
from sklearn_hashnlp.trees._softmax_tree import SoftmaxTree
from sklearn_hashnlp.trees._tree_builders import (
    balanced_tree,
    complete_tree,
    huffman_tree,
    random_tree,
    two_level_tree,
)

__all__ = [
    "SoftmaxTree",
    "balanced_tree",
    "cluster_tree",
    "complete_tree",
    "huffman_tree",
    "random_tree",
    "tree_from_nested",
    "tree_from_paths",
    "two_level_tree",
]
