"""Copies of a model: pickles, folders, other processes."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

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


def test_in_another_process(tmp_path):
    model = make().fit(SENTENCES)
    joblib.dump(model, tmp_path / "model.joblib")
    save_model(model, tmp_path / "folder")
    code = (
        "import joblib, sys; from sklearn_hashnlp import load_model\n"
        "for model in (joblib.load(sys.argv[1]), load_model(sys.argv[2])):\n"
        "    print(model.score_samples(['a b', 'z']).tobytes().hex())"
    )
    run = [sys.executable, "-c", code, str(tmp_path / "model.joblib"), str(tmp_path / "folder")]
    out = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    assert out.split() == [model.score_samples(["a b", "z"]).tobytes().hex()] * 2
