"""The defaults that docstrings name are those of the signatures."""

from __future__ import annotations

import inspect
import re
from importlib import import_module

import pytest

from tests.release.public_api import public_api

NAMES = sorted(name for name in public_api() if name.count(".") == 2)


def described(docstring: str) -> dict[str, str]:
    """Return parameter -> default, from the lines of a section of parameters."""
    sections = re.split(r"\n\s*(\w[\w ]*)\n\s*-{3,}\n", inspect.cleandoc(docstring))
    text = "".join(
        body
        for title, body in zip(sections[1::2], sections[2::2], strict=True)
        if title == "Parameters"
    )
    lines = re.findall(r"^(\w[\w, ]*) : (.*(?:\\\n.*)*)$", text, re.MULTILINE)
    found = [(names, re.search(r"default=(.*)$", kind)) for names, kind in lines]
    pairs = [(names.split(", "), match[1]) for names, match in found if match]
    return {
        name: value
        for names, text in pairs
        for name, value in zip(names, values(text, len(names)), strict=True)
    }


def values(text: str, n_names: int) -> list[str]:
    """Return the default of each name: one for all, or as many as there are names."""
    parts = text.split(", ")
    return parts if len(parts) == n_names else [text] * n_names


def same(text: str, value: object) -> bool:
    """Return whether a text is a value, also computed: 2**20."""
    if re.fullmatch(r"[\d._*e-]+", text):
        return bool(eval(text) == value)
    if inspect.isclass(value):
        return text.strip("`") == f"numpy.{value.__name__}"
    text = text.replace("\\\\", "\\")  # of reStructuredText
    return text.removeprefix("r").strip("\"'`") == str(value) or text.replace('"', "'") == repr(
        value
    )


def test_defaults_are_found():
    values_ = [
        getattr(import_module(name.rpartition(".")[0]), name.rpartition(".")[2]) for name in NAMES
    ]
    assert sum(len(described(value.__doc__ or "")) for value in values_) > 300


@pytest.mark.parametrize("full_name", NAMES)
def test_defaults_are_those_of_the_signature(full_name):
    module, _, name = full_name.rpartition(".")
    value = getattr(import_module(module), name)
    methods = [
        method
        for name, method in inspect.getmembers(value, inspect.isfunction)
        if not name.startswith(("_", "set_"))
    ]
    for documented in [value, *methods]:
        try:
            signature = inspect.signature(documented)
        except (TypeError, ValueError):
            continue
        defaults = {
            p.name: p.default for p in signature.parameters.values() if p.default is not p.empty
        }
        wrong = {
            parameter: (text, defaults[parameter])
            for parameter, text in described(documented.__doc__ or "").items()
            if parameter in defaults and not same(text, defaults[parameter])
        }
        assert wrong == {}, documented
