"""The shared parts of the commands, with the classifier that ``hashnlp train`` really makes."""

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


def test_the_default_pipeline_takes_the_options_and_survives_a_folder(
    screen: Screen, rows: Any, tmp_path: Path
) -> None:
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


def test_vectorising_in_parts_changes_nothing(
    screen: Screen, small: Any, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_pipelines, "_SMALLEST_PART", 5)
    monkeypatch.setattr(_pipelines, "_PARTS", 4)
    monkeypatch.setattr(_pipelines, "_ROWS_OF_A_PREDICTION", 7)
    texts, labels = [text for _, text in rows], np.array([label for label, _ in rows])
    model, expected = small(), small().fit(texts, labels)
    _pipelines.train_pipeline(screen, model, texts, labels)
    np.testing.assert_array_equal(model.predict_proba(texts), expected.predict_proba(texts))
    np.testing.assert_allclose(
        _pipelines.predict_proba(screen, model, texts), expected.predict_proba(texts), rtol=1e-12
    )


def test_callbacks_of_the_user_are_called_and_put_back(screen: Screen, small: Any, rows: Any) -> None:
    from skorch.callbacks import Callback

    mine: list[Any] = [Callback()]
    model = small(classifier__callbacks=mine)
    _pipelines.train_pipeline(screen, model, [text for _, text in rows], np.array([label for label, _ in rows]))
    assert model["classifier"].callbacks is mine


@pytest.mark.parametrize("hidden", [False, True])
def test_a_model_that_opens_files_is_refused(small: Any, rows: Any, tmp_path: Path, hidden: bool) -> None:
    model = small().fit([text for _, text in rows], [label for label, _ in rows])
    model["vectorizer"].set_params(input="filename")
    if hidden:  # behind a second step of the same name
        model.steps.insert(1, ("vectorizer", Normalizer()))
    save_model(model, tmp_path)
    with pytest.raises(ValueError, match=r"holds a HashingVectorizer with input='filename'.* open it"):
        _pipelines.load_classifier(tmp_path)


def test_a_folder_with_something_that_does_not_classify(tmp_path: Path) -> None:
    from sklearn.feature_extraction.text import HashingVectorizer

    save_model(HashingVectorizer(), tmp_path)
    with pytest.raises(ValueError, match="holds a HashingVectorizer that does not classify texts"):
        _pipelines.load_classifier(tmp_path)
