"""The tables of the migration guides name what exists: parameters, methods, attributes, commands and their options."""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import re
import shlex
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import typer

from sklearn_hashnlp.cli import app
from tests.guides.page_blocks import DOCS

FOLDERS = ("", ".classifiers", ".datasets", ".language", ".nn", ".persistence", ".text", ".training", ".trees")
# What the pages themselves give names to.
VARIABLES = set(
    re.findall(
        r"\w+",
        """
    X y a b k lists labels words texts sentences sentence vectors batch classes path folder pipeline network tree source
    target layer context value node c n_classes num_symbols contex_size word_dict lr batch_size norm i text train valid
    min_word_freq rows order model n num_steps lm log contexts w i w2idx more reader
""",
    )
)
# Names of torch, scikit-learn, Python's files, and of modules within networks, which the code of the pages uses.
FOREIGN = set(
    re.findall(
        r"\w+",
        """Path torch nn softmax optim SGD parameters weight bias hidden_layer output_layer hidden module_
    attend_encoder attend_decoder attend_score sklearn metrics classification_report""",
    )
)


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


def public_objects() -> Iterator[Any]:
    """Yield the classes and functions of the package."""
    for folder in FOLDERS:
        module = importlib.import_module(f"sklearn_hashnlp{folder}")
        yield from (getattr(module, name) for name in module.__all__)


def known_names() -> set[str]:
    """Return public names, their attributes and parameters, and the variables of the pages."""
    known = VARIABLES | FOREIGN | set(dir(builtins)) | {folder[1:] for folder in FOLDERS}
    for folder in FOLDERS:
        known |= set(importlib.import_module(f"sklearn_hashnlp{folder}").__all__)
    for one in public_objects():
        known |= parameters(one)
        if inspect.isclass(one):
            known |= set(dir(one)) | set(re.findall(r"^    (\w+) : ", inspect.getdoc(one) or "", flags=re.MULTILINE))
            known |= set(re.findall(r"^(\w+_?) : ", inspect.getdoc(one) or "", flags=re.MULTILINE))
            known.update(*(parameters(method) for name, method in inspect.getmembers(one, callable) if name[0] != "_"))
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


def names_of(code: str) -> set[str] | None:
    """Return the names and keywords in an expression or in arguments; None of what is neither."""
    text = re.sub(r"(\w)=(?=$|,| )", r"\1=None", code.removeprefix(".")).replace("...", "")
    try:
        tree = ast.parse(f"f({text})")
    except SyntaxError:
        return None
    nodes = list(ast.walk(tree))
    names = {node.id for node in nodes if isinstance(node, ast.Name)} - {"f"}
    names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return names | {node.arg for node in nodes if isinstance(node, ast.keyword) and node.arg}


@pytest.fixture(scope="module")
def known() -> set[str]:
    return known_names()


@pytest.mark.parametrize("page", sorted({cell.page for cell in CELLS}))
def test_what_a_table_names_exists(page: str, known: set[str]) -> None:
    unknown = {}
    for code in (cell.code for cell in CELLS if cell.page == page):
        if code.startswith("hashnlp "):
            words = shlex.split(code)
            missing = {word for word in words if word.startswith("-")} - options_of(words)
        elif code.startswith("-"):
            missing = {shlex.split(code)[0]} - options_of(["hashnlp", "lm", "train"])
        else:
            missing = (names_of(code) or set()) - known
        if missing:
            unknown[code] = missing
    assert unknown == {}


def test_the_tables_are_read() -> None:
    assert len(CELLS) > 190
    assert sum(names_of(cell.code) is None for cell in CELLS if not cell.code.startswith(("hashnlp", "-"))) < 20
