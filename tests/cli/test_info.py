"""``hashnlp info``: a model folder described, with the report of its training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp.persistence import load_model, save_model


@pytest.mark.usefixtures("small")
def test_labels_counts_and_validation_figures_of_the_training(
    hashnlp: Any, data: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "m"
    hashnlp("train", data, "-m", folder, "--holdout", 0.25, "--epochs", 2)
    report = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    info = hashnlp("info", folder, "--json").json
    assert report["labels"] == info["labels"] == {"bad": 9, "good": 9}
    assert (info["model"], info["n_texts"], info["validation"]["n_texts"]) == (
        "TextClassifier",
        18,
        6,
    )
    assert info["validation"]["accuracy"] == report["validation"]["accuracy"]
    assert {"sklearn-hashnlp", "torch"} <= set(info["versions"])
    assert info["date"].startswith("20")
    out = hashnlp("info", folder).out
    assert all(
        word in out
        for word in ("TextClassifier", "good", "Validation", "accuracy", "bytes", "scikit-learn")
    )
    quiet = hashnlp("info", folder, "-q")
    assert (quiet.out, quiet.err) == (out, "")
    # the report is of the model before
    save_model(load_model(folder).set_params(verbose=1), folder)
    assert "n_texts" not in hashnlp("info", folder, "--json").json


def test_a_model_saved_in_python_has_no_counts(hashnlp: Any, model: Path, tmp_path: Path) -> None:
    info = hashnlp("info", model, "--json").json
    assert (info["model"], info["labels"]) == ("Pipeline", {"bad": None, "good": None})
    assert info["bytes"] > 0
    assert "good" in hashnlp("info", model).out
    result = hashnlp("info", tmp_path / "nothing")
    assert (result.code, result.out) == (1, "")
