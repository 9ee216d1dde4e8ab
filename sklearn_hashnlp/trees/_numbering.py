"""Numbers of inner nodes: sums along paths to the root, pre-order, and a change of numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def edge_parents(offsets: Ints) -> Ints:
    """Return the inner node that each edge hangs from."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def node_parents(children: Ints, offsets: Ints) -> Ints:
    """Return the parent of each inner node, -1 for the root."""
    parents = np.full(len(offsets) - 1, -1, dtype=np.int64)
    inner = children >= 0
    parents[children[inner]] = edge_parents(offsets)[inner]
    return parents


def sum_to_root(parents: Ints, values: Ints) -> Ints:
    """Add up a value over each inner node and all nodes above it."""
    n_nodes = len(parents)
    totals = np.append(values, 0)
    above = np.append(np.where(parents < 0, n_nodes, parents), n_nodes)
    while (above < n_nodes).any():
        totals += totals[above]
        above = above[above]
    return totals[:-1]


def preorder_numbers(children: Ints, offsets: Ints) -> Ints:
    """Return the number of each inner node in pre-order: a node before its children, the first child first."""
    parents = node_parents(children, offsets)
    sizes = _subtree_sizes(parents)
    inner = children >= 0
    edge_sizes = np.zeros_like(children)
    edge_sizes[inner] = sizes[children[inner]]
    before = np.cumsum(edge_sizes) - edge_sizes
    steps = np.zeros_like(parents)
    steps[children[inner]] = (1 + before - before[offsets[edge_parents(offsets)]])[inner]
    return sum_to_root(parents, steps)


def renumber(children: Ints, offsets: Ints, numbers: Ints) -> tuple[Ints, Ints]:
    """Return `children` and `offsets` of the same tree where node i has the number ``numbers[i]``."""
    arities = np.empty(len(numbers), dtype=np.int64)
    arities[numbers] = np.diff(offsets)
    new_offsets = np.append(0, np.cumsum(arities))
    parents = edge_parents(offsets)
    places = new_offsets[numbers[parents]] + np.arange(len(children)) - offsets[parents]
    new_children = np.empty_like(children)
    new_children[places] = children
    inner = children >= 0
    new_children[places[inner]] = numbers[children[inner]]
    return new_children, new_offsets


def _subtree_sizes(parents: Ints) -> Ints:
    depths = sum_to_root(parents, np.ones_like(parents))
    order = np.argsort(depths, kind="stable")
    sizes = np.ones_like(parents)
    levels = np.split(order, np.flatnonzero(np.diff(depths[order])) + 1)
    for nodes in reversed(levels[1:]):
        np.add.at(sizes, parents[nodes], sizes[nodes])
    return sizes
