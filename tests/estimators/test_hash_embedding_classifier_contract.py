"""HashEmbeddingClassifier among others: scikit-learn's checks, searches, processes, memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import joblib
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from sklearn_hashnlp.estimators import HashEmbeddingClassifier
from sklearn_hashnlp.text import HashingNgramVectorizer

WORDS = ["goal", "match", "team", "vote", "law", "minister"]
RNG = np.random.default_rng(0)
LABELS = np.array(["sport", "politics"])[RNG.integers(0, 2, 80)]
TEXTS = [" ".join(RNG.choice(WORDS[:3] if label == "sport" else WORDS[3:], 5)) for label in LABELS]


def test_scikit_learns_own_checks_pass_in_time():
    start = time.perf_counter()
    results = check_estimator(HashEmbeddingClassifier(), on_skip=None)  # a failure raises
    assert time.perf_counter() - start < 90
    skipped = {result["check_name"] for result in results if result["status"] != "passed"}
    assert skipped <= {"check_array_api_input"}  # needs an environment variable; we claim no support
    assert len(results) > 45


def test_clone_keeps_parameters_and_nothing_learned():
    model = HashEmbeddingClassifier(n_buckets=77, callbacks=[], hidden_layer_sizes=(3,))
    model.fit(np.eye(4), [0, 1, 0, 1])
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "net_")


def test_a_grid_search_over_sizes_in_a_pipeline():
    pipeline = Pipeline(
        [
            ("vectorizer", HashingNgramVectorizer(ngram_range=(1, 2), n_features=2**31 - 1)),
            ("classifier", HashEmbeddingClassifier(n_embeddings=10_000, random_state=0)),
        ]
    )
    grid = {"classifier__n_buckets": [100, 1000], "classifier__n_hashes": [1, 2]}
    search = GridSearchCV(pipeline, grid, cv=2, n_jobs=2).fit(TEXTS, LABELS)
    assert search.best_score_ == 1.0
    assert set(search.best_params_) == set(grid)
    assert search.predict(["goal team", "law vote"]).tolist() == ["sport", "politics"]


def test_the_two_default_constructed_classes_compose():
    model = make_pipeline(HashingNgramVectorizer(), HashEmbeddingClassifier(random_state=0)).fit(TEXTS, LABELS)
    assert model.score(TEXTS, LABELS) == 1.0


def test_a_model_dumped_here_predicts_the_same_in_another_process(tmp_path):
    model = make_pipeline(HashingNgramVectorizer(), HashEmbeddingClassifier(random_state=0)).fit(TEXTS, LABELS)
    joblib.dump(model, tmp_path / "model.joblib")
    joblib.dump(TEXTS, tmp_path / "texts.joblib")
    script = (
        "import joblib, sys; from pathlib import Path; folder = Path(sys.argv[1]);"
        "model = joblib.load(folder / 'model.joblib');"
        "joblib.dump(model.predict_proba(joblib.load(folder / 'texts.joblib')), folder / 'out.joblib')"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
    assert joblib.load(tmp_path / "out.joblib").tobytes() == model.predict_proba(TEXTS).tobytes()


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


MEMORY = """
import resource
import numpy as np
from scipy.sparse import csr_array
from sklearn_hashnlp.estimators import HashEmbeddingClassifier

rng = np.random.default_rng(0)
y = rng.integers(0, 2, 2000)
indices = rng.integers(0, 2**31 - 1, (2000, 50))
indices[:, 0] = 2**31 - 2 - y
X = csr_array((np.ones(100_000), indices.ravel(), np.arange(0, 100_001, 50)), shape=(2000, 2**31 - 1))
with open("/proc/self/statm") as statm:
    now = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + 2_000_000_000,) * 2)
model = HashEmbeddingClassifier(random_state=0).fit(X, y)
print(model.score(X, y))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self/statm")
def test_two_thousand_million_columns_fit_in_two_gigabytes():
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == 1.0
