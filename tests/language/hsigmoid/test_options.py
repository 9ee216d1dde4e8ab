"""Parameters: trees, values that are refused."""

from __future__ import annotations

import pytest

from sklearn_hashnlp.trees import complete_tree, random_tree
from tests.language.hsigmoid.small_models import fitted


def test_a_tree_of_the_user():
    tree = random_tree(9, random_state=3)
    model = fitted(tree=tree)
    assert model.net_.module_.output_layer.tree == tree
    with pytest.raises(ValueError, match="the tree has 5 classes, and 9 words can be predicted"):
        fitted(tree=complete_tree(5))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 1}, "'order' parameter"),
        ({"output": "nce"}, "'output' parameter"),
        ({"tree": "oak"}, "'tree' parameter"),
        ({"direct_connections": "dense"}, "'direct_connections' parameter"),
        ({"direct_connections": "hashed", "output": "softmax"}, "needs output='hsigmoid'"),
        ({"dropout": 1.0}, "'dropout' parameter"),
        ({"word_dropout": 1.0}, "'word_dropout' parameter"),
        ({"arch": "recurrent"}, "'arch' parameter"),
        ({"n_blocks": 0}, "'n_blocks' parameter"),
        ({"far_context": -1}, "'far_context' parameter"),
        ({"tie_weights": True}, r"tie_weights=True\) needs output='softmax'"),
        ({"tie_weights": True, "output": "softmax", "embedding": "hash"}, "embedding='table'"),
        ({"embedding": "tables"}, "'embedding' parameter"),
        ({"n_projections": 0}, "'n_projections' parameter"),
        ({"n_bits": 0}, "'n_bits' parameter"),
        ({"keep": "none"}, "'keep' parameter"),
        ({"resume": True}, r"resume=True\) needs checkpoint_dir"),
        ({"lr_plateau": (0, 0.5)}, "'lr_plateau' parameter"),
        ({"callbacks": [3]}, "'callbacks' parameter"),
        ({"vocabulary": {"a": 7}}, "vocabulary must give its 1 words the ids"),
    ],
)
def test_parameters_that_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        fitted(**options)
