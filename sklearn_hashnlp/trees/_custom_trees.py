"""Trees from nested lists and from paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain
from operator import index
from typing import Any

import numpy as np

from sklearn_hashnlp.trees._arrays import Ints, renumber
from sklearn_hashnlp.trees._softmax_tree import SoftmaxTree


def tree_from_nested(
    nested: Sequence[Any] | int, names: Iterable[Hashable] | None = None
) -> SoftmaxTree:
    """Build a tree from nested lists of classes or their names.

    Inner nodes are numbered in pre-order: a list before the lists inside it, starting with the
    first.

    Parameters
    ----------
    nested : list, tuple, int or str
        A list is an inner node and an int a class; every class 0..V-1 occurs once. The int 0 alone
        is the tree of one class. Strings are names of classes.
    names : iterable, default=None
        The names of classes 0, 1, and so on, each of which is a leaf. None sorts the strings, like
        a classifier's ``classes_``. For a language model the names are
        ``list(model.vocabulary_)[:-1]``.

    Returns
    -------
    SoftmaxTree
        The tree; its :meth:`~SoftmaxTree.to_nested` returns the lists.

    Raises
    ------
    ValueError
        If a class is missing or occurs twice, a list has fewer than two items, or a leaf is not in
        ``names``.

    Examples
    --------
    >>> from sklearn_hashnlp.trees import tree_from_nested
    >>> tree_from_nested([["truck", "car"], "cat"]).to_nested()
    [[2, 0], 1]
    >>> names = ["cat", "truck", "car"]
    >>> tree_from_nested([["truck", "car"], "cat"], names=names).to_nested()
    [[1, 2], 0]
    """
    blocks: list[list[int]] = []
    leaves: list[Any] = []
    waiting: list[tuple[int, Any]] = [(-1, nested)]
    while waiting:
        parent, item = waiting.pop()
        if isinstance(item, (list, tuple)):
            number = len(blocks)
            blocks.append([])
            waiting.extend((number, inner) for inner in reversed(item))
        else:
            number = ~len(leaves)
            leaves.append(item)
        if parent >= 0:
            blocks[parent].append(number)
    classes = np.array(_classes_of(leaves, names), dtype=np.int64)
    if not blocks and classes[0] != 0:
        raise ValueError(
            f"tree_from_nested: the class of a tree of one class must be 0, got {nested}."
        )
    flat = np.array([child for block in blocks for child in block], dtype=np.int64)
    is_leaf = flat < 0
    flat[is_leaf] = ~classes[~flat[is_leaf]]
    return SoftmaxTree(
        flat, np.append(0, np.cumsum([len(block) for block in blocks], dtype=np.int64))
    )


def _classes_of(leaves: list[Any], names: Iterable[Hashable] | None) -> list[int]:
    """Return the classes of leaves, given as integers or names."""
    if names is not None:
        return _classes_of_names(leaves, list(names))
    if leaves and all(isinstance(leaf, str) for leaf in leaves):
        return _classes_of_names(leaves, sorted(set(leaves)))
    for leaf in leaves:
        if not isinstance(leaf, (int, np.integer)) or isinstance(leaf, bool) or leaf < 0:
            raise TypeError(
                "tree_from_nested: items must be lists, tuples or classes, which are all strings "
                f"or all integers of at least 0, got {leaf!r} ({type(leaf).__name__})."
            )
    return [int(leaf) for leaf in leaves]


def _classes_of_names(leaves: list[Any], names: list[Hashable]) -> list[int]:
    class_of = {name: number for number, name in enumerate(names)}
    for kind, items in (("names", names), ("leaves", leaves)):
        repeated = next((item for item, count in Counter(items).items() if count > 1), None)
        if repeated is not None:
            raise ValueError(f"tree_from_nested: {repeated!r} occurs twice among the {kind}.")
    for leaf in leaves:
        if leaf not in class_of:
            raise ValueError(
                f"tree_from_nested: the leaf {leaf!r} is not among the {len(names)} names."
            )
    missing = class_of.keys() - set(leaves)
    if missing:
        raise ValueError(
            f"tree_from_nested: the name {min(missing, key=class_of.__getitem__)!r} is no leaf."
        )
    return [class_of[leaf] for leaf in leaves]


def tree_from_paths(paths: Sequence[Sequence[int]]) -> SoftmaxTree:
    """Build a tree from the path of each class, the branches from the root to it.

    Inner nodes are numbered in pre-order: a node before its children, starting with the subtree of
    the first child.

    Parameters
    ----------
    paths : sequence of sequences of int
        The branches of class 0, 1, ..., V - 1, from the root down: 0 is a node's first child, 1 its
        second, and so on. ``[()]`` is the tree of one class.

    Returns
    -------
    SoftmaxTree

    Raises
    ------
    ValueError
        If two classes have the same path, a path is a prefix of another, or an inner node lacks a
        branch.

    Examples
    --------
    >>> from sklearn_hashnlp.trees import tree_from_paths
    >>> tree_from_paths([(0, 1), (1,), (0, 0)]).to_nested()
    [[2, 0], 1]
    """
    lengths = np.fromiter((len(path) for path in paths), dtype=np.int64, count=len(paths))
    if not len(lengths):
        raise ValueError(
            "tree_from_paths: paths must have the path of one class or more, got none."
        )
    branches = np.fromiter(
        map(index, chain.from_iterable(paths)), dtype=np.int64, count=int(lengths.sum())
    )
    if len(lengths) == 1 and not len(branches):
        return SoftmaxTree([], [0])
    starts = np.cumsum(lengths) - lengths
    wrong = (branches < 0) | (branches >= len(lengths))
    if wrong.any():
        edge = int(np.argmax(wrong))
        owner = int(np.searchsorted(starts + lengths, edge, side="right"))
        raise ValueError(
            f"tree_from_paths: branches must be in 0..{len(lengths) - 1}, below the number of "
            f"classes, got {int(branches[edge])} in the path of class {owner}."
        )
    children, offsets = _grow(starts, lengths, branches)
    return SoftmaxTree(*renumber(children, offsets))


def _grow(starts: Ints, lengths: Ints, branches: Ints) -> tuple[Ints, Ints]:
    """Return children and offsets, with nodes numbered level by level."""
    n_classes = len(lengths)
    children: list[Ints] = []
    arities: list[Ints] = []
    # The classes with longer paths, the current node of each, and the first node of the level.
    alive = np.arange(n_classes)
    nodes = np.zeros(n_classes, dtype=np.int64)
    first = 0
    level = 0
    while len(alive):
        if (lengths[alive] == level).any():
            _refuse_prefix(starts, lengths, branches, alive, nodes, level)
        edges, of_class = np.unique(
            nodes * n_classes + branches[starts[alive] + level], return_inverse=True
        )
        parents, edge_branches = np.divmod(edges, n_classes)
        arity = np.bincount(parents - first)
        wanted = np.arange(len(edges)) - np.repeat(np.cumsum(arity) - arity, arity)
        if (edge_branches != wanted).any():
            edge = int(np.argmax(edge_branches != wanted))
            owner = int(alive[np.argmax(of_class == edge)])
            path = branches[starts[owner] : starts[owner] + level].tolist()
            raise ValueError(
                "tree_from_paths: the branches of an inner node must count up from 0, but the "
                f"node at {_format(path)}, on the path of class {owner}, has no branch "
                f"{int(wanted[edge])}."
            )
        ends = lengths[alive] == level + 1
        n_here = np.bincount(of_class, minlength=len(edges))
        is_leaf = np.zeros(len(edges), dtype=bool)
        is_leaf[of_class[ends]] = True
        if (is_leaf & (n_here > 1)).any():
            _refuse_prefix(starts, lengths, branches, alive, of_class, level + 1)
        first += len(arity)
        child_values = first + np.cumsum(~is_leaf) - 1
        child_values[of_class[ends]] = ~alive[ends]
        children.append(child_values)
        arities.append(arity)
        alive = alive[~ends]
        nodes = child_values[of_class[~ends]]
        level = level + 1
    return np.concatenate(children), np.append(0, np.cumsum(np.concatenate(arities)))


def _refuse_prefix(
    starts: Ints, lengths: Ints, branches: Ints, alive: Ints, nodes_reached: Ints, length: int
) -> None:
    """Raise a ValueError for two classes at a node at which a path ends."""
    for ending in np.flatnonzero(lengths[alive] == length).tolist():
        others = alive[(nodes_reached == nodes_reached[ending]) & (alive != alive[ending])]
        if len(others):
            first = int(alive[ending])
            path = branches[starts[first] : starts[first] + length].tolist()
            raise ValueError(
                f"tree_from_paths: no path may be another's or its prefix, got {_format(path)} of "
                f"class {first}, which is the path of class {int(others[0])} or its prefix."
            )


def _format(path: list[int]) -> str:
    return f"({', '.join(map(str, path[:20]))}{', ...' if len(path) > 20 else ''})"
