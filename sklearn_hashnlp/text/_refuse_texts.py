"""Texts where rows of numbers are wanted: said so, before anything says that they cannot become numbers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from scipy.sparse import issparse

_SHOWN = 40  # characters of a text in the message


def refuse_texts(X: Any, *, caller: str, makes_rows: str) -> None:
    """Refuse a column of texts; whatever else ``X`` is, is left to scikit-learn's checks."""
    shape = getattr(X, "shape", None)
    if not isinstance(X, Collection) or issparse(X) or (isinstance(shape, tuple) and len(shape) != 1):
        return
    first = next(iter(X), None)
    if isinstance(first, str):
        shown = repr(first) if len(first) <= _SHOWN else f"{first[:_SHOWN]!r}..."
        raise ValueError(
            f"{caller} takes rows of numbers, got texts, the first of them {shown}. Put what makes rows of them before "
            f"it, as in {makes_rows}."
        )
