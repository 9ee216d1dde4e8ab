"""Models that are trained on CUDA, and loaded where there is none."""

from __future__ import annotations

import os
import subprocess
import sys

import joblib
import numpy as np
import pytest

from sklearn_hashnlp.classifiers import HashEmbeddingClassifier


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
