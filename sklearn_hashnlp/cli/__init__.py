"""The ``hashnlp`` command."""

from sklearn_hashnlp.cli._app import app, main

__all__ = ["app", "main"]
