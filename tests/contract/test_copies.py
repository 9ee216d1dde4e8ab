"""Copies of all public estimators: pickles, joblib, deep copies, model folders, other processes."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
import skops.io
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from sklearn_hashnlp import load_model, save_model
from tests.contract.estimators import (
    CASES,
    ONE_OF_A_KIND,
    STREAMS,
    TRAINED,
    answers,
    fitted,
    part_fit,
    refit,
)
from tests.trainings import assert_same_bits


def _folder(model, folder):
    save_model(model, folder / "model")
    return load_model(folder / "model")


def _folder_with_training_state(model, folder):
    save_model(model, folder / "model", training_state=True)
    return load_model(folder / "model")


def _skops(model, _):
    content = skops.io.dumps(model)
    types = skops.io.get_untrusted_types(data=content)
    assert types
    assert all(name.startswith("sklearn_hashnlp.") for name in types)
    return skops.io.loads(content, trusted=types)


WAYS = {
    "pickle": lambda model, _: pickle.loads(pickle.dumps(model)),
    "deepcopy": lambda model, _: copy.deepcopy(model),
    "folder": _folder,
    "skops": _skops,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_a_copy_answers_the_same(name, way, tmp_path):
    model = fitted(name)
    other = WAYS[way](model, tmp_path)
    assert answers(name, other) == answers(name, model)
    assert repr(other) == repr(model)
    for attribute in (
        "history_",
        "n_parameters_",
        "n_features_in_",
        "vocabulary_",
        "log_",
        "waiting_share_",
    ):
        assert getattr(other, attribute, None) == getattr(model, attribute, None)


@pytest.mark.parametrize("name", STREAMS)
def test_a_copy_learns_on_as_the_model_does(name, tmp_path):
    model = fitted(name)
    before, n_epochs = answers(name, model), len(model.history_)
    ways = ["pickle", "deepcopy", "folder with training state", "folder"]
    others = [WAYS.get(way, _folder_with_training_state)(model, tmp_path) for way in ways]
    for learner in (model, *others):
        part_fit(name, learner, slice(0, 20))
    expected = answers(name, model)
    assert expected != before
    for way, other in zip(ways, others, strict=True):
        # Without the state of training the optimizer starts anew.
        assert (answers(name, other) == expected) is (way != "folder"), way
        assert len(other.history_) == len(model.history_) == n_epochs + 1


@pytest.mark.parametrize("name", ONE_OF_A_KIND)
def test_before_fit(name, tmp_path):
    model = CASES[name].make()
    assert_same_bits(
        answers(name, refit(name, pickle.loads(pickle.dumps(model)))), answers(name, fitted(name))
    )
    if get_tags(model).requires_fit:
        with pytest.raises(NotFittedError):
            save_model(model, tmp_path / "model")
        assert list(tmp_path.iterdir()) == []
    else:
        assert answers(name, _folder(model, tmp_path)) == answers(name, model)


@pytest.mark.parametrize("precision", ["float16", "int8"])
@pytest.mark.parametrize("name", TRAINED)
def test_a_smaller_folder_answers_nearly_the_same(name, precision, tmp_path):
    model = fitted(name)
    save_model(model, tmp_path / "model", precision=precision)
    small, method = (
        load_model(tmp_path / "model"),
        CASES[name].answers[0 if len(CASES[name].answers) == 1 else 1],
    )
    np.testing.assert_allclose(
        getattr(small, method)(CASES[name].asked),
        getattr(model, method)(CASES[name].asked),
        atol=0.05,
    )


ELSEWHERE = """
import hashlib, json, sys
from pathlib import Path
import joblib
from sklearn_hashnlp import load_model
from tests.contract.estimators import answers
found = {}
for folder in sorted(Path(sys.argv[1]).iterdir()):
    name = (folder / "name").read_text()
    models = [joblib.load(folder / "model.joblib"), load_model(folder / "model")]
    parts = [answers(name, model).values() for model in models]
    found[name] = [[hashlib.sha256(part).hexdigest() for part in of_model] for of_model in parts]
found["torch's compiler"] = "torch._dynamo" in sys.modules  # it takes two seconds
print(json.dumps(found))
"""


def test_another_process_answers_the_same(tmp_path):
    names = [*ONE_OF_A_KIND, "make_text_classifier"]
    for name in names:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "name").write_text(name)
        joblib.dump(fitted(name), folder / "model.joblib")
        save_model(fitted(name), folder / "model")
    environment = os.environ | {"PYTHONHASHSEED": "1"}
    command = [sys.executable, "-c", ELSEWHERE, tmp_path]
    found = json.loads(
        subprocess.run(
            command, check=True, capture_output=True, cwd=Path(__file__).parents[2], env=environment
        ).stdout
    )
    assert found["torch's compiler"] is False
    for name in names:
        own = [hashlib.sha256(part).hexdigest() for part in answers(name, fitted(name)).values()]
        assert found[name] == [own, own], name
