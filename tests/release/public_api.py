"""The public names, their signatures, parameters and methods;
``python -m tests.release.public_api`` stores them.
"""

from __future__ import annotations

import inspect
import json
import pkgutil
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

import sklearn_hashnlp

STORED = Path(__file__).with_name("public_api.json")
_EMPTY = inspect.Parameter.empty


def public_modules() -> list[str]:
    """Return the package and its public folders that have an ``__all__``."""
    names = [
        module.name
        for module in pkgutil.iter_modules(sklearn_hashnlp.__path__)
        if not module.name.startswith("_")
    ]
    modules = ["sklearn_hashnlp", *(f"sklearn_hashnlp.{name}" for name in sorted(names))]
    return [
        name
        for name in modules
        if name != "sklearn_hashnlp.cli" and hasattr(import_module(name), "__all__")
    ]


def public_api() -> dict[str, Any]:
    """Return full name -> signature, or for a class its constructor and the methods and properties
    that are its own.
    """
    described: dict[str, Any] = {}
    for module in public_modules():
        for name in sorted(import_module(module).__all__):
            if name != "__version__":
                described[f"{module}.{name}"] = describe(getattr(import_module(module), name))
    return described


def describe(value: Any) -> Any:
    """Return what a caller may depend on."""
    if inspect.isclass(value):
        members = {}
        for base in reversed(value.__mro__):
            if base.__module__.startswith("sklearn_hashnlp"):
                members |= {
                    name: member for name, member in vars(base).items() if not name.startswith("_")
                }
        methods = {name: describe_member(member) for name, member in sorted(members.items())}
        return {"()": signature(value)} | {
            name: text for name, text in methods.items() if text is not None
        }
    if callable(value):
        return signature(value)
    return type(value).__name__


def describe_member(member: Any) -> str | None:
    if isinstance(member, classmethod | staticmethod):
        return signature(member.__func__)
    if (
        isinstance(member, property)
        or hasattr(member, "func")
        or type(member).__name__ == "_AvailableIfDescriptor"
    ):
        wrapped = getattr(member, "fn", None)
        return signature(wrapped) if wrapped is not None else "property"
    return signature(member) if inspect.isfunction(member) else None


def signature(function: Any) -> str:
    """Return names, kinds and defaults of parameters; annotations are not part of the promise."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:
        return "(...)"
    parts: list[str] = []
    keyword_only = False
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            if not any(part.startswith("*") for part in parts):
                parts.append("*")
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        keyword_only = keyword_only or stars == "*"
        default = "" if parameter.default is _EMPTY else f"={default_of(parameter.default)}"
        parts.append(f"{stars}{parameter.name}{default}")
    return f"({', '.join(parts)})"


def default_of(value: Any) -> str:
    """Return a default as text that is the same in each process and version of Python."""
    if isinstance(value, type):
        return f"<{value.__name__}>"
    if isinstance(value, Enum) or not isinstance(
        value, str | int | float | tuple | list | dict | bool | None
    ):
        return f"<{type(value).__name__}>"
    return repr(value)


if __name__ == "__main__":
    STORED.write_text(json.dumps(public_api(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
