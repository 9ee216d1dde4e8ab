"""Trees over classes for the hierarchical softmax, and builders of trees; numpy is all they need."""

from sklearn_hashnlp.trees._complete_tree import complete_tree
from sklearn_hashnlp.trees._huffman_tree import huffman_tree
from sklearn_hashnlp.trees._softmax_tree import DepthStatistics, SoftmaxTree
from sklearn_hashnlp.trees._tree_from_nested import tree_from_nested
from sklearn_hashnlp.trees._tree_from_paths import tree_from_paths

__all__ = [
    "DepthStatistics",
    "SoftmaxTree",
    "complete_tree",
    "huffman_tree",
    "tree_from_nested",
    "tree_from_paths",
]
