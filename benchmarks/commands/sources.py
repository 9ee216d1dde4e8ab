"""The source files that a module runs: what it imports from this repository, directly or not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PACKAGES = ("benchmarks", "sklearn_hashnlp")
# Options, tables and files of results, which measure nothing
_NOT_MEASURING = ("benchmarks.runner.", "benchmarks.common.benchmark", "benchmarks.common.pages")
_KERNELS = ROOT / "sklearn_hashnlp" / "kernels"


@cache
def source_files(module: str) -> frozenset[Path]:
    """Return the files of a module and of all that it imports, with the C++ beside kernels."""
    files: set[Path] = set()
    waiting = [module]
    seen = {module}
    while waiting:
        path = _file_of(waiting.pop())
        if path is not None and path.stem != "__init__":  # whose names are followed one by one
            files.add(path)
            if _KERNELS in path.parents:
                folders = {path.parent, _KERNELS}
                files.update(one for folder in folders for one in folder.glob("*.[hc]pp"))
            found = _imports(path) - seen
            seen |= found
            waiting += found
    return frozenset(files)


@cache
def _file_of(module: str) -> Path | None:
    """Return the file of a module, of a package its ``__init__``; None if it is neither."""
    path = ROOT.joinpath(*module.split("."))
    places = (path.with_suffix(".py"), path / "__init__.py")
    return next((place for place in places if place.exists()), None)


@cache
def _imports(path: Path) -> set[str]:
    """Return the modules of this repository that a file imports."""
    found = set(_names(ast.parse(path.read_text(encoding="utf-8"))))
    own = {name for name in found if name.partition(".")[0] in _PACKAGES}
    return {name for name in own if not name.startswith(_NOT_MEASURING)}


def _names(tree: ast.AST) -> Iterator[str]:
    """Yield the imported modules, also those of code in strings and of names of modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (_owner(node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value.startswith(_PACKAGES):
                yield node.value
            elif any(f"from {name}" in node.value for name in _PACKAGES):
                try:
                    yield from _names(ast.parse(node.value))
                except SyntaxError:  # a text
                    continue


@cache
def _owner(package: str, name: str) -> str:
    """Return the module that defines a name, which a package may only repeat."""
    path = _file_of(package)
    if path is None or path.stem != "__init__":
        return package
    if _file_of(f"{package}.{name}") is not None:
        return f"{package}.{name}"
    stub = path.with_suffix(".pyi")
    tree = ast.parse((stub if stub.exists() else path).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module not in (None, package):
            names = {alias.asname or alias.name for alias in node.names}
            if name in names:
                return _owner(str(node.module), name)
    return package
