"""SIGKILL at random moments: nothing half-written can be loaded, and what is resumed has the same
result.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.faults.jobs import Classifier, Job, LanguageModel, SaveModel
from tests.faults.kill import kill_job

ROOT = Path(__file__).parents[2]
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS")}

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


def kill_all(folder: Path, n_kills: int) -> list[dict[str, Any]]:
    """Kill each job so many times in a process of its own; a failed check is an error."""
    command = [sys.executable, "-m", "tests.faults.kill", folder, "--kills", str(n_kills)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | ONE_THREAD, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    figures: list[dict[str, Any]] = json.loads(done.stdout)
    return figures


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("job", [SaveModel, Classifier, LanguageModel])
def test_a_few_kills(job: type[Job], tmp_path: Path) -> None:
    figures = kill_job(job(), tmp_path, 2, random.Random(0))
    assert figures["kills"] >= 2
    assert figures["same_results"] >= 1


@pytest.mark.slow  # some minutes
def test_hundreds_of_kills(tmp_path: Path) -> None:
    figures = kill_all(tmp_path, 45)
    print(json.dumps(figures))
    assert sum(job["kills"] for job in figures) >= 200
    assert sum(job["while_writing"] for job in figures) >= 40
    assert all(job["same_results"] >= 1 for job in figures)
