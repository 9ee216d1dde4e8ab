"""The migration guides, the README and the page on your own experiments do what they say, line by
line.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.docs.page_blocks import DOCS, blocks, follow

OTHERS = (DOCS / "own_experiments.md", DOCS.parent / "README.md")
PAGES = [
    page
    for page in (*DOCS.glob("coming_from_*.md"), *OTHERS)
    if any(block.language == "text" for block in blocks(page))  # what the commands print
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_does_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    loaded = set(sys.modules)
    try:
        assert follow(page) > 0
    finally:
        for name in set(sys.modules) - loaded:
            if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
                del sys.modules[name]
