"""Trees of any shape."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from sklearn_hashnlp.trees import SoftmaxTree, tree_from_nested


def random_shape(n_classes: int, max_children: int, seed: int) -> SoftmaxTree:
    """Split shuffled classes into 2 to ``max_children`` parts, each of them again, down to single
    classes.
    """
    rng = random.Random(seed)

    def split(classes: list[int]) -> object:
        if len(classes) == 1:
            return classes[0]
        n_parts = rng.randint(2, max(min(len(classes), max_children), 2))
        ends = [0, *sorted(rng.sample(range(1, len(classes)), n_parts - 1)), len(classes)]
        return [split(classes[begin:end]) for begin, end in pairwise(ends)]

    return tree_from_nested(split(rng.sample(range(n_classes), n_classes)))


def chain(n_classes: int) -> SoftmaxTree:
    """Return the deepest tree: [0, [1, [2, ...]]]."""
    n_nodes = n_classes - 1
    children = [child for node in range(n_nodes) for child in (~node, node + 1)]
    children[-1] = ~(n_classes - 1)
    return SoftmaxTree(children, range(0, 2 * n_nodes + 1, 2))


TREES = st.builds(
    random_shape, st.integers(1, 30), st.sampled_from([2, 3, 7, 30]), st.integers(0, 99)
)
"""Any arities, any depths, one class too."""


@st.composite
def nested_trees(draw: st.DrawFn, max_classes: int = 30, max_arity: int = 5) -> Any:
    """Nested lists over the classes 0..V-1 in any order, every list of 2..max_arity."""
    n_classes = draw(st.integers(1, max_classes))
    row: list[Any] = draw(st.permutations(range(n_classes)))
    while len(row) > 1:
        arity = draw(st.integers(2, min(max_arity, len(row))))
        start = draw(st.integers(0, len(row) - arity))
        row = [*row[:start], row[start : start + arity], *row[start + arity :]]
    return row[0]


COUNTS = st.lists(st.integers(0, 20), min_size=1, max_size=30)
"""Class counts with zeros and ties."""
