"""The table of what is in the package names public classes and functions, and every class of the first level."""

from __future__ import annotations

import importlib
import inspect
import re

import sklearn_hashnlp
from tests.guides.page_blocks import DOCS

ROWS = [row for row in (DOCS / "contents.md").read_text(encoding="utf-8").splitlines() if row.startswith("| `")]
NAMES = [name for row in ROWS for name in re.findall(r"`([\w.]+)`", row.split("|")[1])]


def test_each_name_is_public() -> None:
    assert len(NAMES) > 30
    for name in NAMES:
        folder, _, last = name.rpartition(".")
        if name in ("hashnlp", "trees"):  # the command; a folder
            continue
        module = importlib.import_module(f"sklearn_hashnlp.{folder}" if folder else "sklearn_hashnlp")
        assert last in module.__all__, name


def test_every_public_class_is_named() -> None:
    text = (DOCS / "contents.md").read_text(encoding="utf-8")
    classes = [name for name in sklearn_hashnlp.__all__ if inspect.isclass(getattr(sklearn_hashnlp, name))]
    assert [name for name in classes if name not in text] == []
