"""Code that the documentation site shows has lines of at most 80 columns, so that no reader has to
scroll.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
MODULES = sorted((ROOT / "sklearn_hashnlp").rglob("*.py"))
_BLOCK = re.compile(r"^```(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# up to an empty line
_DOCTEST = re.compile(r"^( *)>>> (?:.*\n)(?:\1(?! *\"\"\").*\S.*\n)*", re.MULTILINE)


def too_long(code: str) -> list[str]:
    return [line for line in code.splitlines() if len(line) > 80]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_blocks_of_a_page(page):
    blocks = _BLOCK.findall(page.read_text(encoding="utf-8"))
    # no directive, such as a glossary
    codes = [code for language, code in blocks if not language.startswith("{")]
    assert [line for code in codes for line in too_long(code)] == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example(example):
    assert too_long(example.read_text(encoding="utf-8")) == []


def test_examples_in_docstrings():
    found = {}
    for module in MODULES:
        for match in _DOCTEST.finditer(module.read_text(encoding="utf-8")):
            lines = [line.removeprefix(match[1]) for line in match[0].splitlines()]
            found |= {f"{module.name}: {line}": line for line in lines}
    assert len(found) > 500
    assert [name for name, line in found.items() if too_long(line)] == []
