"""Trees of clusters: similar classes share their path, and no cluster grows too large."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sklearn_hashnlp.trees import cluster_tree, huffman_tree
from sklearn_hashnlp.trees._balanced_kmeans import balanced_k_means, exchange

from ..oracles.trees import clustering_loss
from ..random_trees import COUNTS


def blobs(n_blobs: int, size: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Vectors of far apart groups, shuffled, and the group of each."""
    generator = np.random.default_rng(seed)
    labels = generator.permutation(np.repeat(np.arange(n_blobs), size))
    centers = generator.normal(size=(n_blobs, 8)) * 10
    return centers[labels] + generator.normal(size=(len(labels), 8)) * 0.1, labels


def groups_below_root(tree: Any) -> list[list[int]]:
    def leaves(item: Any) -> list[int]:
        return [c for child in item for c in leaves(child)] if isinstance(item, list) else [item]

    return [leaves(item) for item in tree.to_nested()]


@given(st.integers(2, 8), st.integers(1, 6), st.integers(0, 99))
def test_no_cluster_outgrows_its_capacity(n_clusters: int, size: int, seed: int) -> None:
    generator, ones = np.random.default_rng(seed), np.ones(n_clusters * size)
    vectors = np.exp(generator.normal(size=(len(ones), 3))).astype(np.float32)
    labels = generator.permutation(np.repeat(np.arange(n_clusters), size))
    labels = balanced_k_means(vectors, ones.astype(np.float32), ones, labels, size + 1.0)
    sizes = np.bincount(labels, minlength=n_clusters)
    assert len(sizes) == n_clusters
    assert sizes.sum() == len(ones)
    assert sizes.max() <= size + 1


@given(
    st.integers(2, 5),
    st.integers(1, 7),
    st.sampled_from([Fraction(0), Fraction(1, 64), Fraction(1)]),
    st.integers(0, 99),
)
@settings(max_examples=40)
def test_no_move_of_one_class_lowers_the_loss(
    n_clusters: int, n_more: int, price: Fraction, seed: int
) -> None:
    generator, n_rows = np.random.default_rng(seed), n_clusters + n_more
    vectors, weights = generator.integers(-9, 9, (n_rows, 2)), generator.integers(1, 20, n_rows)
    start = generator.permutation(np.arange(n_rows) % n_clusters)

    def loss(labels: Any) -> Fraction:
        return clustering_loss(vectors.tolist(), weights.tolist(), list(labels), price)

    labels, previous = (
        exchange(vectors.astype(np.float32), weights.astype(np.float32), start, float(price)),
        start,
    )
    assert set(labels) == set(start)  # no cluster is empty
    assert loss(labels) <= loss(start)
    while (labels != previous).any():
        previous = labels
        labels = exchange(
            vectors.astype(np.float32), weights.astype(np.float32), labels, float(price)
        )
    moved = [
        np.where(np.arange(n_rows) == row, label, labels)
        for row in range(n_rows)
        for label in range(n_clusters)
    ]
    tolerance = loss(labels) / 10**9
    assert all(
        loss(others) >= loss(labels) - tolerance for others in moved if set(others) == set(labels)
    )


def test_rare_classes_share_a_large_cluster_at_the_lowest_cost() -> None:
    generator = np.random.default_rng(0)
    vectors, counts = generator.normal(size=(400, 6)), 10**6 // np.arange(1, 401) ** 2
    by_size, by_cost = (
        cluster_tree(counts, vectors, arity=(40,), balance=balance, random_state=0)
        for balance in ("size", "cost")
    )

    def scatter(tree: Any) -> float:
        groups = groups_below_root(tree)
        means = [np.average(vectors[group], axis=0, weights=counts[group]) for group in groups]
        return sum(
            float(counts[g] @ ((vectors[g] - m) ** 2).sum(axis=1))
            for g, m in zip(groups, means, strict=True)
        )

    assert by_cost.max_depth == 2
    assert by_cost.arities[0] == 40
    assert by_cost.arities[1:].max() > by_size.arities[1:].max() == 15  # 1.5 times the mean
    assert by_cost.depths[0] == 1
    assert scatter(by_cost) < 0.8 * scatter(by_size)
    assert by_cost.expected_cost(counts) < 1.1 * by_size.expected_cost(counts)


@pytest.mark.parametrize("slack", [0.0, 0.1, 0.5])
def test_two_clusters_are_found(slack: float) -> None:
    vectors, labels = blobs(2, 30)
    halves = groups_below_root(cluster_tree(60, vectors, slack=slack, random_state=0))
    assert [set(labels[half]) for half in halves] in ([{0}, {1}], [{1}, {0}])


def test_slack_follows_the_gap() -> None:
    vectors, labels = blobs(2, 30)
    keep = np.flatnonzero((labels == 0) | (np.arange(60) % 2 == 0))
    vectors, labels = vectors[keep], labels[keep]
    share = (labels == 1).mean()
    assert 0.3 < share < 0.4
    halves = groups_below_root(cluster_tree(len(labels), vectors, slack=0.5, random_state=0))
    assert sorted(map(len, halves)) == sorted([(labels == 0).sum(), (labels == 1).sum()])
    even = groups_below_root(cluster_tree(len(labels), vectors, slack=0, random_state=0))
    assert abs(len(even[0]) - len(even[1])) <= 1


@pytest.mark.parametrize("arity", [9, "sqrt"])
def test_many_clusters_are_found(arity: Any) -> None:
    vectors, labels = blobs(9, 9)
    groups = groups_below_root(cluster_tree(81, vectors, arity=arity, slack=0.1, random_state=0))
    assert len(groups) == 9
    assert all(len(set(labels[group])) == 1 for group in groups)


def test_two_levels_are_bounded() -> None:
    generator = np.random.default_rng(0)
    vectors = 3 + np.exp(generator.normal(size=(900, 5)))
    vectors[500:] = 0  # nothing is known of these
    counts = np.where(np.arange(900) < 500, 1000 // (1 + np.arange(900)), 0)
    tree = cluster_tree(counts, vectors, arity="sqrt", random_state=0)
    assert tree.max_depth == 2
    assert 20 <= tree.arities[0] <= 30
    assert tree.arities[1:].max() <= 1.5 * 30
    unknown = [np.mean(np.array(group) >= 500) for group in groups_below_root(tree)]
    assert np.mean([share in (0, 1) for share in unknown]) > 0.8


@given(
    COUNTS,
    st.sampled_from([2, 3, 4, 7, "sqrt"]),
    st.sampled_from(["auto", "counts", "size", "cost"]),
    st.data(),
)
@settings(max_examples=100)
def test_any_tree_is_a_tree(
    counts: list[int], arity: Any, balance: Any, data: st.DataObject
) -> None:
    n_classes = len(counts)
    leaf_size = data.draw(st.none() | st.integers(1, 40))
    slack = data.draw(st.sampled_from([0.0, 0.3, 0.99]))
    vectors = np.array(
        data.draw(
            st.lists(
                st.sampled_from([0, 0, 1, 2, -5, 1e30, -1e-30]),
                min_size=n_classes,
                max_size=n_classes,
            )
        )
    )
    options = {"arity": arity, "leaf_size": leaf_size, "balance": balance, "slack": slack}
    tree = cluster_tree(counts, vectors[:, None], **options, random_state=0)
    assert tree.n_classes == n_classes
    if n_classes == 1:
        return
    largest = arity if arity != "sqrt" else max(2, round(n_classes**0.5))
    assert tree.arities[0] <= largest
    assert (
        tree.arities[1:] <= max(largest, leaf_size or (n_classes if arity == "sqrt" else 0))
    ).all()


@given(COUNTS, st.lists(st.integers(2, 5), min_size=1, max_size=3), st.data())
def test_each_level_has_its_arity(counts: list[int], arity: list[int], data: st.DataObject) -> None:
    leaf_size = data.draw(st.none() | st.integers(1, 8))
    vectors = np.random.default_rng(0).normal(size=(len(counts), 3))
    tree = cluster_tree(
        counts, vectors, arity=arity, leaf_size=leaf_size, balance="size", random_state=0
    )
    if leaf_size is None:
        assert tree.max_depth <= len(arity) + 1

    def check(item: Any, depth: int) -> list[int]:
        if not isinstance(item, list):
            return [item]
        classes = [leaf for child in item for leaf in check(child, depth + 1)]
        if depth < len(arity) and len(classes) > max(arity[depth], leaf_size or 0):
            assert len(item) <= arity[depth]
        elif leaf_size is None:
            assert not any(isinstance(child, list) for child in item)
        return classes

    assert sorted(check(tree.to_nested(), 0)) == list(range(len(counts)))


def test_clusters_within_clusters_are_found() -> None:
    generator = np.random.default_rng(0)
    labels = generator.permutation(np.repeat(np.arange(12), 5))
    groups, centers = labels // 3, generator.normal(size=(4, 8)) * 100
    vectors = (
        centers[groups]
        + (generator.normal(size=(12, 8)) * 5)[labels]
        + generator.normal(size=(60, 8)) * 0.01
    )
    nested = cluster_tree(60, vectors, arity=(4, 3), random_state=0).to_nested()
    assert sorted(sorted(len(part) for part in group) for group in nested) == [[5, 5, 5]] * 4
    assert all(len(set(labels[part])) == 1 for group in nested for part in group)


def test_depths() -> None:
    vectors = np.random.default_rng(0).normal(size=(1000, 4))
    counts = 10**6 // np.arange(1, 1001)
    by_size = cluster_tree(counts, vectors, balance="size", slack=0, random_state=0)
    assert set(by_size.depths.tolist()) == {9, 10}
    by_counts = cluster_tree(counts, vectors, slack=0, random_state=0)
    best = huffman_tree(counts).expected_depth(counts)
    assert best <= by_counts.expected_depth(counts) <= best + 1
    leaves = cluster_tree(counts, vectors, balance="size", slack=0, leaf_size=40, random_state=0)
    assert set(leaves.depths.tolist()) == {6}


def test_same_seed_same_tree() -> None:
    vectors = np.random.default_rng(0).normal(size=(300, 4))
    for arity in (2, 5, "sqrt"):
        first, same, other = (
            cluster_tree(300, vectors, arity=arity, random_state=seed)
            for seed in (7, np.random.default_rng(7), 8)
        )
        assert first == same != other


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_the_scale_of_vectors_does_not_matter(scale: float) -> None:
    vectors, _ = blobs(4, 10)
    assert cluster_tree(40, vectors * scale, random_state=0) == cluster_tree(
        40, vectors, random_state=0
    )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"vectors": np.zeros((3, 2))},
            r"shape \(4, d\), one vector for each class, got .* with shape \(3, 2\)",
        ),
        ({"vectors": [["a"]] * 4}, r"array of <U1"),
        ({"vectors": [[0], [1], [np.nan], [2]]}, "got NaN or an infinity for class 2"),
        ({"arity": 1}, "arity .* got 1"),
        ({"arity": "cube"}, "arity .* got 'cube'"),
        ({"arity": (3, 1)}, "arity must be an integer of at least 2, got 1"),
        ({"arity": ()}, r"arity .* got \(\)"),
        ({"leaf_size": 0}, "leaf_size must be an integer of at least 1, got 0"),
        ({"balance": "depth"}, "balance must be .* got 'depth'"),
        ({"slack": 1}, "slack must be .* less than 1, got 1"),
    ],
)
def test_wrong_parameters(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="cluster_tree: .*" + message):
        cluster_tree(**{"counts": 4, "vectors": np.zeros((4, 2)), **wrong})
