"""Class counts and the random generator that tree builders are given."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

RandomState = int | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState, who: str) -> np.random.Generator:
    """Return a generator: a new one for None or a seed, the same one for a generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(int(random_state.randint(np.iinfo(np.int32).max)))
    if random_state is None:
        return np.random.default_rng()
    if not isinstance(random_state, (int, np.integer)) or isinstance(random_state, bool):
        raise TypeError(
            f"{who} wants random_state as None, an integer, a numpy Generator or a RandomState, "
            f"but {random_state!r} came."
        )
    if random_state < 0:
        raise ValueError(f"{who} wants a seed of at least 0, but random_state={random_state} came.")
    return np.random.default_rng(int(random_state))


def class_counts(counts: ArrayLike | int, who: str) -> NDArray[np.float64]:
    """Return counts as float64, all one for a number of classes."""
    if isinstance(counts, (int, np.integer)) and not isinstance(counts, bool):
        if counts < 1:
            raise ValueError(f"{who} wants one class or more, but counts={counts} came.")
        return np.ones(int(counts))
    array = np.asarray(counts)
    if array.dtype.kind not in "iuf" or array.ndim != 1:
        raise TypeError(
            f"{who} wants counts as a number of classes or a one-dimensional array of class counts, "
            f"but an array of {array.dtype} with shape {array.shape} came."
        )
    if not len(array):
        raise ValueError(f"{who} wants one class or more, but empty counts came.")
    array = array.astype(np.float64)
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise ValueError(f"{who} wants finite counts of at least 0, but class {place} has the count {array[place]}.")
    return array


def check_arity(arity: object, who: str) -> int:
    """Return an arity, or raise ValueError for less than two children."""
    if isinstance(arity, bool) or not isinstance(arity, (int, np.integer)) or arity < 2:
        raise ValueError(f"{who} wants an integer arity of at least 2, but arity={arity!r} came.")
    return int(arity)


def is_integer(value: object) -> bool:
    """Return whether a value is a whole number, of Python's or numpy's types; True and False are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def positive_counts(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Let classes that never occurred count half of the rarest that did, so that each has some weight."""
    seen = counts[counts > 0]
    return np.where(counts > 0, counts, seen.min() / 2 if len(seen) else 1.0)
