"""Training on a stream of files in constant memory, in time that grows with the number of documents."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow  # a quarter of an hour
@pytest.mark.skipif(sys.platform != "linux", reason="limits and measures memory")
def test_ten_million_documents_in_bounded_memory(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.datasets.stream_training", "--documents", "10000000", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    print(json.dumps(figures))
    assert figures["documents"] == 10_000_000
    assert figures["peak_mb"] <= figures["peak_mb_after_first_tenth"] + 64
    assert figures["seconds_of_last_tenth"] <= 1.5 * figures["seconds_of_first_tenth"]
    assert figures["train_loss"][1] < figures["train_loss"][0]
