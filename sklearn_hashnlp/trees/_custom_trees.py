"""Trees from nested lists and from tables of paths."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.trees._arrays import preorder_numbers, renumber
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


Ints = NDArray[np.int64]


def tree_from_paths(paths: Sequence[Sequence[int]]) -> SoftmaxTree:
    """Build a tree from the branches that lead from the root to each class.

    Inner nodes are numbered in pre-order: a node before its children, the first child's subtree first.

    Parameters
    ----------
    paths : sequence of sequences of int
        For class 0, 1, ..., V - 1 its branches, the root's first: 0 for a node's first child, 1 for its second, and so
        on. ``[()]`` is the tree of one class.

    Returns
    -------
    SoftmaxTree
        The tree in which class c has the branches ``paths[c]``.

    Raises
    ------
    TypeError
        If a branch is no integer.
    ValueError
        If there is no class, two classes have one path, a path is the beginning of another, or an inner node lacks a
        branch.

    Examples
    --------
    >>> from sklearn_hashnlp.trees import tree_from_paths
    >>> tree_from_paths([(0, 1), (1,), (0, 0)]).to_nested()
    [[2, 0], 1]
    """
    lengths = np.fromiter((len(path) for path in paths), dtype=np.int64, count=len(paths))
    if not len(lengths):
        raise ValueError("tree_from_paths wants the path of one class or more, but no path came.")
    branches = np.fromiter(map(index, chain.from_iterable(paths)), dtype=np.int64, count=int(lengths.sum()))
    if len(lengths) == 1 and not len(branches):
        return SoftmaxTree([], [0])
    starts = np.cumsum(lengths) - lengths
    wrong = (branches < 0) | (branches >= len(lengths))
    if wrong.any():
        place = int(np.argmax(wrong))
        owner = int(np.searchsorted(starts + lengths, place, side="right"))
        raise ValueError(
            f"tree_from_paths wants branches from 0, fewer than the {len(lengths)} classes, but the path of class "
            f"{owner} holds {int(branches[place])}."
        )
    children, offsets = _grow(starts, lengths, branches)
    return SoftmaxTree(*renumber(children, offsets, preorder_numbers(children, offsets)))


def _grow(starts: Ints, lengths: Ints, branches: Ints) -> tuple[Ints, Ints]:
    """Return children and offsets, nodes numbered level by level."""
    n_classes = len(lengths)
    children: list[Ints] = []
    arities: list[Ints] = []
    # The classes whose paths reach below the last level, the node each has come to, and that level's first node.
    alive, nodes, first, level = np.arange(n_classes), np.zeros(n_classes, dtype=np.int64), 0, 0
    while len(alive):
        if (lengths[alive] == level).any():
            _refuse_beginning(starts, lengths, branches, alive, nodes, level)
        edges, of_class = np.unique(nodes * n_classes + branches[starts[alive] + level], return_inverse=True)
        parents, edge_branches = np.divmod(edges, n_classes)
        arity = np.bincount(parents - first)
        wanted = np.arange(len(edges)) - np.repeat(np.cumsum(arity) - arity, arity)
        if (edge_branches != wanted).any():
            place = int(np.argmax(edge_branches != wanted))
            _refuse_gap(starts, branches, int(alive[np.argmax(of_class == place)]), level, int(wanted[place]))
        ends = lengths[alive] == level + 1
        n_here = np.bincount(of_class, minlength=len(edges))
        is_leaf = np.zeros(len(edges), dtype=bool)
        is_leaf[of_class[ends]] = True
        if (is_leaf & (n_here > 1)).any():
            _refuse_beginning(starts, lengths, branches, alive, of_class, level + 1)
        first += len(arity)
        numbers = first + np.cumsum(~is_leaf) - 1
        numbers[of_class[ends]] = ~alive[ends]
        children.append(numbers)
        arities.append(arity)
        alive, nodes, level = alive[~ends], numbers[of_class[~ends]], level + 1
    return np.concatenate(children), np.append(0, np.cumsum(np.concatenate(arities)))


def _refuse_beginning(starts: Ints, lengths: Ints, branches: Ints, alive: Ints, places: Ints, length: int) -> None:
    """Raise ValueError for two classes at one place, one of which ends there."""
    for ending in np.flatnonzero(lengths[alive] == length).tolist():
        others = alive[(places == places[ending]) & (alive != alive[ending])]
        if len(others):
            first = int(alive[ending])
            path = branches[starts[first] : starts[first] + length].tolist()
            raise ValueError(
                f"tree_from_paths wants no path that is another's or its beginning, but the path of class {first}, "
                f"{_shown(path)}, is that of class {int(others[0])} or its beginning."
            )


def _refuse_gap(starts: Ints, branches: Ints, owner: int, level: int, branch: int) -> None:
    path = branches[starts[owner] : starts[owner] + level].tolist()
    raise ValueError(
        f"tree_from_paths wants the branches of an inner node to count up from 0, but the one at {_shown(path)}, "
        f"on the path of class {owner}, has no branch {branch}."
    )


def _shown(path: list[int]) -> str:
    return f"({', '.join(map(str, path[:20]))}{', ...' if len(path) > 20 else ''})"
