"""The tests of Ctrl-C also pass where the parent ignores it, as a shell does in the background."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEST = """
import signal

def test_it():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""


@pytest.mark.parametrize("options", [[], ["--numprocesses", "1"]], ids=["one process", "a worker"])
def test_the_handler_of_python_is_back(options, tmp_path):
    (tmp_path / "test_it.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", *options, str(tmp_path / "test_it.py")]
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)  # which processes inherit
    try:
        done = subprocess.run([*command, "--rootdir", str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    finally:
        signal.signal(signal.SIGINT, previous)
    assert done.returncode == 0, done.stdout
