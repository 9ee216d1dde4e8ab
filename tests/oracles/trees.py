"""Trees over classes, as nested lists, by recursion."""

import heapq
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np


def balanced_lists(start: int, size: int, arity: int) -> Any:
    """Split classes into parts, the larger ones first, and each part again."""
    if size == 1:
        return start
    n_parts = min(arity, size)
    parts = []
    for part in range(n_parts):
        part_size = size // n_parts + (part < size % n_parts)
        parts.append(balanced_lists(start, part_size, arity))
        start += part_size
    return parts


def complete_path(class_index: int, n_classes: int) -> tuple[list[int], list[int]]:
    """Return the nodes and branches of Paddle's hierarchical sigmoid, from the leaf up."""
    heap = class_index + n_classes
    length = heap.bit_length() - 1
    return [(heap >> (i + 1)) - 1 for i in range(length)], [(heap >> i) & 1 for i in range(length)]


def merged_neighbors(outputs: list[Any]) -> list[Any]:
    """Merge neighbors in pairs until two are left: the loop of the reference implementation's
    random tree.
    """
    while len(outputs) > 2:
        merged: list[Any] = []
        for i in range(0, len(outputs), 2):
            if len(outputs) - (i + 1) > 0:
                merged.append([outputs[i], outputs[i + 1]])
            else:
                merged.append(outputs[i])
        outputs = merged
    return outputs


def huffman_cost(counts: list[int], arity: int) -> int:
    """Return the cost of Huffman's tree, the sum of all merges, by a heap padded with classes of
    count zero.
    """
    heap = [*counts, *[0] * (-(len(counts) - 1) % (arity - 1))]
    heapq.heapify(heap)
    cost = 0
    while len(heap) > 1:
        weight = sum(heapq.heappop(heap) for _ in range(arity))
        cost += weight
        heapq.heappush(heap, weight)
    return cost


def subtrees(nested: Any) -> Iterator[list[Any]]:
    """Yield the inner nodes of nested lists in pre-order."""
    if isinstance(nested, list):
        yield nested
        for child in nested:
            yield from subtrees(child)


def leaf_paths(nested: Any) -> dict[int, tuple[list[int], list[int]]]:
    """Return the nodes, numbered in pre-order, and the branches of the path to each class."""
    numbers = {id(subtree): number for number, subtree in enumerate(subtrees(nested))}
    paths: dict[int, tuple[list[int], list[int]]] = {}

    def walk(item: Any, nodes: list[int], branches: list[int]) -> None:
        if not isinstance(item, list):
            paths[item] = nodes, branches
            return
        for branch, child in enumerate(item):
            walk(child, [*nodes, numbers[id(item)]], [*branches, branch])

    walk(nested, [], [])
    return paths


def clustering_loss(
    vectors: list[list[int]], weights: list[int], labels: list[int], price: Fraction
) -> Fraction:
    """Return the weighted variance within clusters plus the price of the mean cluster size,
    exactly.
    """

    def scatter(rows: list[int]) -> Fraction:
        total = sum(weights[row] for row in rows)
        means = [
            Fraction(sum(weights[row] * vectors[row][j] for row in rows), total)
            for j in range(len(vectors[0]))
        ]
        return sum(
            (
                weights[row] * (value - mean) ** 2
                for row in rows
                for value, mean in zip(vectors[row], means, strict=True)
            ),
            Fraction(0),
        )

    everything = list(range(len(labels)))
    loss = Fraction(0)
    for label in set(labels):
        rows = [row for row in everything if labels[row] == label]
        loss += scatter(rows) + price * scatter(everything) / sum(weights) * len(rows) * sum(
            weights[row] for row in rows
        )
    return loss


def path_table_and_code(tree: Any) -> tuple[Any, Any]:
    """Return the ``path_table`` and ``path_code`` of Paddle for all classes, padded with -1."""
    paths = [tree.path(c) for c in range(tree.n_classes)]
    length = max(len(nodes) for nodes, _ in paths)
    table, code = (
        np.array([[*path[part], *[-1] * (length - len(path[part]))] for path in paths])
        for part in (0, 1)
    )
    return table, code
