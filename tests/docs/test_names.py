"""The tables of the migration guides name what exists: parameters, commands and their options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from sklearn_hashnlp.cli import app
from tests.docs.page_blocks import DOCS
from tests.release.public_api import public_api


def codes(page: Path) -> Iterator[str]:
    """Yield what stands between backticks in the columns of this package, of all tables without
    figures.
    """
    text = re.sub(
        r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    for table in re.findall(r"(?:^\|.*\|\n)+", text, flags=re.MULTILINE):
        head, _, *rows = table.splitlines()
        if not any(number in head for number in ("accuracy", "seconds", "perplexity")):
            for row in rows:
                yield from re.findall(
                    r"`([^`]+)`", "|".join(re.split(r"(?<!\\)\|", row.strip("|"))[1:])
                )


@cache
def known_parameters() -> set[str]:
    """Return the parameters of all public classes, functions and methods."""
    parts = [
        value.values() if isinstance(value, dict) else [value] for value in public_api().values()
    ]
    return {
        name
        for part in parts
        for text in part
        for name in re.findall(r"(?<![\w'])[a-z]\w*(?![\w'])", text)
    }


def known_options(words: list[str]) -> set[str]:
    """Return the options of the command that some words begin with."""
    command: Any = typer.main.get_command(app)
    for word in words[1:]:
        if word not in getattr(command, "commands", {}):
            break
        command = command.commands[word]
    assert not getattr(command, "commands", {}) or len(words) == 2, (
        f"there is no command {' '.join(words)}"
    )
    return {
        option
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }


@pytest.mark.parametrize("page", sorted(DOCS.glob("coming_from_*.md")), ids=lambda page: page.stem)
def test_what_a_table_names_exists(page: Path) -> None:
    for code in codes(page):
        if code.startswith(("hashnlp ", "-")):
            words = shlex.split(code if code.startswith("h") else f"hashnlp lm train {code}")
            assert {word for word in words if word.startswith("-")} <= known_options(words), code
        elif not code.startswith("torch."):
            assert set(re.findall(r"\b([a-z]\w+)=(?!=)", code)) <= known_parameters(), code
