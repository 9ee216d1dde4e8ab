"""Trees by the name of their builder, a parameter of estimators."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_hashnlp import trees
from sklearn_hashnlp.trees import SoftmaxTree

ClassTree: TypeAlias = Literal["balanced", "complete", "huffman", "random", "two_level"]
"""Names of the trees that are built from class counts alone."""


def class_tree(tree: SoftmaxTree | str, counts: NDArray[np.int64] | int, *, seed: int, caller: str) -> SoftmaxTree:
    """Return the given tree over the labels of a classifier, or build one by name."""
    if isinstance(tree, SoftmaxTree):
        n_classes = counts if isinstance(counts, int) else len(counts)
        if tree.n_classes != n_classes:
            raise ValueError(
                f"The 'tree' parameter of {caller} must have one class for each label, in the order of classes_. Got "
                f"{tree!r} and {n_classes} labels."
            )
        return tree
    return named_tree(tree, counts, seed=seed)


def named_tree(name: str, counts: ArrayLike | int, *, seed: int) -> SoftmaxTree:
    """Build a tree by the name of its builder."""
    if name == "random":
        return trees.random_tree(counts, random_state=seed)
    builders: dict[str, Any] = {
        "balanced": trees.balanced_tree,
        "complete": trees.complete_tree,
        "huffman": trees.huffman_tree,
        "two_level": trees.two_level_tree,
    }
    built: SoftmaxTree = builders[name](counts)
    return built
