"""The least and the greatest n of n-grams, checked."""

from __future__ import annotations

from numbers import Integral
from typing import Any


def check_ngram_range(ngram_range: Any, *, caller: str) -> tuple[int, int]:
    """Give both ends as plain integers.

    Parameters
    ----------
    ngram_range : tuple or list
        What a user handed in.
    caller : str
        The name of the estimator, for the message.

    Returns
    -------
    (int, int)
        The least and the greatest n.

    Raises
    ------
    ValueError
        If it is not a pair of integers of which the first is at least 1 and the second not below it.

    Examples
    --------
    >>> check_ngram_range([1, 2], caller="the example")
    (1, 2)
    """
    if len(ngram_range) == 2 and all(isinstance(n, Integral) for n in ngram_range):
        min_n, max_n = ngram_range
        if 1 <= min_n <= max_n:
            return int(min_n), int(max_n)
    raise ValueError(
        f"The 'ngram_range' parameter of {caller} must be a pair (min_n, max_n) of integers with "
        f"1 <= min_n <= max_n. Got {ngram_range!r} instead."
    )
