"""The tables of the migration guides name what exists: parameters, commands and their options."""

from __future__ import annotations

import importlib
import inspect
import re
import shlex
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest
import typer

from sklearn_hashnlp.cli import app
from tests.guides.page_blocks import DOCS

FOLDERS = ("", ".classifiers", ".datasets", ".language", ".nn", ".persistence", ".text", ".training", ".trees")


class Cell(NamedTuple):
    """A code span in the last columns of a table, with the page it is on."""

    page: str
    code: str


def cells() -> Iterator[Cell]:
    """Yield what stands between backticks on the side of this package."""
    for page in sorted(DOCS.glob("coming_from_*.md")):
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for table in re.findall(r"(?:^\|.*\|\n)+", text, flags=re.MULTILINE):
            head, _, *rows = table.splitlines()
            if "`" not in table or any(number in head for number in ("accuracy", "seconds", "perplexity")):
                continue
            for row in rows:
                here = re.split(r"(?<!\\)\|", row.strip("|"))[1:]
                yield from (Cell(page.stem, code) for code in re.findall(r"`([^`]+)`", "|".join(here)))


CELLS = list(dict.fromkeys(cells()))


@cache
def known_parameters() -> set[str]:
    """Return the parameters of all public classes, functions and methods."""
    known: set[str] = set()
    for folder in FOLDERS:
        module = importlib.import_module(f"sklearn_hashnlp{folder}")
        for one in (getattr(module, name) for name in module.__all__):
            methods = (
                [m for name, m in inspect.getmembers(one, callable) if name[0] != "_"] if inspect.isclass(one) else []
            )
            known.update(*map(parameters, (one, *methods)))
    return known


def parameters(one: Any) -> set[str]:
    """Return the names of the parameters of a class or function."""
    try:
        return set(inspect.signature(one).parameters)
    except (TypeError, ValueError):
        return set()


def options_of(words: list[str]) -> set[str]:
    """Return the options of the command that some words begin with."""
    command: Any = typer.main.get_command(app)
    for word in words[1:]:
        if word not in getattr(command, "commands", {}):
            break
        command = command.commands[word]
    assert words[0] == "hashnlp"
    assert not getattr(command, "commands", {}) or len(words) == 2, f"there is no command {' '.join(words)}"
    return {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}


@pytest.mark.parametrize("page", sorted({cell.page for cell in CELLS}))
def test_what_a_table_names_exists(page: str) -> None:
    unknown = {}
    for code in (cell.code for cell in CELLS if cell.page == page):
        missing: set[str] = set()
        if code.startswith("hashnlp "):
            words = shlex.split(code)
            missing = {word for word in words if word.startswith("-")} - options_of(words)
        elif code.startswith("-"):
            missing = {shlex.split(code)[0]} - options_of(["hashnlp", "lm", "train"])
        elif not code.startswith("torch."):
            missing = set(re.findall(r"\b([a-z]\w+)=(?!=)", code)) - known_parameters()
        if missing:
            unknown[code] = missing
    assert unknown == {}


def test_the_tables_are_read() -> None:
    assert len(CELLS) > 190
