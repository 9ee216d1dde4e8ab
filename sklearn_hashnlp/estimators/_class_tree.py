"""The tree over a classifier's labels."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_hashnlp import trees
from sklearn_hashnlp.trees import SoftmaxTree

CLASS_TREES: Final = ("balanced", "complete", "huffman", "random", "two_level")
"""Names of the trees that are built from counts alone."""


def class_tree(tree: SoftmaxTree | str, counts: NDArray[np.int64] | int, *, seed: int, caller: str) -> SoftmaxTree:
    """Give a tree over labels.

    Parameters
    ----------
    tree : SoftmaxTree or one of :data:`CLASS_TREES`
        A tree, or the name of a builder.
    counts : ndarray of shape (n_classes,), or int
        How often each label occurs; an int is the number of labels, of which nothing else is known.
    seed : int
        For ``"random"``.
    caller : str
        Class that asks, for the message.

    Returns
    -------
    SoftmaxTree
        The tree.

    Raises
    ------
    ValueError
        If a tree that was given has another number of classes.

    Examples
    --------
    >>> class_tree("huffman", np.array([9, 1, 2]), seed=0, caller="Someone").depths.tolist()
    [1, 2, 2]
    """
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
    """Build a tree by the name of its builder.

    Parameters
    ----------
    name : one of :data:`CLASS_TREES`
        The name.
    counts : array-like of shape (n_classes,), or int
        How often each class occurs, or how many there are.
    seed : int
        For ``"random"``.

    Returns
    -------
    SoftmaxTree
        The tree.
    """
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
