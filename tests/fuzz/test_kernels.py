"""Compiled kernels with checks of all indices, in a process of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_no_kernel_reads_or_writes_out_of_bounds() -> None:
    command = [sys.executable, "-m", "tests.fuzz.kernels", "--inputs", "2000", "--seconds", "600"]
    root = Path(__file__).parents[2]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert result.stdout.startswith("{"), result.stderr[-3000:]
    counted = json.loads(result.stdout)
    assert counted["findings"] == []
    assert counted["documents"] > 5000
