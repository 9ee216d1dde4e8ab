"""Every builder takes counts or a number of classes, and its errors say what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sklearn_hashnlp.trees import (
    SoftmaxTree,
    balanced_tree,
    cluster_tree,
    complete_tree,
    huffman_tree,
    random_tree,
    two_level_tree,
)
from sklearn_hashnlp.trees._counts import positive_counts

BUILDERS: dict[str, Callable[[Any], SoftmaxTree]] = {
    "balanced_tree": balanced_tree,
    "cluster_tree": lambda counts: cluster_tree(counts, np.eye(8)[: np.size(counts) if np.ndim(counts) else counts]),
    "complete_tree": complete_tree,
    "huffman_tree": huffman_tree,
    "random_tree": random_tree,
    "two_level_tree": two_level_tree,
}


@pytest.mark.parametrize("name", BUILDERS)
def test_every_number_of_classes(name: str) -> None:
    for n_classes in range(1, 9):
        assert BUILDERS[name](n_classes).n_classes == n_classes
        assert BUILDERS[name](np.zeros(n_classes)).n_classes == n_classes
        assert BUILDERS[name](tuple(range(n_classes))).n_classes == n_classes


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
def test_wrong_counts(name: str, counts: Any, error: Any, message: str) -> None:
    builder = BUILDERS[name] if name != "cluster_tree" else lambda wrong: cluster_tree(wrong, np.eye(2))
    with pytest.raises(error, match=f"{name}: .*{message}"):
        builder(counts)


@pytest.mark.parametrize("builder", [balanced_tree, huffman_tree])
@pytest.mark.parametrize("arity", [1, 0, 2.0, True, "sqrt"])
def test_wrong_arities(builder: Any, arity: Any) -> None:
    with pytest.raises(ValueError, match=f"{builder.__name__}: arity must be an integer of at least 2, got {arity!r}"):
        builder(5, arity)


def test_classes_that_never_occurred_count_half_of_the_rarest() -> None:
    assert positive_counts(np.array([0.0, 4.0, 2.0, 0.0])).tolist() == [1, 4, 2, 1]
    assert positive_counts(np.zeros(2)).tolist() == [1, 1]
