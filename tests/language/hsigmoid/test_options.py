"""Parameters: trees, values that are refused."""

from __future__ import annotations

import pytest

from sklearn_hashnlp.training import EarlyStopping, Schedule
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
        ({"direct_connections": ("hashed", 0)}, "'direct_connections' parameter"),
        ({"direct_connections": ("hashed", 9, 9)}, "'direct_connections' parameter"),
        ({"direct_connections": "hashed", "output": "softmax"}, "needs output='hsigmoid'"),
        ({"regularization__dropout": 1.0}, "'dropout' parameter"),
        ({"regularization__word_dropout": 1.0}, "'word_dropout' parameter"),
        ({"regularization": "strong"}, "'regularization' parameter"),
        ({"hidden_layer": "recurrent"}, "'hidden_layer' parameter"),
        ({"hidden_layer": ("residual", 0)}, r"must be 'tanh', 'sigmoid', 'residual', or a tuple .* \('residual', 1\)"),
        ({"hidden_layer": ("tanh", 2)}, "'hidden_layer' parameter"),
        ({"hidden_layer": ()}, "'hidden_layer' parameter"),
        ({"far_context": -1}, "'far_context' parameter"),
        ({"output": "tied_softmax", "direct_connections": True}, r"output='tied_softmax'\) needs embedding='table'"),
        ({"output": "tied_softmax", "embedding": "hash"}, r"output='tied_softmax'\) needs embedding='table'"),
        ({"embedding": "tables"}, "'embedding' parameter"),
        ({"embedding": ("sgnn", 0, 14)}, "'embedding' parameter"),
        ({"embedding": ("sgnn", 80, 14.0)}, "'embedding' parameter"),
        ({"embedding": ("hash", 80)}, "'embedding' parameter"),
        ({"early_stopping": True}, "'early_stopping' parameter"),
        ({"early_stopping": EarlyStopping()}, "has no accuracy to monitor"),
        ({"checkpoint_dir": ("folder", "none")}, "must be a path, or a tuple of a path and 'all' or 'best'"),
        ({"schedule": Schedule(average=True), "checkpoint_dir": "folder", "resume": True}, "an average of weights"),
        ({"resume": True}, r"resume=True\) needs checkpoint_dir"),
        ({"schedule__plateau": (0, 0.5)}, "The 'plateau' of"),
        ({"callbacks": [3]}, "'callbacks' parameter"),
        ({"vocabulary": {"a": 7}}, "vocabulary must give its 1 words the ids"),
    ],
)
def test_parameters_that_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        fitted(**options)
