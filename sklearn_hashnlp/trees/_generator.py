"""A random generator from what users pass as `random_state`."""

from __future__ import annotations

import numpy as np

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
