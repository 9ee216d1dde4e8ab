"""Seeded one-line breaks, and the tests that catch them: ``python -m tests.seeded_breaks --base COMMIT``.

A break changes an operator or a bound, or drops a guard, in a line of the package at that commit. It is applied to the
same line at a later commit, and the tests of its folder and the contract run until one fails. A break that is not
caught is tried with the tests of the earlier commit: if they catch it, a test was lost.

``--coverage FILE`` saves most of the time: at the later commit only the tests that reach the line run. The file is
written at that commit by ``python -m pytest -n2 --cov=sklearn_hashnlp --cov-context=test``.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import random
import subprocess
import sys
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from coverage import CoverageData

ROOT = Path(__file__).parents[1]
_SEED = 33
_MOST_TESTS = 300  # that reach a line
_OPERATORS = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}


@dataclass(frozen=True)
class Break:
    """A change of one line: the file, its function, the line before and after."""

    path: str
    function: str
    old: str
    new: str
    kind: str

    def apply(self, root: Path) -> int:
        """Change the line in a tree, and return its number; 0 if the tree does not have it in that function."""
        path = root / self.path
        if not path.exists():
            return 0
        lines = path.read_text(encoding="utf-8").split("\n")
        rows = [
            number
            for node in _functions(ast.parse("\n".join(lines)))
            if node.name == self.function
            for number in range(node.lineno - 1, node.end_lineno or node.lineno)
            if lines[number].strip() == self.old.strip()
        ]
        if not rows:
            return 0
        indent = lines[rows[0]][: len(lines[rows[0]]) - len(lines[rows[0]].lstrip())]
        lines[rows[0]] = indent + self.new.strip()
        path.write_text("\n".join(lines), encoding="utf-8")
        return rows[0] + 1


def seeded_breaks(root: Path, n_breaks: int, seed: int = _SEED) -> list[Break]:
    """Choose breaks at random, in turn from the folders of a tree."""
    generator = random.Random(seed)
    folders = defaultdict(list)
    for path in sorted((root / "sklearn_hashnlp").glob("*/**/*.py")):
        folders[path.relative_to(root).parts[1]].extend(_breaks_of(path, path.relative_to(root).as_posix()))
    for breaks in folders.values():
        generator.shuffle(breaks)
    results: list[Break] = []
    while len(results) < n_breaks:
        results += [
            next(change for change in iter(folders[name].pop, None) if _is_valid(change, root))
            for name in sorted(folders)
        ]
    return results[:n_breaks]


def _breaks_of(path: Path, name: str) -> list[Break]:
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    return [
        Break(name, function.name, lines[row].strip(), new.strip(), kind)
        for function in _functions(ast.parse(text))
        for node in ast.walk(function)
        for row, new, kind in _changes(node, lines)
    ]


def _changes(node: ast.AST, lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """Yield the row, the new line and the kind of each change at a node of the syntax tree."""
    if isinstance(node, ast.Compare | ast.BinOp):
        operator = node.ops[0] if isinstance(node, ast.Compare) else node.op
        left, right = node.left, node.comparators[0] if isinstance(node, ast.Compare) else node.right
        if type(operator) in _OPERATORS and left.end_lineno == right.lineno and not _holds_text(node):
            row, start, stop = right.lineno - 1, left.end_col_offset, right.col_offset
            old, new = _OPERATORS[type(operator)]
            line = lines[row]
            if line.isascii() and line[start:stop].strip() == old:
                yield row, f"{line[:start]} {new} {line[stop:]}", "operator"
        if isinstance(right, ast.Constant) and type(right.value) is int and right.lineno == right.end_lineno:
            line = lines[right.lineno - 1]
            if line.isascii():
                changed = f"{line[: right.col_offset]}{right.value + 1}{line[right.end_col_offset :]}"
                yield right.lineno - 1, changed, "bound"
    if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise) and lines[node.lineno - 1].endswith(":"):
        line = lines[node.lineno - 1]
        yield node.lineno - 1, line[: node.col_offset] + ("elif" if "elif" in line else "if") + " False:", "guard"


def _holds_text(node: ast.AST) -> bool:
    return any(isinstance(item, ast.JoinedStr) for item in ast.walk(node))


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _is_valid(change: Break, root: Path) -> bool:
    text = (root / change.path).read_text(encoding="utf-8")
    try:
        ast.parse(text.replace(change.old, change.new, 1))
    except SyntaxError:
        return False
    return True


def is_caught(tree: Path, change: Break, seconds: float, reached: CoverageData | None = None) -> bool | None:
    """Apply a break to a tree and run its tests; return None if the tree does not have the line."""
    path = tree / change.path
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if not (line := change.apply(tree)):
        return None
    folder = Path(change.path).parts[1]
    tests = [name for name in (f"tests/{folder}", "tests/contract") if (tree / name).exists()]
    try:
        near = [] if reached is None else _tests_at(reached, change.path, line)
        return _fails(tree, near or tests, seconds)
    finally:
        path.write_text(text, encoding="utf-8")


def _tests_at(reached: CoverageData, path: str, line: int) -> list[str]:
    """Return tests that reach a line, at most some hundreds."""
    contexts = reached.contexts_by_lineno(str(ROOT / path)).get(line, [])
    tests = sorted({context.split("|")[0].split("[")[0] for context in contexts if context.startswith("tests/")})
    return random.Random(_SEED).sample(tests, min(len(tests), _MOST_TESTS))


def _fails(tree: Path, tests: list[str], seconds: float) -> bool:
    try:
        result = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "-n2", "-p", "no:cacheprovider", *tests],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree)},
            capture_output=True,
            timeout=seconds,
        )
        return result.returncode in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED)
    except subprocess.TimeoutExpired:
        return True  # a loop without end


def _tree_of(commit: str, folder: Path) -> Path:
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as file:
        file.extractall(folder, filter="data")
    return folder


def main(arguments: list[str] | None = None) -> int:
    """Print a line a break; return 1 if a break is caught by the tests of the commit alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", required=True, help="the commit before")
    parser.add_argument("--head", default="HEAD", help="the commit after")
    parser.add_argument("-n", type=int, default=60, help="how many breaks")
    parser.add_argument("--seed", type=int, default=_SEED)
    parser.add_argument("--coverage", type=Path, help="data of coverage with the tests that reach each line")
    parser.add_argument("--seconds", type=float, default=900.0, help="time limit of the tests of a break")
    options = parser.parse_args(arguments)
    n_lost, reached = 0, None
    if options.coverage is not None:
        from coverage import CoverageData

        reached = CoverageData(str(options.coverage))
        reached.read()
    with tempfile.TemporaryDirectory() as folder:
        base, head = (
            _tree_of(commit, Path(folder, name)) for name, commit in (("base", options.base), ("head", options.head))
        )
        for change in seeded_breaks(base, options.n, options.seed):
            after = is_caught(head, change, options.seconds, reached)
            before = is_caught(base, change, options.seconds) if after is False else None
            n_lost += bool(before)
            print(json.dumps({**asdict(change), "caught_after": after, "caught_before": before}), flush=True)
    print(f"{n_lost} breaks are caught by the tests of {options.base} alone")
    return int(n_lost > 0)


if __name__ == "__main__":
    sys.exit(main())
