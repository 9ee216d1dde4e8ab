"""Names and folders of a package that are imported on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, names: Mapping[str, Iterable[str]], folders: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a package with some names of its modules, and some folders."""
    homes = {name: f"{package}.{module}" for module, names_of_module in names.items() for name in names_of_module}
    modules = {folder: f"{package}.{folder}" for folder in folders}

    def load(name: str) -> Any:
        if name in modules:
            return import_module(modules[name])
        if name in homes:
            return getattr(import_module(homes[name]), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def list_names() -> list[str]:
        return sorted({*sys.modules[package].__all__, *modules})

    return load, list_names
