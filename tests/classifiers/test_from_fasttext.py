"""Pipelines that from_fasttext makes predict what the model does, and are trained further."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sklearn_hashnlp import load_model, save_model
from sklearn_hashnlp.classifiers import from_fasttext
from sklearn_hashnlp.persistence import FastTextModel, load_fasttext
from tests.persistence.fasttext_models import DATA, TEXTS, kept_buckets, random_model, save

SUBWORDS = {"word_ngrams": 2, "min_n": 1, "max_n": 3}
MODELS: dict[str, dict[str, Any]] = {
    "softmax": {},
    "subwords": {"bucket": 50, **SUBWORDS},
    "two labels": {"n_labels": 2, "bucket": 40, "word_ngrams": 2},
    "tree": {"loss": "hs", "counts": [3, 9, 0, 9, 4]},
    "tree of two labels": {"loss": "hs", "n_labels": 2},
    "quantized": {"quantized": "ion", "dim": 6},
    "pruned": {"quantized": "in", "bucket": 60, "pruned": kept_buckets(60, **SUBWORDS), **SUBWORDS},
    "pruned to words": {"quantized": "i", "bucket": 60, "pruned": {}, **SUBWORDS},
}


def model_of(path: Path, name: str) -> FastTextModel:
    return load_fasttext(save(random_model(len(name), **MODELS[name]), path / "model.bin"))


@pytest.mark.parametrize("name", MODELS)
def test_the_pipeline_is_exact(name: str, tmp_path: Path) -> None:
    model = model_of(tmp_path, name)
    pipeline = from_fasttext(model)
    assert pipeline.predict(TEXTS).tolist() == model.predict(TEXTS).tolist()
    assert np.allclose(pipeline.predict_proba(TEXTS), model.predict_proba(TEXTS), atol=1e-6)
    assert np.allclose(pipeline.decision_function(TEXTS), model.decision_function(TEXTS), atol=1e-5)
    save_model(pipeline, tmp_path / "folder")
    assert load_model(tmp_path / "folder").predict_proba(TEXTS).tobytes() == pipeline.predict_proba(TEXTS).tobytes()


@pytest.mark.parametrize("name", ["subwords", "tree", "pruned"])
def test_the_pipeline_is_trained_further(name: str, tmp_path: Path) -> None:
    model = model_of(tmp_path, name)
    pipeline = from_fasttext(model)
    texts, labels = ["the sauce", "a crêpe of the"], model.classes_[:2]
    X = pipeline[:-1].transform(texts)
    before = pipeline[-1].score(X, labels)
    for _ in range(30):
        pipeline[-1].partial_fit(X, labels)
    assert before < 1 or pipeline.predict_proba(texts)[0, 0] > model.predict_proba(texts)[0, 0]
    assert pipeline.predict(texts).tolist() == labels.tolist()
    assert len(pipeline[-1].history_) == 30


def test_a_table_of_sigmoids_has_no_exact_pipeline() -> None:
    model = load_fasttext(DATA / "ova.bin")
    with pytest.raises(ValueError, match="no pipeline predicts exactly what this model does"):
        from_fasttext(model)
    pipeline = from_fasttext(model, exact=False)
    assert np.allclose(pipeline.decision_function(TEXTS), model.decision_function(TEXTS), atol=1e-5)
    assert pipeline[-1].loss == "ova"


def test_a_minimum_that_no_ngram_has(tmp_path: Path) -> None:
    model = load_fasttext(save(random_model(bucket=9, word_ngrams=2, min_n=10**6, max_n=0), tmp_path / "model.bin"))
    assert np.allclose(from_fasttext(model).predict_proba(TEXTS), model.predict_proba(TEXTS), atol=1e-6)


def test_what_has_no_pipeline_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has one label only, 'cooking'"):
        from_fasttext(load_fasttext(save(random_model(n_labels=1), tmp_path / "model.bin")))
    with pytest.raises(TypeError, match="takes a FastTextModel, as load_fasttext returns it; got str"):
        from_fasttext("model.bin")  # type: ignore[arg-type]
