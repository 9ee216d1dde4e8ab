"""A recipe of milliseconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The recipe that counts, from a module that other processes find as well."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    import counting_recipe

    return counting_recipe.COUNTING
