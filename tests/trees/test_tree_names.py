"""Trees over labels, by name and given."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from sklearn_hashnlp import trees
from sklearn_hashnlp.trees._tree_builders import ClassTree, class_tree

COUNTS = np.array([9, 1, 4, 1, 30, 2, 2])


@pytest.mark.parametrize("counts", [COUNTS, 7])
@pytest.mark.parametrize("name", get_args(ClassTree))
def test_a_name_is_that_of_the_builder(name, counts):
    options = {"random_state": 3} if name == "random" else {}
    assert class_tree(name, counts, seed=3, caller="Someone") == getattr(trees, f"{name}_tree")(counts, **options)


def test_a_tree_that_is_given_must_fit():
    tree = trees.complete_tree(7)
    assert class_tree(tree, COUNTS, seed=0, caller="Someone") is tree
    assert class_tree(tree, 7, seed=0, caller="Someone") is tree
    for counts in (COUNTS[:6], 8):
        with pytest.raises(ValueError, match="The 'tree' parameter of Someone must have one class for each label"):
            class_tree(tree, counts, seed=0, caller="Someone")
