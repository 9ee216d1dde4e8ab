"""Models saved under the lowest versions load under these, and those saved under the newest."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sklearn_hashnlp import load_model, save_model
from tests.persistence.saved_models import FOLDER, MODELS, TEXTS, output

CASES = [(versions, model) for versions in ("lowest", "newest") for model in MODELS]


def stored(versions: str, model: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((FOLDER / versions / f"{model}.json").read_text(encoding="utf-8"))
    return document


@pytest.mark.parametrize(("versions", "model"), CASES)
def test_a_model_saved_under_other_versions_computes_the_same(versions: str, model: str) -> None:
    loaded = load_model(FOLDER / versions / model)
    expected = stored(versions, model)["output"]
    assert len(expected) in (len(TEXTS), 2 * len(TEXTS))
    assert all(map(math.isfinite, expected))
    np.testing.assert_allclose(output(loaded), expected, rtol=1e-6, atol=1e-7)


def test_the_two_were_saved_under_different_versions() -> None:
    lowest, newest = stored("lowest", "linear")["versions"], stored("newest", "linear")["versions"]
    assert {name for name in newest if newest[name] != lowest[name]} >= {"numba", "numpy", "scikit-learn", "scipy"}


def test_parameters_that_are_being_removed_are_not_saved(tmp_path: Path) -> None:
    class_weights = {"bad": 1.0, "good": 2.0}
    model = LogisticRegression(class_weight=class_weights).fit([[0.0], [1.0]], ["bad", "good"])
    save_model(model, tmp_path)
    saved = json.loads((tmp_path / "parameters.json").read_text(encoding="utf-8"))["model"]["parameters"]
    assert "class_weight" in saved
    assert not {name for name, value in saved.items() if value in ("deprecated", "warn")}
    assert load_model(tmp_path).class_weight == class_weights
