"""Trees over classes for the hierarchical softmax, and builders of trees; numpy is all they need."""

from sklearn_hashnlp.trees._balanced_tree import balanced_tree
from sklearn_hashnlp.trees._cluster_tree import cluster_tree
from sklearn_hashnlp.trees._complete_tree import complete_tree
from sklearn_hashnlp.trees._huffman_tree import huffman_tree
from sklearn_hashnlp.trees._random_tree import random_tree
from sklearn_hashnlp.trees._softmax_tree import DepthStatistics, SoftmaxTree
from sklearn_hashnlp.trees._tree_from_nested import tree_from_nested
from sklearn_hashnlp.trees._tree_from_paths import tree_from_paths
from sklearn_hashnlp.trees._two_level_tree import two_level_tree

__all__ = [
    "DepthStatistics",
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
