"""The complete tree against the source's arithmetic."""

import numpy as np
import pytest

from sklearn_hashnlp.trees import complete_tree


@pytest.mark.parametrize("n_classes", [1, 2, 3, 7, 8, 10, 13, 10000])
def test_index_and_code_arithmetic(n_classes: int) -> None:
    tree = complete_tree(n_classes)
    assert tree.is_binary
    assert tree.n_nodes == n_classes - 1
    offsets, nodes, branches = tree.paths()
    for c in range(n_classes):
        heap = c + n_classes
        length = heap.bit_length() - 1
        row = slice(offsets[c], offsets[c + 1])
        assert nodes[row][::-1].tolist() == [(heap >> (i + 1)) - 1 for i in range(length)]
        assert branches[row][::-1].tolist() == [(heap >> i) & 1 for i in range(length)]


def test_counts_give_only_their_number() -> None:
    assert complete_tree([5, 0, 1]) == complete_tree(3) == complete_tree(np.int64(3))
