"""In how many places of the package an idea is known, and where: ``python -m tests.places``.

A place is a file, or a statement that raises an error, in which all patterns of an idea are found.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

ROOT = Path(__file__).parents[1]


class Idea(NamedTuple):
    """Where to look for an idea, and by which regular expressions."""

    name: str
    unit: Literal["file", "error"]
    folders: tuple[str, ...]  # of the package; none: the whole package
    patterns: tuple[str, ...]


IDEAS = (
    Idea(
        "how much a text says",
        "file",
        (),
        (
            r"(?i)evidence|enough_|\bcrop|with_prior|\(1(\.0)? - \w+\) \* .*prior"
            r"|prior.* \* \(1(\.0)? - |how (much|little) (a|each|one|the) (text|row)"
            r"|(length|share|weight)s? of (\w+ )?known (n-gram|column)",
        ),
    ),
    Idea(
        "may a training continue?",
        "error",
        ("classifiers", "language", "sentences", "training"),
        (r"(?i)(cannot|can not|can't|unable to) (continue|resume|go on|take over)|\bset \S+ back",),
    ),
    Idea(
        "a reader of the tables of a saved text model",
        "file",
        ("classifiers", "inspection", "cli"),
        (r"unpack_table\(|\.bitmap\b",),
    ),
    Idea(
        "a cross-validation of the linear model",
        "file",
        (),
        (r"fold_of\W+!=|for fold in|~left_out", r"LinearProblem|DualSolver\("),
    ),
)


def places(root: Path, idea: Idea) -> list[tuple[str, str]]:
    """Return the file of each place and its statement, empty for a place that is a file."""
    package = root / "sklearn_hashnlp"
    return [
        (path.relative_to(package).as_posix(), "" if idea.unit == "file" else text)
        for folder in idea.folders or ("",)
        for path in sorted((package / folder).rglob("*.py"))
        for text in _pieces(path.read_text(encoding="utf-8"), idea.unit)
        if all(re.search(pattern, text) for pattern in idea.patterns)
    ]


def _pieces(text: str, unit: str) -> Iterator[str]:
    if unit == "file":
        yield text
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Raise):
            yield ast.unparse(node)


def main() -> None:
    """Print the number of places of each idea, and the places."""
    for idea in IDEAS:
        found = places(ROOT, idea)
        print(f"{idea.name}: {len(found)} in {len({file for file, _ in found})} files")
        for file, statement in found:
            print(f"    {file}  {statement}".rstrip())


if __name__ == "__main__":
    main()
