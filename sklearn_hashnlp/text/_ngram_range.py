"""The least and the greatest n of n-grams, checked."""

from __future__ import annotations

from numbers import Integral
from typing import Any


def check_ngram_range(ngram_range: Any, *, caller: str) -> tuple[int, int]:
    """Return both ends as plain integers."""
    if len(ngram_range) == 2 and all(isinstance(n, Integral) for n in ngram_range):
        min_n, max_n = ngram_range
        if 1 <= min_n <= max_n:
            return int(min_n), int(max_n)
    raise ValueError(
        f"The 'ngram_range' parameter of {caller} must be a pair (min_n, max_n) of integers with "
        f"1 <= min_n <= max_n. Got {ngram_range!r} instead."
    )
