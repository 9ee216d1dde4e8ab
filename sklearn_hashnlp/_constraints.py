"""Constraints of parameters outside of estimators, and of the shapes and dtypes of arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import EllipsisType
from typing import Any, NamedTuple, TypeGuard

import numpy as np


class Constraint(NamedTuple):
    """The values that a parameter may have, described after "must be"."""

    wanted: str
    accepts: Callable[[Any], bool]


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer of Python or numpy, but not a bool."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


FLAG = Constraint("True or False", lambda value: isinstance(value, bool | np.bool_))


def integer(low: int = 1, high: int | None = None) -> Constraint:
    """Return the constraint of a size or a number."""
    limits = f"of at least {low}" if high is None else f"from {low} to {high}"
    return Constraint(
        f"an integer {limits}",
        lambda value: is_integer(value) and low <= value and (high is None or value <= high),
    )


def number(low: float = 0, high: float = math.inf, *, above: bool = False) -> Constraint:
    """Return the constraint of a number from low (without low itself if ``above``) to high."""
    limits = f"{'above' if above else 'of at least'} {low}"
    if high < math.inf:
        limits = f"above {low} and at most {high}" if above else f"from {low} to {high}"
    return Constraint(
        f"a number {limits}", lambda value: low <= value <= high and not (above and value == low)
    )


def one_of(*options: object) -> Constraint:
    """Return the constraint of a choice."""
    return Constraint(f"one of {options}", lambda value: value in options)


def none_or(constraint: Constraint) -> Constraint:
    """Return the constraint of a parameter that may also be None."""
    return Constraint(
        f"None or {constraint.wanted}", lambda value: value is None or constraint.accepts(value)
    )


def check_parameters(
    caller: str, constraints: Mapping[str, Constraint], values: Mapping[str, Any]
) -> None:
    """Raise an error for the first value that violates its constraint; ignore other ``values``."""
    for name, constraint in constraints.items():
        if not constraint.accepts(values[name]):
            raise ValueError(
                f"{caller}: {name} must be {constraint.wanted}, got {values[name]!r:.200}."
            )


def check_shape(
    caller: str, name: str, array: Any, *shape: int | str | EllipsisType, note: str = ""
) -> None:
    """Raise an error for an array of another shape; a string names an axis of any length."""
    found, wanted = tuple(array.shape), shape
    if shape[:1] == (...,):
        wanted = shape[1:]
        found = found[max(len(found) - len(wanted), 0) :]
    if len(found) != len(wanted) or any(
        isinstance(size, int) and size != length for size, length in zip(wanted, found, strict=True)
    ):
        sizes = ", ".join("..." if size is ... else str(size) for size in shape)
        sizes += "," * (len(shape) == 1)
        raise ValueError(
            f"{caller}: {name} must have shape ({sizes}){note}, got {tuple(array.shape)}."
        )


def check_dtype(caller: str, name: str, array: Any, *dtypes: Any) -> None:
    """Raise an error for an array or a tensor of another dtype."""
    if array.dtype not in dtypes:
        wanted = " or ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)
        raise TypeError(f"{caller}: {name} must have dtype {wanted}, got {array.dtype}.")
