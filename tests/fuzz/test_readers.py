"""Mutated files: each reader gives a result or a ValueError that names the file; ``make fuzz``
reads many more.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.campaign import NAMES, run
from tests.fuzz.readers import READERS, read_input

_QUICK = {name: 40 if "document" in name else 80 for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_mutated_files_are_read_or_refused_by_name(name: str, tmp_path: Path) -> None:
    result = run(name, _QUICK[name], 0, tmp_path / "inputs")
    assert result["findings"] == []
    assert result["inputs"] == _QUICK[name]


@pytest.mark.parametrize("name", READERS)
def test_samples_are_legal(name: str, tmp_path: Path) -> None:
    reader = READERS[name]
    path = tmp_path / f"input{reader.suffix}"
    assert all(read_input(reader, path, content) for content in reader.samples)
