"""Options that are a name, or a tuple of the name and sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn_hashnlp.trees._arrays import is_integer

_MAX_SIZE = 2**31 - 1


def split_sizes(option: Any, usual: Mapping[str, tuple[int, ...]]) -> tuple[str, tuple[int, ...]]:
    """Return the name of an option and its sizes; a name alone has the usual ones."""
    if isinstance(option, str):
        return option, usual[option]
    return option[0], tuple(int(size) for size in option[1:])


def check_sizes(
    option: Any, usual: Mapping[str, tuple[int, ...]], *, parameter: str, caller: str, besides: tuple[Any, ...] = ()
) -> None:
    """Check an option that is a name, or a tuple of the name and as many sizes as the usual ones."""
    if isinstance(option, str) and option in usual:
        return
    if isinstance(option, tuple | list) and option and isinstance(option[0], str) and usual.get(option[0]):
        sizes = option[1:]
        are_sizes = all(is_integer(size) and 1 <= size <= _MAX_SIZE for size in sizes)
        if are_sizes and len(sizes) == len(usual[option[0]]):
            return
    names = ", ".join(repr(name) for name in (*besides, *usual))
    pairs = " or ".join(repr((name, *sizes)) for name, sizes in usual.items() if sizes)
    raise ValueError(
        f"The {parameter!r} parameter of {caller} must be {names}, or a tuple of a name and integers from 1 to "
        f"{_MAX_SIZE}, such as {pairs}. Got {option!r} instead."
    )
