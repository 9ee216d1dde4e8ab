"""Mutated texts and models for the kernels; *slow*: with kernels that check addresses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.kernels import run

ROOT = Path(__file__).parents[2]


def test_kernels_take_any_text_and_any_model() -> None:
    counted = run(3, seed=0, seconds=float("inf"))
    assert counted["findings"] == []
    assert counted["documents"] > 10


@pytest.mark.slow
def test_kernels_read_and_write_within_bounds() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "tests.sanitize"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if "has no library for checks of addresses" in result.stderr:
        pytest.skip(result.stderr)
    assert result.returncode == 0, (result.stdout + result.stderr)[-5000:]
