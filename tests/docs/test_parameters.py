"""Parameters that pages of the docs name for a class are parameters of this class."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from inspect import getmembers, isclass, isfunction, signature
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import BaseEstimator

from sklearn_hashnlp.training._settings import Bundle
from tests.contract.test_parameters import public_names

ROOT = Path(__file__).parents[2]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"])
OF_FILES = {"exported_format.md"}  # its names are the keys of a file
ENTRIES: dict[str, Any] = {name: entry for name, entry in public_names() if callable(entry)}
ESTIMATORS = {
    name: set(signature(entry).parameters)
    for name, entry in ENTRIES.items()
    if name.startswith("make_") or (isclass(entry) and issubclass(entry, BaseEstimator))
    if not (isclass(entry) and issubclass(entry, Bundle))
}
# A user of TextClassifier may take them for parameters of this class.
INNER = ESTIMATORS["HashEmbeddingClassifier"] - ESTIMATORS["TextClassifier"]
_PARTS = re.compile(r"\n\s*\n|\n(?=\||- |\d\. )")  # paragraphs, rows of a table, elements of a list
_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@cache
def parameters(name: str) -> set[str]:
    """Return the parameters of a class and of its methods, or of a function."""
    entry = ENTRIES[name]
    methods = (
        [method for key, method in getmembers(entry, isfunction) if key[0] != "_"]
        if isclass(entry)
        else []
    )
    try:
        return {parameter for call in (entry, *methods) for parameter in signature(call).parameters}
    except ValueError:  # an exception
        return set()


def calls(code: str) -> Iterator[tuple[str, str]]:
    """Yield the name of a called class or function, "" outside of a call, and each keyword."""
    for form in (f"_({code})", code):  # arguments or an expression, and statements
        with suppress(SyntaxError):
            tree = ast.parse(form)
            break
    else:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = (
                node.func.attr
                if isinstance(node.func, ast.Attribute)
                else getattr(node.func, "id", "")
            )
            yield from ((name.strip("_"), keyword.arg) for keyword in node.keywords if keyword.arg)


def wrong_calls(text: str) -> list[str]:
    """Return the keywords in code, within a text or a block, that a class does not have."""
    codes = [
        *re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text),
        *re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S),
    ]
    lines = [
        "".join(line[4:] + "\n" for line in code.splitlines() if line[:4] in (">>> ", "... "))
        for code in codes
    ]
    pairs = [
        pair for code, plain in zip(codes, lines, strict=True) for pair in calls(plain or code)
    ]
    return [
        f"{name}({key}=)" for name, key in pairs if name in ENTRIES and key not in parameters(name)
    ]


def wrong_parameters(text: str) -> list[str]:
    """Return the parameters in paragraphs, rows and elements that the class that was last named
    does not have.
    """
    found = []
    of_page = next(({name} for name in re.findall(r"\w+", text) if name in ESTIMATORS), set[str]())
    for section in re.split(r"^##+ ", text, flags=re.MULTILINE):
        blocks, last = iter(_BLOCK.findall(section)), of_page
        for part in _PARTS.split(_BLOCK.sub("\n\nBLOCK\n\n", section)):
            is_block = part.strip() == "BLOCK"
            named = set(re.findall(r"\w+", next(blocks) if is_block else part)) & set(ESTIMATORS)
            last = named or last
            spans = [] if is_block else re.findall(r"`([^`\n]+)`", part)
            names = {key for span in spans for name, key in calls(span) if not name}
            names |= {span.removesuffix("=") for span in spans}
            found += [
                f"{name} of {sorted(last)}: {part.strip()[:60]}"
                for name in sorted(names & INNER)
                if last and not any(name in ESTIMATORS[estimator] for estimator in last)
            ]
    return found


def test_what_is_wrong_is_found():
    assert {"warm_start", "schedule", "calibrate", "callbacks", "batch_size"} <= INNER
    assert wrong_calls(
        "`TextClassifier(batch_size=3)` and `HashEmbeddingClassifier(batch_size=3)`"
    ) == ["TextClassifier(batch_size=)"]
    block = "```python\n>>> x = Schedule(\n...     speed=3, plateau=None\n... )\n\n```"
    assert wrong_calls(block) == ["Schedule(speed=)"]
    of_texts = "`TextClassifier`"
    parts = (
        of_texts,
        "With `{0}` it",
        "`HashEmbeddingClassifier` has `{0}`",
        "## Next",
        of_texts,
        "- `{0}`",
    )
    page = "\n\n".join(parts)
    for name in (
        "warm_start",
        "warm_start=",
        "warm_start=True",
        "learning_rate=1, warm_start=True",
    ):
        assert len(wrong_parameters(page.format(name))) == 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_parameters_of_a_page_exist(page):
    text = page.read_text(encoding="utf-8")
    if page.name.startswith("coming_from_"):  # the first column has names of another program
        text = re.sub(r"^\|.*?(?<!\\)\|", "|", text, flags=re.MULTILINE)
    assert wrong_calls(text) == []
    assert page.name in OF_FILES or wrong_parameters(text) == []
