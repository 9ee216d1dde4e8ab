"""Models in spawned processes and joblib's workers, and kernels that two processes compile at once."""

import json
import multiprocessing
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from joblib import Parallel, delayed
from sklearn.model_selection import cross_val_score

import sklearn_hashnlp
from sklearn_hashnlp.persistence import load_model, save_model
from tests.concurrency.models import LABELS, TEXTS, answer, answers, small_text_classifier
from tests.kernels.test_compile import FIRST_USE
from tests.trainings import assert_same_bits

pytestmark = pytest.mark.slow  # every process imports torch
SECONDS = 900  # compiling on a busy machine takes long; a deadlock lasts for ever
ROOT = Path(__file__).parents[2]


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
    one, two = (cross_val_score(model, TEXTS, LABELS, cv=3, n_jobs=n_jobs).tolist() for n_jobs in (1, 2))
    assert one == two


def start(code: str, **environment: str) -> subprocess.Popen[str]:
    """Start an interpreter with some code."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    environment = {**inherited, "PYTHONPATH": str(ROOT), **environment}
    folder = environment["PYTHONPATH"]  # where it starts comes first among the folders of modules
    return subprocess.Popen(
        [sys.executable, "-c", code], env=environment, cwd=folder, stdout=subprocess.PIPE, text=True
    )


def output(process: subprocess.Popen[str]) -> list[Any]:
    """Return the JSON that a process prints."""
    printed, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    result: list[Any] = json.loads(printed)
    return result


def test_processes_that_compile_at_once_leave_a_cache_that_later_ones_load(tmp_path: Path) -> None:
    cache = {"NUMBA_CACHE_DIR": str(tmp_path)}
    found = [output(process) for process in [start(FIRST_USE, **cache) for _ in range(3)]]
    assert {(misses, hits) for _, hits, misses in found} <= {(1, 0), (0, 1)}
    result, hits, misses = output(start(FIRST_USE, **cache))
    assert (hits, misses) == (1, 0)
    assert all(other == result for other, _, _ in found)


@pytest.mark.parametrize("home", ["writable", "unusable"])
def test_an_install_that_cannot_be_written_compiles_into_the_users_cache_or_for_itself(
    home: str, tmp_path: Path
) -> None:
    package, install = Path(sklearn_hashnlp.__file__).parent, tmp_path / "install"
    shutil.copytree(package, install / "sklearn_hashnlp", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in {path.parent for path in install.rglob("*.py")}:
        (folder / "__pycache__").touch()  # a file where a folder is wanted: not even root can write there
    (tmp_path / "home").mkdir()
    own = {"PYTHONPATH": str(install), "HOME": str(tmp_path / "home") if home == "writable" else os.devnull}
    found = [output(start(FIRST_USE, **own)) for _ in range(2)]
    assert found[0][0] == found[1][0]
    assert [counts[1:] for counts in found] == [[0, 1], [1, 0] if home == "writable" else [0, 1]]
