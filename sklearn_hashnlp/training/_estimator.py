"""Whose call a warning is about."""

from __future__ import annotations

import sys


def level_of_user() -> int:
    """Return how far up the nearest call is that is neither this package's nor scikit-learn's."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in {"sklearn_hashnlp", "sklearn"}:
        frame, level = frame.f_back, level + 1
    return level
