"""Parameters that a search tries, and the order in which it does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from scipy.stats import loguniform
from sklearn.model_selection import ParameterGrid, ParameterSampler

Space = Mapping[str, Any] | Sequence[Mapping[str, Any]]

# From so many texts on stochastic gradients train, which have parameters of their own.
_MANY_TEXTS = 20_000
# Tried first, since they are fast and often good.
_FIRST: tuple[dict[str, Any], ...] = (
    {"features": "words"},
    {"features": "words", "lowercase": False},
    {"lowercase": False},
)
_MAX_CANDIDATES = 1_000_000


class PowersOfTwo:
    """Distribution of integers: powers of two, each as probable as the others."""

    def __init__(self, smallest: int, largest: int) -> None:
        self.smallest = smallest
        self.largest = largest

    def __repr__(self) -> str:
        return f"PowersOfTwo({self.smallest}, {self.largest})"

    def rvs(self, random_state: np.random.RandomState) -> int:
        """Draw one."""
        return 1 << int(random_state.randint(self.smallest, self.largest + 1))


def default_space(n_texts: int, *, limited: bool) -> list[dict[str, Any]]:
    """Return the default distributions of parameters; of which the smaller tables are drawn more often if limited."""
    training = {"learning_rate": loguniform(0.05, 0.8), "max_epochs": [1, 2, 3]} if n_texts >= _MANY_TEXTS else {}
    words = {
        "features": ["auto", "words", "words+characters"],
        "lowercase": [True, False],
        "ngram_range": [(1, 1), (1, 2), (1, 3)],
    } | training
    characters = {"features": ["characters"], "lowercase": [True, False]} | training
    tables = {"n_buckets": PowersOfTwo(10, 19), "n_embeddings": PowersOfTwo(12, 20)}
    if limited:
        return [words, words, words | tables, words | tables, words | tables, characters | tables]
    return [words, words, words, words | tables, words | tables, characters]


def candidates(
    space: Space | None, seed: int, *, n_texts: int, limited: bool, defaults: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield parameters that differ from the defaults, none twice: first the defaults, then the usual ones."""
    spaces = (
        default_space(n_texts, limited=limited) if space is None else [space] if isinstance(space, Mapping) else space
    )
    seen: set[str] = set()
    n_repeated = 0
    for params in chain([{}], _FIRST if space is None else [], _draw(list(spaces), seed)):
        params = {name: _plain(value) for name, value in sorted(params.items())}
        params = {name: value for name, value in params.items() if not _is_default(name, value, defaults)}
        if identity(params) not in seen:
            seen.add(identity(params))
            n_repeated = 0
            yield params
        elif (n_repeated := n_repeated + 1) > 1000:  # probably all of them were tried
            return


def identity(params: Mapping[str, Any]) -> str:
    """Return a string that equal parameters share."""
    return json.dumps(params, sort_keys=True, default=repr)


def _draw(spaces: list[Mapping[str, Any]], seed: int) -> Iterator[dict[str, Any]]:
    """Draw parameters at random; of lists alone each combination once."""
    is_grid = not any(hasattr(values, "rvs") for one in spaces for values in one.values())
    n_iter = len(ParameterGrid(spaces)) if is_grid else _MAX_CANDIDATES
    yield from ParameterSampler(spaces, n_iter, random_state=seed)


def _is_default(name: str, value: Any, defaults: Mapping[str, Any]) -> bool:
    return name in defaults and identity({name: value}) == identity({name: defaults[name]})


def _plain(value: Any) -> Any:
    """Return a number of numpy as one of Python, which can be written as JSON."""
    return value.item() if isinstance(value, np.generic) else value
