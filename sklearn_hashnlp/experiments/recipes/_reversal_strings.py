"""Strings of random symbols and the same read backwards."""

from __future__ import annotations

from enum import IntEnum

import torch
from torch import Tensor


class Purpose(IntEnum):
    """What strings are drawn for, or an order is; each has a sequence of random numbers of its own."""

    fixed = 0
    validation = 1
    fresh = 2
    watch = 3
    test = 4
    order = 5
    tree = 6
    network = 7


def generator_for(seed: int, purpose: Purpose, number: int = 0) -> torch.Generator:
    """Make the generator of random numbers of one purpose."""
    import numpy as np

    state = np.random.SeedSequence([seed, purpose, number]).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(state[0]))


def draw_strings(
    n_strings: int, n_symbols: int, max_length: int, *, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Draw strings of equally probable lengths and symbols."""
    lengths = torch.randint(1, max_length + 1, (n_strings, 1), generator=generator)
    symbols = torch.randint(n_symbols, (n_strings, max_length), generator=generator)
    places = torch.arange(max_length)
    there = places < lengths
    backwards = symbols.gather(1, (lengths - 1 - places).clamp(min=0))
    return symbols.masked_fill(~there, -1), backwards.masked_fill(~there, -1)
