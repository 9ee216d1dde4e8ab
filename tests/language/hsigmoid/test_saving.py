"""Copies of a model: pickles, folders, other processes."""

from __future__ import annotations

import copy
import pickle

import joblib
import pytest

from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.trees import random_tree
from tests.language.hsigmoid.small_models import SENTENCES, VALID, VARIED, bytes_of, make


@pytest.mark.parametrize("options", [*VARIED, {"vocabulary": {"<s>": 0, "b": 1, "a": 2}}], ids=str)
def test_copies(tmp_path, options):
    model = make(**options).fit(SENTENCES, X_valid=VALID)
    joblib.dump(model, tmp_path / "model.joblib")
    save_model(model, tmp_path / "folder", training_state=True)
    expected = bytes_of(model)
    for other in (
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        joblib.load(tmp_path / "model.joblib"),
        load_model(tmp_path / "folder"),
    ):
        assert bytes_of(other) == expected
        assert other.history_ == model.history_
        assert other.vocabulary_ == model.vocabulary_
        assert other.get_params()["order"] == 3
        after_more = bytes_of(other.partial_fit(VALID))
        assert after_more != expected
    assert after_more == bytes_of(model.partial_fit(VALID))


def test_a_tree_of_the_user_is_saved(tmp_path):
    model = make(tree=random_tree(10, random_state=1)).fit(SENTENCES)
    save_model(model, tmp_path / "folder")
    loaded = load_model(tmp_path / "folder")
    assert loaded.tree == model.tree
    assert bytes_of(loaded) == bytes_of(model)
