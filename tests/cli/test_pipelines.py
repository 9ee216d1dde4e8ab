"""Training, prediction and loading of pipelines, with the classifier of ``hashnlp train``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.preprocessing import Normalizer

from sklearn_hashnlp.classifiers import make_text_classifier
from sklearn_hashnlp.cli import _pipelines
from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.persistence import load_model, save_model


@pytest.fixture
def screen() -> Screen:
    return Screen(as_json=False, quiet=True)


def test_the_default_pipeline_has_the_options_and_can_be_saved(screen: Screen, rows: Any, tmp_path: Path) -> None:
    pipeline = _pipelines.make_pipeline(seed=3, device="cpu", n_jobs=2, epochs=1)
    assert pipeline.get_params()["classifier__random_state"] == 3
    assert pipeline.get_params()["classifier__max_epochs"] == 1
    assert pipeline.get_params()["vectorizer__n_jobs"] == 2
    unset, default = _pipelines.make_pipeline(seed=0, device="cpu", n_jobs=None, epochs=None), make_text_classifier()
    assert unset["vectorizer"].n_jobs == default["vectorizer"].n_jobs == -1
    assert unset["classifier"].max_epochs == default["classifier"].max_epochs
    texts, labels = [text for _, text in rows], np.array([label for label, _ in rows])
    _pipelines.train_pipeline(screen, pipeline, texts, labels)
    save_model(pipeline, tmp_path / "m")
    np.testing.assert_array_equal(load_model(tmp_path / "m").predict_proba(texts), pipeline.predict_proba(texts))


def test_batches_do_not_change_the_model(
    screen: Screen, small: Any, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_pipelines, "_MIN_BATCH_SIZE", 5)
    monkeypatch.setattr(_pipelines, "_N_BATCHES", 4)
    monkeypatch.setattr(_pipelines, "_PREDICTION_BATCH_SIZE", 7)
    texts, labels = [text for _, text in rows], np.array([label for label, _ in rows])
    model, expected = small(), small().fit(texts, labels)
    _pipelines.train_pipeline(screen, model, texts, labels)
    np.testing.assert_array_equal(model.predict_proba(texts), expected.predict_proba(texts))
    np.testing.assert_allclose(
        _pipelines.predict_proba(screen, model, texts), expected.predict_proba(texts), rtol=1e-12
    )


def test_callbacks_of_the_user_are_restored(screen: Screen, small: Any, rows: Any) -> None:
    from skorch.callbacks import Callback

    mine: list[Any] = [Callback()]
    model = small(classifier__callbacks=mine)
    _pipelines.train_pipeline(screen, model, [text for _, text in rows], np.array([label for label, _ in rows]))
    assert model["classifier"].callbacks is mine


@pytest.mark.parametrize("hidden", [False, True])
def test_a_model_that_reads_files_is_refused(small: Any, rows: Any, tmp_path: Path, hidden: bool) -> None:
    model = small().fit([text for _, text in rows], [label for label, _ in rows])
    model["vectorizer"].set_params(input="filename")
    if hidden:  # behind a second step of the same name
        model.steps.insert(1, ("vectorizer", Normalizer()))
    save_model(model, tmp_path)
    with pytest.raises(ValueError, match=r"contains a HashingVectorizer with input='filename'.* open each text"):
        _pipelines.load_classifier(tmp_path)


def test_a_model_that_is_no_classifier_is_refused(tmp_path: Path) -> None:
    from sklearn.feature_extraction.text import HashingVectorizer

    save_model(HashingVectorizer(), tmp_path)
    with pytest.raises(ValueError, match="is a HashingVectorizer, not a text classifier"):
        _pipelines.load_classifier(tmp_path)
