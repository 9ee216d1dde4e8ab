"""The ``hashnlp`` command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn_hashnlp.cli._main import main

if TYPE_CHECKING:
    import typer

    app: typer.Typer

__all__ = ["app", "main"]


def __getattr__(name: str) -> Any:
    if name == "app":  # imported after main handles Ctrl-C
        from sklearn_hashnlp.cli._app import app_for

        return app_for([])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
