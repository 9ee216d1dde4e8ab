"""The notebook's random tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.trees import random_tree, tree_from_nested


def joined(outputs: list[Any]) -> list[Any]:
    """The notebook's own loop."""
    while len(outputs) > 2:
        joined_outputs: list[Any] = []
        for i in range(0, len(outputs), 2):
            if len(outputs) - (i + 1) > 0:
                joined_outputs.append([outputs[i], outputs[i + 1]])
            else:
                joined_outputs.append(outputs[i])
        outputs = joined_outputs
    return outputs


@given(st.integers(2, 100), st.integers(0, 2**32))
def test_neighbours_are_joined_after_a_shuffle(n_classes: int, seed: int) -> None:
    tree = random_tree(n_classes, random_state=seed)
    shuffled = np.random.default_rng(seed).permutation(n_classes).tolist()
    assert tree == tree_from_nested(joined(shuffled))


def test_where_randomness_comes_from() -> None:
    tree = random_tree(50, random_state=3)
    assert random_tree(50, random_state=np.random.default_rng(3)) == tree
    assert random_tree(50, random_state=4) != tree
    assert random_tree(50) != random_tree(50)
    old = [random_tree(50, random_state=np.random.RandomState(3)) for _ in range(2)]
    assert old[0] == old[1]
    with pytest.raises(TypeError, match=r"random_tree wants random_state as None, .* but 'three' came"):
        random_tree(5, random_state="three")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"a seed of at least 0, but random_state=-1"):
        random_tree(5, random_state=-1)
