"""Arguments of the functions that build trees: class counts, random state, arity."""

from __future__ import annotations

from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

RandomState = int | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState, who: str) -> np.random.Generator:
    """Return a random generator: a new one for None or a seed, the same for a generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(int(random_state.randint(np.iinfo(np.int32).max)))
    if random_state is None:
        return np.random.default_rng()
    if not is_integer(random_state):
        raise TypeError(
            f"{who}: random_state must be None, an integer, a numpy Generator or a RandomState, got {random_state!r}."
        )
    if random_state < 0:
        raise ValueError(f"{who}: random_state must be at least 0, got {random_state}.")
    return np.random.default_rng(int(random_state))


def class_counts(counts: ArrayLike | int, who: str) -> NDArray[np.float64]:
    """Return class counts as float64; ones for a number of classes."""
    if is_integer(counts):
        if counts < 1:
            raise ValueError(f"{who}: counts must be the number of classes, 1 or more, got {counts}.")
        return np.ones(int(counts))
    array = np.asarray(counts)
    if array.dtype.kind not in "iuf" or array.ndim != 1:
        raise TypeError(
            f"{who}: counts must be the number of classes or a one-dimensional array of class counts, "
            f"got an array of {array.dtype} with shape {array.shape}."
        )
    if not len(array):
        raise ValueError(f"{who}: counts must have one class or more, got an empty array.")
    array = array.astype(np.float64)
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        index = int(np.argmax(wrong))
        raise ValueError(f"{who}: counts must be finite and at least 0, got {array[index]} for class {index}.")
    return array


def check_arity(arity: object, who: str) -> int:
    """Return an arity as int, or raise ValueError unless it is 2 or more."""
    if not is_integer(arity) or arity < 2:
        raise ValueError(f"{who}: arity must be an integer of at least 2, got {arity!r}.")
    return int(arity)


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer of Python or numpy, but not a bool."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def positive_counts(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace zero counts by half of the smallest positive count."""
    positive = counts[counts > 0]
    return np.where(counts > 0, counts, positive.min() / 2 if len(positive) else 1.0)
