"""How often two words are expected to share what a hash embedding holds for them."""

from __future__ import annotations

import math
from typing import NamedTuple

_SMALLEST, _LARGEST = 2, 2**31 - 1  # of tables; that of nn's
_MOST_HASHES = 30  # n B^k is a float then


class Sizes(NamedTuple):
    """Sizes of the tables of a hash embedding."""

    n_embeddings: int  # rows of the importance table, from 2 to 2**31 - 1; n
    n_buckets: int  # vectors of the pool, from 2 to 2**31 - 1; B
    n_hashes: int  # vectors that a word picks from the pool, from 1 to 30; k

    @classmethod
    def parse(cls, text: str) -> Sizes:
        """Read ``"n:B:k"``."""
        try:
            sizes = cls(*map(int, text.split(":")))
        except (TypeError, ValueError):
            sizes = cls(0, 0, 0)
        if not (min(sizes[:2]) >= _SMALLEST and max(sizes[:2]) <= _LARGEST and 1 <= sizes.n_hashes <= _MOST_HASHES):
            raise ValueError(
                f"Sizes of tables must be given as n:B:k, such as 500:30:2, n and B from {_SMALLEST} to {_LARGEST} and "
                f"k from 1 to {_MOST_HASHES}, got {text!r}."
            )
        return sizes

    @property
    def n_choices(self) -> int:
        """How many ordered choices of k components there are: B^k."""
        choices: int = self.n_buckets**self.n_hashes
        return choices


def pair_chance(variant: str, what: str, sizes: Sizes) -> float:
    """Return the probability that two words share something."""
    row, choice = 1 / sizes.n_embeddings, 1 / sizes.n_choices
    chances = {
        ("improved", "embedding"): 1 / (sizes.n_embeddings * sizes.n_choices),
        ("improved", "components"): choice,
        ("improved", "any order"): row * any_order_chance(sizes.n_buckets, sizes.n_hashes),
        ("paper", "embedding"): row,
        ("paper", "components"): row + (1 - row) * choice,
        ("paper", "any order"): row,
    }
    if (variant, what) not in chances:
        raise ValueError(f"Expected a variant and what is shared out of {sorted(chances)}, got {(variant, what)}.")
    return chances[variant, what]


def any_order_chance(n_buckets: int, n_hashes: int) -> float:
    """Return the probability that two words pick the same components, each as often, in any order."""
    # Scaled by B^-k for each factor x^k, all terms stay near one.
    base = [1 / math.factorial(power) ** 2 / n_buckets**power for power in range(n_hashes + 1)]
    power_of_base, exponent = [1.0] + [0.0] * n_hashes, n_buckets
    while exponent:
        if exponent % 2:
            power_of_base = _product(power_of_base, base)
        base, exponent = _product(base, base), exponent // 2
    chance: float = power_of_base[-1] * math.factorial(n_hashes) ** 2 / n_buckets**n_hashes
    return chance


def _product(left: list[float], right: list[float]) -> list[float]:
    """Multiply two polynomials and forget the powers above the highest of each."""
    return [sum(left[i] * right[power - i] for i in range(power + 1)) for power in range(len(left))]


def expected_pairs(n_words: int, chance: float) -> float:
    """Return the expected number of pairs of words that share something."""
    return n_words * (n_words - 1) / 2 * chance


def sharing_chance(n_words: int, chance: float) -> float:
    """Return the probability that some other word shares something with a given one, as if pairs were independent."""
    return -math.expm1((n_words - 1) * math.log1p(-chance)) if chance < 1 else float(n_words > 1)


def source_bound(variant: str, n_words: int, sizes: Sizes) -> float:
    """Return the source's probability that a word shares its embedding: an upper bound."""
    row = sharing_chance(n_words, 1 / sizes.n_embeddings)
    if variant == "improved":
        return row * sharing_chance(n_words, 1 / sizes.n_choices)
    return row + (1 - row) * sharing_chance(sizes.n_embeddings, 1 / sizes.n_choices)


def pair_dispersion(variant: str, what: str, n_words: int, sizes: Sizes) -> float:
    """Return the variance of the number of sharing pairs over its mean, were all hash functions random ones."""
    chance = pair_chance(variant, what, sizes)
    dispersion = 1 - chance
    if (variant, what) == ("paper", "components") and n_words > 1:
        # Covariances of two pairs with a word in common, and of two with none, each times how many there are.
        n, words = sizes.n_embeddings, n_words
        common = (n - 1) / n**2
        apart = 2 * (n - 1) / n**3 * (words - 3) / 4
        spread = (1 - 1 / sizes.n_choices) / sizes.n_choices
        dispersion += 2 * (words - 2) * (common + apart) * spread / chance
    return dispersion
