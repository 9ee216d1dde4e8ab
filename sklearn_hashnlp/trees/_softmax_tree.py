"""The tree of a hierarchical softmax."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sklearn_hashnlp.trees._arrays import (
    Ints,
    check_tree,
    class_counts,
    edge_parents,
    integer_array,
    sum_to_root,
)

_MAX_LINES_OF_HTML = 100


class DepthStatistics(NamedTuple):
    """Statistics of the path lengths of a tree.

    Attributes
    ----------
    min, max : int
        The shortest and the longest path.
    median, mean : float
        Of the classes with equal weights.
    expected : float
        Mean weighted by the class counts; without counts the mean.
    """

    min: int
    median: float
    mean: float
    max: int
    expected: float


@dataclass(frozen=True, init=False, repr=False, eq=False)
class SoftmaxTree:
    """A tree with classes as leaves; each inner node predicts one of its children.

    The probability of a class is the product of the probabilities of the branches on its path from
    the root [1]_. An inner node with two children has a sigmoid of one score, the log-odds of the
    right child, child 1; a node with more children has a softmax over one score per child. The tree
    is immutable.

    Parameters
    ----------
    children : array-like of int, shape (n_edges,)
        The children of node 0, of node 1, and so on, concatenated. A value >= 0 is an inner node,
        with a number larger than its parent's; a value < 0 is the class ``~value``, that is
        ``-1 - value``.
    offsets : array-like of int, shape (n_nodes + 1,)
        The children of node i are ``children[offsets[i] : offsets[i + 1]]``; node 0 is the root.
        ``[0]`` is the tree of one class, which has no inner node.

    See Also
    --------
    complete_tree, balanced_tree, random_tree, huffman_tree, two_level_tree, cluster_tree : Build
        trees of any size.
    tree_from_nested, tree_from_paths : Build custom trees.

    References
    ----------
    .. [1] Morin & Bengio (2005). Hierarchical probabilistic neural network language model. AISTATS.

    Examples
    --------
    >>> from sklearn_hashnlp.trees import SoftmaxTree
    >>> tree = SoftmaxTree(children=[1, ~2, ~0, ~1], offsets=[0, 2, 4])
    >>> tree
    SoftmaxTree(n_classes=3, n_nodes=2, max_depth=2, binary)
    >>> print(tree.draw(names=["cat", "dog", "tree"]))
    node 0
    ├── node 1
    │   ├── cat
    │   └── dog
    └── tree
    """

    children: Ints
    offsets: Ints

    def __init__(self, children: ArrayLike, offsets: ArrayLike) -> None:
        object.__setattr__(self, "children", integer_array(children, "children"))
        object.__setattr__(self, "offsets", integer_array(offsets, "offsets"))
        check_tree(self.children, self.offsets)

    @property
    def n_nodes(self) -> int:
        """Number of inner nodes."""
        return len(self.offsets) - 1

    @property
    def n_classes(self) -> int:
        """Number of classes V."""
        return len(self.children) - self.n_nodes + 1

    @property
    def n_scores(self) -> int:
        """Number of scores of all inner nodes, the rows of a layer's weight."""
        return int(self.score_offsets[-1])

    @property
    def is_binary(self) -> bool:
        """True if every inner node has two children."""
        return len(self.children) == 2 * self.n_nodes

    @property
    def max_depth(self) -> int:
        """Number of inner nodes on the longest path."""
        return int(self.depths.max())

    @cached_property
    def arities(self) -> Ints:
        """Number of children of each inner node, int64 of shape (n_nodes,)."""
        return _read_only(np.diff(self.offsets))

    @cached_property
    def score_offsets(self) -> Ints:
        """Start of the scores of each inner node, int64 of shape (n_nodes + 1,).

        Node i has the rows ``score_offsets[i] : score_offsets[i + 1]``: one if it has two children,
        else one per child.
        """
        return _read_only(np.append(0, np.cumsum(np.where(self.arities == 2, 1, self.arities))))

    @cached_property
    def node_parent(self) -> Ints:
        """Parent of each inner node, int64 of shape (n_nodes,); -1 for the root."""
        return self._below(edge_parents(self.offsets), classes=False)

    @cached_property
    def node_branch(self) -> Ints:
        """Index of each inner node among siblings, int64 of shape (n_nodes,); -1 for the root."""
        return self._below(self._edge_branches, classes=False)

    @cached_property
    def class_parent(self) -> Ints:
        """Parent of each class, int64 of shape (V,); -1 for the tree of one class."""
        return self._below(edge_parents(self.offsets), classes=True)

    @cached_property
    def class_branch(self) -> Ints:
        """Index of each class among siblings, int64 of shape (V,); -1 in the tree of one class."""
        return self._below(self._edge_branches, classes=True)

    @cached_property
    def depths(self) -> Ints:
        """Number of inner nodes on the path of each class, int64 of shape (V,)."""
        return _read_only(self._path_sums(np.ones(self.n_nodes, dtype=np.int64)))

    @cached_property
    def digest(self) -> int:
        """64 bits of the tree's SHA-256, a signed integer, equal for equal trees on any machine."""
        sha = hashlib.sha256()
        for array in (self.offsets, self.children):
            sha.update(array.astype("<i8").tobytes())
        return int.from_bytes(sha.digest()[:8], "little", signed=True)

    def path(self, class_index: int) -> tuple[Ints, Ints]:
        """Return the path from the root to a class.

        Returns
        -------
        nodes : ndarray of int64, shape (depth,)
            The inner nodes on the path, starting with the root.
        branches : ndarray of int64, shape (depth,)
            Index of the child at each node.
        """
        if not 0 <= class_index < self.n_classes:
            raise IndexError(
                f"SoftmaxTree.path: class_index must be in 0..{self.n_classes - 1}, got "
                f"{class_index}."
            )
        nodes, branches = [], []
        node, branch = int(self.class_parent[class_index]), int(self.class_branch[class_index])
        while node >= 0:
            nodes.append(node)
            branches.append(branch)
            node, branch = int(self.node_parent[node]), int(self.node_branch[node])
        return np.array(nodes[::-1], dtype=np.int64), np.array(branches[::-1], dtype=np.int64)

    def paths(self) -> tuple[Ints, Ints, Ints]:
        """Return the paths from the root to all classes.

        Returns
        -------
        offsets : ndarray of int64, shape (V + 1,)
            The path of class c is ``offsets[c] : offsets[c + 1]`` of the other two.
        nodes : ndarray of int64
            The inner nodes on each path, starting with the root.
        branches : ndarray of int64
            Index of the child at each node.
        """
        offsets = np.append(0, np.cumsum(self.depths))
        nodes = np.empty(offsets[-1], dtype=np.int64)
        branches = np.empty(offsets[-1], dtype=np.int64)
        node = self.class_parent
        branch = self.class_branch
        indices = offsets[1:] - 1
        while True:
            below_root = node >= 0
            node = node[below_root]
            branch = branch[below_root]
            indices = indices[below_root]
            if not len(node):
                return offsets, nodes, branches
            nodes[indices], branches[indices] = node, branch
            node, branch, indices = self.node_parent[node], self.node_branch[node], indices - 1

    def expected_depth(self, counts: ArrayLike) -> float:
        """Return the mean number of inner nodes on a path, weighted by class counts of shape (V,).

        For a binary tree, this is the number of sigmoids per probability.
        """
        return self._average(self.depths, counts, "expected_depth")

    def expected_cost(self, counts: ArrayLike) -> float:
        """Return the mean number of scores on a path, weighted by class counts of shape (V,).

        This is the mean number of rows of a layer's weight that a training sample updates: one for
        a node with two children, one per child for any other node. For a flat tree it is V.
        """
        return self._average(self._path_sums(np.diff(self.score_offsets)), counts, "expected_cost")

    def depth_statistics(self, counts: ArrayLike | None = None) -> DepthStatistics:
        """Return the :class:`DepthStatistics` of the paths; ``counts`` weights the classes."""
        mean = float(self.depths.mean())
        expected = mean if counts is None else self.expected_depth(counts)
        return DepthStatistics(
            int(self.depths.min()),
            float(np.median(self.depths)),
            mean,
            int(self.depths.max()),
            expected,
        )

    def draw(self, names: Sequence[str] | None = None, *, max_lines: int | None = 1000) -> str:
        """Draw the tree as text, a line per inner node or class, children below their parent.

        Parameters
        ----------
        names : sequence of str, default=None
            Names of the V classes; by default "class 0" and so on.
        max_lines : int, default=1000
            Maximum number of lines, followed by the number of omitted lines; None is unlimited.
        """
        if names is not None and len(names) != self.n_classes:
            raise ValueError(
                f"SoftmaxTree.draw: names must have one name for each of {self.n_classes} classes, "
                f"got {len(names)}."
            )

        def name(child: int) -> str:
            if child >= 0:
                return f"node {child}"
            return f"class {~child}" if names is None else str(names[~child])

        lines: list[str] = []
        n_lines = self.n_nodes + self.n_classes
        limit = n_lines if max_lines is None else max_lines
        # A stack of lines to write: the bars before each, its corner, and the child.
        waiting = [("", "", 0 if self.n_nodes else ~0)]
        while waiting and len(lines) < limit:
            bars, corner, child = waiting.pop()
            lines.append(f"{bars}{corner}{name(child)}")
            if child >= 0:
                bars += {"": "", "├── ": "│   ", "└── ": "    "}[corner]
                below = self.children[self.offsets[child] : self.offsets[child + 1]].tolist()
                waiting.append((bars, "└── ", below[-1]))
                waiting.extend((bars, "├── ", other) for other in below[-2::-1])
        if len(lines) < n_lines:
            lines.append(f"... and {n_lines - len(lines):,} more lines")
        return "\n".join(lines)

    def to_nested(self, node: int = 0) -> Any:
        """Return nested lists of classes below an inner node, as for :func:`tree_from_nested`.

        There is a list for each inner node, an int for each class; the int 0 for the tree of one
        class.
        """
        if self.n_classes == 1 and node == 0:
            return 0
        if not 0 <= node < self.n_nodes:
            raise IndexError(
                f"SoftmaxTree.to_nested: node must be an inner node in 0..{self.n_nodes - 1}, got "
                f"{node}."
            )
        children, offsets = self.children.tolist(), self.offsets.tolist()
        lists: list[list[Any]] = [[] for _ in range(self.n_nodes)]
        for number, inside in enumerate(lists):
            below = children[offsets[number] : offsets[number + 1]]
            inside.extend(lists[child] if child >= 0 else ~child for child in below)
        return lists[node]

    def to_arrays(self) -> dict[str, Ints]:
        """Return a dict of the two arrays that define the tree, ``children`` and ``offsets``."""
        return {"children": self.children, "offsets": self.offsets}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> SoftmaxTree:
        """Build a tree from the result of :meth:`to_arrays`; other arrays are ignored."""
        missing = [name for name in ("children", "offsets") if name not in arrays]
        if missing:
            raise ValueError(
                f"SoftmaxTree.from_arrays: arrays must have children and offsets, but {missing[0]} "
                f"is not among {sorted(arrays)}."
            )
        return cls(arrays["children"], arrays["offsets"])

    def __repr__(self) -> str:
        kind = "binary" if self.is_binary else f"max_arity={int(self.arities.max())}"
        return (
            f"SoftmaxTree(n_classes={self.n_classes}, n_nodes={self.n_nodes}, "
            f"max_depth={self.max_depth}, {kind})"
        )

    def _repr_html_(self) -> str:
        drawing = self.draw(max_lines=_MAX_LINES_OF_HTML)
        return f"<div>{escape(repr(self))}</div><pre>{escape(drawing)}</pre>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SoftmaxTree):
            return NotImplemented
        return np.array_equal(self.children, other.children) and np.array_equal(
            self.offsets, other.offsets
        )

    def __hash__(self) -> int:
        return hash((self.children.tobytes(), self.offsets.tobytes()))

    def __reduce__(self) -> tuple[type[SoftmaxTree], tuple[Ints, Ints]]:
        # Derived arrays are not pickled.
        return SoftmaxTree, (self.children, self.offsets)

    @property
    def _edge_branches(self) -> Ints:
        return np.arange(len(self.children)) - self.offsets[edge_parents(self.offsets)]

    def _below(self, of_edges: Ints, *, classes: bool) -> Ints:
        """Return the value of the edge above each class or inner node; -1 if there is none."""
        numbers = ~self.children if classes else self.children
        is_kind = numbers >= 0
        values = np.full(self.n_classes if classes else self.n_nodes, -1, dtype=np.int64)
        values[numbers[is_kind]] = of_edges[is_kind]
        return _read_only(values)

    def _path_sums(self, values: Ints) -> Ints:
        if self.n_classes == 1:
            return np.zeros(1, dtype=np.int64)
        return sum_to_root(self.node_parent, values)[self.class_parent]

    def _average(self, values: Ints, counts: ArrayLike, method: str) -> float:
        who = f"SoftmaxTree.{method}"
        weights = class_counts(np.atleast_1d(np.asarray(counts)), who)
        if len(weights) != self.n_classes or not weights.any():
            raise ValueError(
                f"{who}: counts must be one for each of {self.n_classes} classes and not all zero, "
                f"got {len(weights)} with the sum {weights.sum():g}."
            )
        return float(weights @ values / weights.sum())


def _read_only(array: Ints) -> Ints:
    array.setflags(write=False)
    return array
