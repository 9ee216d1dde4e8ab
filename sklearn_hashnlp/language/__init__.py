"""Language models; the names load torch on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "HsigmoidLanguageModel": "_hsigmoid_language_model",
}

__all__ = ["HsigmoidLanguageModel"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
