"""How large the project is: ``python -m tests.sizes``, or ``python -m tests.sizes --base COMMIT``
to compare.

Lines of code hold more than a comment or a docstring; stubs and C++ count as lines and not as
files. Public names are the names in the ``__all__`` of public modules; a name that the package
repeats from its folder counts once.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import subprocess
import tarfile
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
_NO_CODE |= {tokenize.ENCODING, tokenize.ENDMARKER}
_LONG = 100  # columns
_SHORT = 80  # lines of a function


def sizes(root: Path) -> dict[str, int]:
    """Return the figures of a tree."""
    package, tests, benchmarks = (
        _sources(root / folder) for folder in ("sklearn_hashnlp", "tests", "benchmarks")
    )
    kernels = _kernels(root / "sklearn_hashnlp" / "kernels")
    cpp = [text for path, text in kernels.items() if path.suffix != ".py"]
    modules = [path for path in package if path.suffix == ".py"]
    nodes = [node for text in package.values() for node in functions(text)]
    return {
        "package: lines of code": sum(map(code_lines, package.values()))
        + sum(map(_cpp_code_lines, cpp)),
        "package: lines": _n_lines(package.values()) + _n_lines(cpp),
        "package: files": len(modules),
        "package: files of the largest folder": max(
            Counter(path.parent for path in modules).values()
        ),
        "package: lines of the longest file": max(text.count("\n") for text in package.values()),
        "package: lines of the longest function": max(map(length, nodes)),
        f"package: functions of more than {_SHORT} lines": sum(
            length(node) > _SHORT for node in nodes
        ),
        "kernels: lines of C++ and Python": _n_lines(kernels.values()),
        "benchmarks: lines": _n_lines(benchmarks.values()),
        "tests: lines": _n_lines(tests.values()),
        f"lines of more than {_LONG} columns": sum(
            len(line) > _LONG
            for text in [*package.values(), *cpp, *tests.values(), *benchmarks.values()]
            for line in text.split("\n")
        ),
        "public names": n_public_names(root),
    }


def code_lines(text: str) -> int:
    """Count the lines of code, without comments and docstrings."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            lines.difference_update(range(node.lineno, (node.end_lineno or 0) + 1))
    return len(lines)


def n_public_names(root: Path) -> int:
    """Count the names in the ``__all__`` of public modules."""
    names = json.loads((root / "tests/release/public_api.json").read_text(encoding="utf-8"))
    return len({name.rpartition(".")[2] for name in names})


def _sources(folder: Path) -> dict[Path, str]:
    paths = sorted([*folder.rglob("*.py"), *folder.rglob("*.pyi")])
    # made by the build
    return {path: path.read_text(encoding="utf-8") for path in paths if path.name != "_native.pyi"}


def _kernels(folder: Path) -> dict[Path, str]:
    paths = [path for pattern in ("*.py", "*.hpp", "*.cpp") for path in folder.rglob(pattern)]
    return {path: path.read_text(encoding="utf-8") for path in paths}


def _cpp_code_lines(text: str) -> int:
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("//") for line in text.split("\n")
    )


def functions(text: str) -> Iterator[ast.FunctionDef]:
    """Return all functions and methods of a file."""
    return (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))


def length(node: ast.FunctionDef) -> int:
    """Return the lines of a function without its docstring."""
    first = node.body[0]
    is_docstring = ast.get_docstring(node) is not None
    docstring = (first.end_lineno or 0) - first.lineno + 1 if is_docstring else 0
    return (node.end_lineno or 0) - node.lineno + 1 - docstring


def _n_lines(texts: Iterable[str]) -> int:
    return sum(text.count("\n") for text in texts)


def main() -> None:
    """Print the figures, beside those of another commit if one is given."""
    parser = argparse.ArgumentParser(prog="python -m tests.sizes", description=__doc__)
    parser.add_argument("--base", metavar="COMMIT", help="also print the figures of this commit")
    base = parser.parse_args().base
    columns = [sizes(ROOT)]
    if base is not None:
        archive = subprocess.run(
            ["git", "archive", base], cwd=ROOT, check=True, capture_output=True
        ).stdout
        with (
            tempfile.TemporaryDirectory() as folder,
            tarfile.open(fileobj=io.BytesIO(archive)) as files,
        ):
            files.extractall(folder, filter="data")
            columns.insert(0, sizes(Path(folder)))
    for name in columns[-1]:
        print(f"{name:42}", *(f"{column[name]:>8,}" for column in columns))


if __name__ == "__main__":
    main()
