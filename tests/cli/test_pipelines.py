"""Training, prediction and loading of pipelines, with the classifier of ``hashnlp train``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.preprocessing import Normalizer

from sklearn_hashnlp.classifiers import TextClassifier
from sklearn_hashnlp.cli import _pipelines
from sklearn_hashnlp.cli._fit_classifier import fit_model
from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.persistence import load_model, save_model
from tests.cli.conftest import small_pipeline


@pytest.fixture
def screen() -> Screen:
    return Screen(as_json=False, quiet=True)


def test_the_default_model_is_that_of_the_class() -> None:
    assert repr(_pipelines.make_model()) == repr(TextClassifier())


def test_training_of_a_small_network_is_that_of_fit(
    screen: Screen, rows: Any, tmp_path: Path
) -> None:
    texts, labels = [text for _, text in rows], np.array([label for label, _ in rows])
    model, expected = (
        _pipelines.make_model(sgnn=True, max_epochs=2, random_state=0) for _ in range(2)
    )
    fit_model(screen, model, texts, labels, (texts, labels))
    expected.fit(texts, labels)
    probabilities = expected.predict_proba(texts)
    np.testing.assert_array_equal(model.predict_proba(texts), probabilities)
    save_model(model, tmp_path / "m")
    np.testing.assert_array_equal(load_model(tmp_path / "m").predict_proba(texts), probabilities)


@pytest.mark.parametrize("hidden", [False, True])
def test_a_model_that_reads_files_is_refused(
    hashnlp: Any, rows: Any, tmp_path: Path, hidden: bool
) -> None:
    model = small_pipeline().fit([text for _, text in rows], [label for label, _ in rows])
    model["vectorizer"].set_params(input="filename")
    if hidden:  # behind a second step of the same name
        model.steps.insert(1, ("vectorizer", Normalizer()))
    save_model(model, tmp_path)
    with pytest.raises(
        ValueError, match=r"contains a HashingVectorizer with input='filename'.* open each text"
    ):
        _pipelines.load_classifier(tmp_path)
    # which reads linear models in its own way
    result = hashnlp("predict", "-m", tmp_path, stdin="a")
    assert (result.code, "with input='filename'" in result.err) == (1, True)


def test_a_model_that_is_no_classifier_is_refused(tmp_path: Path) -> None:
    from sklearn.feature_extraction.text import HashingVectorizer

    save_model(HashingVectorizer(), tmp_path)
    with pytest.raises(ValueError, match="is a HashingVectorizer, not a text classifier"):
        _pipelines.load_classifier(tmp_path)
