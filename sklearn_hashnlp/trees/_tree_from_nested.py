"""A tree from nested lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sklearn_hashnlp.trees._softmax_tree import SoftmaxTree


def tree_from_nested(nested: Sequence[Any] | int) -> SoftmaxTree:
    """Build a tree from nested lists of classes.

    Inner nodes are numbered in pre-order: a list before the lists inside it, the first of these first.

    Parameters
    ----------
    nested : list, tuple or int
        A list is an inner node, an int a class; every class 0..V-1 stands somewhere once. The class 0 alone is the tree
        of one class.

    Returns
    -------
    SoftmaxTree
        The tree; its :meth:`~SoftmaxTree.to_nested` gives the lists again.

    Raises
    ------
    TypeError
        If anything but lists, tuples and integers is inside.
    ValueError
        If a class is missing or stands twice, or a list holds fewer than two.

    Examples
    --------
    >>> from sklearn_hashnlp.trees import tree_from_nested
    >>> tree = tree_from_nested([[[[7, 8], [6, 5]], [[4, 1], [0, 2]]], [9, 3]])
    >>> tree.path(7)
    (array([0, 1, 2, 3]), array([0, 0, 0, 0]))
    """
    blocks: list[list[int]] = []
    waiting: list[tuple[int, Any]] = [(-1, nested)]
    while waiting:
        parent, item = waiting.pop()
        if isinstance(item, (list, tuple)):
            number = len(blocks)
            blocks.append([])
            if parent >= 0:
                blocks[parent].append(number)
            waiting.extend((number, inner) for inner in reversed(item))
        elif isinstance(item, (int, np.integer)) and not isinstance(item, bool) and item >= 0:
            if parent >= 0:
                blocks[parent].append(~int(item))
            elif item != 0:
                raise ValueError(f"tree_from_nested wants the one class of a tree to be 0, but {item} came.")
        else:
            raise TypeError(
                "tree_from_nested wants lists of lists and classes, integers of at least 0, "
                f"but {item!r} ({type(item).__name__}) is among them."
            )
    flat = np.array([child for block in blocks for child in block], dtype=np.int64)
    return SoftmaxTree(flat, np.append(0, np.cumsum([len(block) for block in blocks], dtype=np.int64)))
