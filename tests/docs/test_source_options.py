"""The table of the options of the sources, docs/experiments.md, names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| (.+?) \| (.+) \| `(tests/[^`]+)` \|$",
    PAGE.split("## Options of the other sources")[1],
    re.MULTILINE,
)
SOURCES = {"hash embeddings", "Paddle", "TensorFlow", "notebook", "report"}


def test_every_source_has_options():
    assert {source for source, *_ in ROWS} == SOURCES
    assert len(ROWS) >= 30


@pytest.mark.parametrize("test", sorted({test for *_, test in ROWS}))
def test_a_test_of_the_table_exists(test):
    file, _, name = test.partition("::")
    assert re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
