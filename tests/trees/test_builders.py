"""Builders of trees against recursion, every merge, and the reference implementations; their counts
and names.
"""

from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp import trees
from sklearn_hashnlp.trees import (
    SoftmaxTree,
    balanced_tree,
    cluster_tree,
    complete_tree,
    huffman_tree,
    random_tree,
    tree_from_nested,
    two_level_tree,
)
from sklearn_hashnlp.trees._tree_builders import ClassTree, class_tree

from ..oracles.trees import balanced_lists, complete_path, huffman_cost, merged_neighbors
from ..random_trees import COUNTS

BUILDERS: dict[str, Callable[[Any], SoftmaxTree]] = {
    "balanced_tree": balanced_tree,
    "cluster_tree": lambda counts: cluster_tree(
        counts, np.eye(8)[: np.size(counts) if np.ndim(counts) else counts]
    ),
    "complete_tree": complete_tree,
    "huffman_tree": huffman_tree,
    "random_tree": random_tree,
    "two_level_tree": two_level_tree,
}


@pytest.mark.parametrize("name", BUILDERS)
def test_every_builder_takes_counts_or_a_number_of_classes(name: str) -> None:
    for n_classes in range(1, 9):
        for counts in (n_classes, np.zeros(n_classes), tuple(range(n_classes))):
            assert BUILDERS[name](counts).n_classes == n_classes


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize(
    ("counts", "error", "message"),
    [
        (0, ValueError, "counts must be the number of classes, 1 or more, got 0"),
        ([], ValueError, "counts must have one class or more, got an empty array"),
        ([1, -2], ValueError, r"at least 0, got -2\.0 for class 1"),
        ([np.nan, 2], ValueError, r"finite and .* got nan for class 0"),
        ([[1, 2]], TypeError, r"array of int64 with shape \(1, 2\)"),
        (["a", "b"], TypeError, r"array of <U1 with shape \(2,\)"),
        (2.5, TypeError, r"array of float64 with shape \(\)"),
    ],
)
def test_wrong_counts_are_refused(name: str, counts: Any, error: Any, message: str) -> None:
    builder = (
        BUILDERS[name] if name != "cluster_tree" else lambda wrong: cluster_tree(wrong, np.eye(2))
    )
    with pytest.raises(error, match=f"{name}: .*{message}"):
        builder(counts)


@pytest.mark.parametrize("builder", [balanced_tree, huffman_tree])
@pytest.mark.parametrize("arity", [1, 2.0, True, "sqrt"])
def test_wrong_arities_are_refused(builder: Any, arity: Any) -> None:
    with pytest.raises(
        ValueError,
        match=f"{builder.__name__}: arity must be an integer of at least 2, got {arity!r}",
    ):
        builder(5, arity)


@pytest.mark.parametrize("counts", [np.array([9, 1, 4, 1, 30, 2, 2]), 7], ids=["counts", "number"])
@pytest.mark.parametrize("name", get_args(ClassTree))
def test_a_tree_by_name_is_that_of_the_builder(name, counts):
    options = {"random_state": 3} if name == "random" else {}
    assert class_tree(name, counts, seed=3, caller="Someone") == getattr(trees, f"{name}_tree")(
        counts, **options
    )


def test_a_given_tree_must_have_a_class_for_each_label():
    tree = complete_tree(7)
    assert (
        class_tree(tree, np.ones(7), seed=0, caller="Someone")
        is class_tree(tree, 7, seed=0, caller="S")
        is tree
    )
    for counts in (np.ones(6), 8):
        with pytest.raises(
            ValueError, match="The 'tree' parameter of Someone must have one class for each label"
        ):
            class_tree(tree, counts, seed=0, caller="Someone")


@given(st.integers(1, 200), st.integers(2, 9))
def test_a_balanced_tree_distributes_its_classes_evenly(n_classes: int, arity: int) -> None:
    tree = balanced_tree(n_classes, arity)
    assert tree == tree_from_nested(balanced_lists(0, n_classes, arity))
    assert arity ** (tree.max_depth - 1) < n_classes <= arity**tree.max_depth


@pytest.mark.parametrize("n_classes", [1, 2, 3, 7, 8, 10, 13, 10000])
def test_a_complete_tree_has_the_paths_of_paddle(n_classes: int) -> None:
    tree = complete_tree(n_classes)
    assert tree.is_binary
    assert tree == complete_tree(np.arange(n_classes)) == complete_tree(np.int64(n_classes))
    offsets, nodes, branches = tree.paths()
    for c in range(n_classes):
        row = slice(offsets[c], offsets[c + 1])
        assert (nodes[row][::-1].tolist(), branches[row][::-1].tolist()) == complete_path(
            c, n_classes
        )


@given(st.integers(2, 100), st.integers(0, 2**32))
def test_a_random_tree_merges_neighbors_after_a_shuffle(n_classes: int, seed: int) -> None:
    shuffled = np.random.default_rng(seed).permutation(n_classes).tolist()
    assert random_tree(n_classes, random_state=seed) == tree_from_nested(merged_neighbors(shuffled))


def test_the_seed_of_a_random_tree() -> None:
    tree = random_tree(50, random_state=3)
    assert random_tree(50, random_state=np.random.default_rng(3)) == tree
    assert random_tree(50) != random_tree(50)
    legacy = [random_tree(50, random_state=np.random.RandomState(3)) for _ in range(2)]
    assert legacy[0] == legacy[1]
    with pytest.raises(TypeError, match=r"random_tree: random_state must be None, .* got 'three'"):
        random_tree(5, random_state="three")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"random_state must be at least 0, got -1"):
        random_tree(5, random_state=-1)


@given(COUNTS, st.integers(2, 6))
def test_a_huffman_tree_has_the_least_expected_length(counts: list[int], arity: int) -> None:
    tree = huffman_tree(counts, arity)
    assert (np.array(counts) * tree.depths).sum() == huffman_cost(counts, arity)
    assert tree.arities.max(initial=0) <= arity
    assert (tree.arities < arity).sum() <= 1


@given(COUNTS)
def test_nodes_of_a_huffman_tree_go_from_frequent_to_rare(counts: list[int]) -> None:
    tree = huffman_tree(counts)
    below = np.zeros(tree.n_nodes)
    for c, class_count in enumerate(counts):
        below[tree.path(c)[0]] += class_count
    assert (np.diff(below) <= 0).all()


def test_equal_counts_keep_the_paths_of_a_huffman_tree_short() -> None:
    for n_classes in (8, 11):
        for counts in (n_classes, np.zeros(n_classes)):
            assert huffman_tree(counts).max_depth == int(np.ceil(np.log2(n_classes)))
    assert huffman_tree([4, 4, 4, 4]).to_nested() == huffman_tree(4).to_nested() == [[3, 2], [1, 0]]


@given(COUNTS, st.data())
def test_groups_of_a_two_level_tree_are_runs_by_frequency(
    counts: list[int], data: st.DataObject
) -> None:
    n_groups = data.draw(st.none() | st.integers(1, len(counts)))
    tree = two_level_tree(counts, n_groups)
    assert tree.max_depth <= 2
    if n_groups is not None and n_groups > 1:
        assert (
            1 <= tree.arities[0] <= max(n_groups, 2)
            if tree.n_nodes == 1
            else tree.arities[0] <= n_groups
        )
    nested = tree.to_nested()
    groups = [
        group if isinstance(group, list) else [group]
        for group in (nested if tree.n_nodes else [nested])
    ]
    assert [c for group in groups for c in group] == sorted(
        range(len(counts)), key=lambda c: (-counts[c], c)
    )


def test_groups_of_a_two_level_tree_have_nearly_equal_sums_of_square_roots() -> None:
    counts = 10**7 // np.arange(1, 2001)
    groups = [
        group if isinstance(group, list) else [group]
        for group in two_level_tree(counts, 40).to_nested()
    ]
    sums = [np.sqrt(counts[group]).sum() for group in groups]
    assert max(sums) - min(sums) <= 2 * np.sqrt(counts[0])
    assert len(groups) == 40


def test_a_two_level_tree_has_the_fewest_scores_by_default() -> None:
    assert two_level_tree(10_000).arities.tolist() == [100] * 101
    counts = 10**7 // np.arange(1, 2001)
    best = min(
        two_level_tree(counts, n_groups).expected_cost(counts) for n_groups in range(5, 80, 3)
    )
    assert two_level_tree(counts).expected_cost(counts) <= 1.02 * best
    assert best < 0.8 * two_level_tree(2000).expected_cost(counts)  # groups of equal size cost more


def test_single_classes_of_a_two_level_tree_are_children_of_the_root() -> None:
    assert two_level_tree([100, 1, 1, 1, 1], 3).to_nested() == [0, [1, 2, 3, 4]]
    assert two_level_tree(4, 4).to_nested() == two_level_tree(4, 1).to_nested() == [0, 1, 2, 3]


@pytest.mark.parametrize("n_groups", [0, 4, 2.5, True])
def test_wrong_numbers_of_groups_are_refused(n_groups: Any) -> None:
    with pytest.raises(
        ValueError, match=rf"two_level_tree: n_groups must be in 1\.\.3, .* got {n_groups}"
    ):
        two_level_tree(3, n_groups)
