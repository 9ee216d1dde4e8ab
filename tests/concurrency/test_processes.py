"""Models in spawned processes and joblib's workers."""

import multiprocessing
from pathlib import Path

import pytest
from joblib import Parallel, delayed
from sklearn.model_selection import cross_val_score

from sklearn_hashnlp.persistence import load_model, save_model
from tests.concurrency.models import LABELS, TEXTS, answer, answers, small_text_classifier
from tests.trainings import assert_same_bits

pytestmark = pytest.mark.slow  # every process imports torch
SECONDS = 900  # starting processes on a busy machine takes long; a deadlock lasts for ever


def load_and_predict(folder: str) -> bytes:
    """Predict with a saved model."""
    return bytes(load_model(folder).predict_proba(TEXTS).tobytes())


def test_spawned_processes_use_a_pickled_and_a_saved_model(tmp_path: Path) -> None:
    model = small_text_classifier().fit(TEXTS, LABELS)
    save_model(model, tmp_path / "model")
    expected = model.predict_proba(TEXTS).tobytes()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        loaded = pool.map_async(load_and_predict, [str(tmp_path / "model")] * 4)
        pickled = pool.map_async(model.predict_proba, [TEXTS] * 4)
        asked = pool.map_async(answer, sorted(answers()))
        assert loaded.get(SECONDS) == [expected] * 4
        assert [found.tobytes() for found in pickled.get(SECONDS)] == [expected] * 4
        assert_same_bits(asked.get(SECONDS), [answers()[name]() for name in sorted(answers())])


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_workers_of_joblib(backend: str) -> None:
    model = small_text_classifier().fit(TEXTS, LABELS)
    expected = model.predict_proba(TEXTS).tobytes()
    calls = (delayed(model.predict_proba)(TEXTS) for _ in range(6))
    found = Parallel(n_jobs=2, backend=backend, timeout=SECONDS)(calls)
    assert [array.tobytes() for array in found] == [expected] * 6


def test_cross_validation_in_workers_is_that_of_one_process() -> None:
    model = small_text_classifier()
    one, two = (
        cross_val_score(model, TEXTS, LABELS, cv=3, n_jobs=n_jobs).tolist() for n_jobs in (1, 2)
    )
    assert one == two
