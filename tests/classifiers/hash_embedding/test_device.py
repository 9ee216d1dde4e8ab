"""HashEmbeddingClassifier on CUDA, and models from there."""

from __future__ import annotations

import os
import subprocess
import sys

import joblib
import numpy as np
import pytest
import torch

from sklearn_hashnlp.classifiers import HashEmbeddingClassifier

RNG = np.random.default_rng(0)
TARGETS = RNG.integers(0, 3, 240)
X = RNG.random((240, 60)) + np.eye(3).repeat(20, axis=1)[TARGETS]
SMALL = {"n_buckets": 2000, "n_embeddings": 20_000, "random_state": 0}


@pytest.mark.gpu
@pytest.mark.parametrize("options", [{}, {"variant": "standard"}, {"aggregation": "concat"}, {"aggregation": "median"}])
def test_cuda_agrees_with_the_cpu(options):
    models = [HashEmbeddingClassifier(**SMALL | options, device=device).fit(X, TARGETS) for device in ("cpu", "cuda")]
    assert models[1].net_.module_.bag.pool.is_cuda
    np.testing.assert_allclose(models[1].predict_proba(X), models[0].predict_proba(X), atol=1e-3)


@pytest.mark.gpu
def test_a_model_trained_on_cuda_loads_where_there_is_none(tmp_path):
    model = HashEmbeddingClassifier(random_state=0, device="cuda").fit(np.eye(6), [0, 1, 2] * 2)
    joblib.dump(model, tmp_path / "model.joblib")
    script = (
        "import joblib, sys, numpy as np; model = joblib.load(sys.argv[1]);"
        "assert not model.net_.module_.bag.pool.is_cuda; print(model.predict(np.eye(6)).tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "model.joblib")],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.stdout.strip() == str(model.predict(np.eye(6)).tolist())


def test_a_model_that_asks_for_cuda_loads_where_there_is_none(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    model = HashEmbeddingClassifier(random_state=0).fit(np.eye(4), [0, 1, 0, 1])
    values, arrays = model._get_model_state()
    copy = HashEmbeddingClassifier(random_state=0, device="cuda")
    copy._set_model_state(values, arrays)
    assert copy.predict_proba(np.eye(4)).tobytes() == model.predict_proba(np.eye(4)).tobytes()
