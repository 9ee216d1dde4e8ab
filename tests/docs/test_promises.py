"""The page of promises names tests that exist, and says which of them are slow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = [
    line
    for line in (ROOT / "docs" / "promises.md").read_text(encoding="utf-8").splitlines()
    if "tests/" in line
]
NAMED = [
    match
    for row in ROWS
    for match in re.findall(r"(\*slow\* )?(tests/[\w/]+\.py)(?:::(\w+))?", row)
]


@pytest.mark.parametrize(
    ("slow", "path", "name"), NAMED, ids=[f"{path}-{name}" for _, path, name in NAMED]
)
def test_a_promise_is_held_by_a_test(slow, path, name):
    text = (ROOT / path).read_text(encoding="utf-8")
    definition = re.search(
        rf"((?:^@.*\n(?:^[ )\]].*\n)*)*)^def {name or 'test_'}", text, re.MULTILINE
    )
    assert definition, f"docs/promises.md names {path}::{name}, which does not exist"
    if name:
        module_is_slow = re.search(r"^pytestmark = .*slow", text, re.MULTILINE) is not None
        assert bool(slow) == (module_is_slow or "mark.slow" in definition[1])


def test_every_row_names_a_test_or_a_command():
    rows = [
        row
        for row in (ROOT / "docs" / "promises.md").read_text(encoding="utf-8").splitlines()
        if row[:2] == "| "
    ]
    assert all(
        "tests/" in row or "`make " in row for row in rows if not row.startswith("| promise ")
    )
    assert len(rows) > 30
