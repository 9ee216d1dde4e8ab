"""The examples run to their end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


CLUSTER = EXAMPLES / "07_larger_than_one_machine"  # needs engines that tests do without: see test_cluster_examples


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", sorted(set(EXAMPLES.rglob("*.py")) - set(CLUSTER.glob("*.py"))), ids=lambda path: path.stem
)
def test_an_example_runs(path, tmp_path):
    done = subprocess.run(
        [sys.executable, str(path)], cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert list(tmp_path.glob("*.png"))


def test_there_are_examples():
    assert list(EXAMPLES.rglob("*.py"))
