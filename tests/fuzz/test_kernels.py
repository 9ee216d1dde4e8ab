"""Mutated texts and models for the kernels, in a process of their own; *slow*: with kernels that check addresses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_kernels_take_any_text_and_any_model() -> None:
    command = [sys.executable, "-m", "tests.fuzz.kernels", "--inputs", "5"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.stdout.startswith("{"), result.stderr[-3000:]
    counted = json.loads(result.stdout)
    assert counted["findings"] == []
    assert counted["documents"] > 10


@pytest.mark.slow
def test_kernels_read_and_write_within_bounds() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "tests.sanitize"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if "has no library for checks of addresses" in result.stderr:
        pytest.skip(result.stderr)
    assert result.returncode == 0, (result.stdout + result.stderr)[-5000:]
