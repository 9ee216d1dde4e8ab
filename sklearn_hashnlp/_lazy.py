"""Names of a package that are imported on first use."""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pkgutil import get_data
from typing import Any


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return a package's ``__getattr__``, ``__dir__`` and ``__all__``, from ``__init__.pyi``."""
    statements = ast.parse(get_data(package, "__init__.pyi") or b"").body
    modules = {
        name.name: node.module
        for node in statements
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    public = next(
        ast.literal_eval(node.value) for node in statements if isinstance(node, ast.Assign)
    )

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            if modules[name] == package:  # a folder of the package
                return import_module(f"{package}.{name}")
            return getattr(import_module(str(modules[name])), name)
        except AttributeError as error:  # from it, Python would conclude that there is no such name
            raise ImportError(
                f"{package}.{name} cannot be imported: {error}.", name=package
            ) from error

    return load, lambda: sorted({*public, *modules}), public
