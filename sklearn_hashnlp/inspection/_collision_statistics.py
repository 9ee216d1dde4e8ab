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


class Counted(NamedTuple):
    """Sums over trials."""

    n_trials: int = 0  # how many trials
    pairs: int = 0  # pairs of words that share something
    squared_pairs: int = 0  # sum of the squares of a trial's pairs
    sharing_words: int = 0  # words that share it with any other
    squared_sharing_words: int = 0  # sum of the squares of a trial's sharing words

    def plus(self, other: Counted) -> Counted:
        """Take the trials of another together with these."""
        return Counted(*(own + more for own, more in zip(self, other, strict=True)))


class Summary(NamedTuple):
    """What a trial has on average, beside what is expected."""

    expected_pairs: float  # v (V - 1) / 2 q
    mean_pairs: float  # counted
    low_pairs: float
    high_pairs: float
    # Standard errors between the mean and what is expected. Of mean 0 and deviation 1 if the formula holds, and normal
    # where many pairs are expected
    z: float
    # Probability that the mean is at least so far from what is expected, if the formula holds: two-sided and exact, as
    # the interval is
    p_value: float
    expected_dispersion: float  # variance of a trial's pairs over their mean, for random hash functions
    dispersion: float | None  # the same, counted; None where no pair was
    # Share of words that share with any other: 1 - (1 - q)^(V - 1), as if pairs were independent
    expected_sharing: float
    mean_sharing: float  # counted
    low_sharing: float
    high_sharing: float


def summarize(counted: Counted, *, n_words: int, chance: float, expected_dispersion: float) -> Summary:
    """Set counts beside what is expected."""
    trials = counted.n_trials
    expected = expected_pairs(n_words, chance)
    mean, variance = _moments(counted.pairs, counted.squared_pairs, trials)
    low, high = (end * expected_dispersion / trials for end in poisson_interval(counted.pairs / expected_dispersion))
    sharing, sharing_variance = _moments(counted.sharing_words, counted.squared_sharing_words, trials)
    half = 1.96 * math.sqrt(sharing_variance / trials)
    return Summary(
        expected_pairs=expected,
        mean_pairs=mean,
        low_pairs=low,
        high_pairs=high,
        z=(mean - expected) / math.sqrt(expected * expected_dispersion / trials),
        p_value=poisson_p_value(counted.pairs / expected_dispersion, expected * trials / expected_dispersion),
        expected_dispersion=expected_dispersion,
        dispersion=variance / mean if mean else None,
        expected_sharing=sharing_chance(n_words, chance),
        mean_sharing=sharing / n_words,
        low_sharing=max(sharing - half, 0.0) / n_words,
        high_sharing=(sharing + half) / n_words,
    )


def _moments(total: int, squares: int, trials: int) -> tuple[float, float]:
    """Return mean and variance; whole numbers are subtracted, so that none is lost."""
    return total / trials, (trials * squares - total**2) / (trials * (trials - 1))


def poisson_interval(count: float, confidence: float = 0.95) -> tuple[float, float]:
    """Return the exact confidence interval of the mean of a Poisson distribution, from one count."""
    from scipy.stats import chi2

    low = float(chi2.ppf((1 - confidence) / 2, 2 * count)) / 2 if count else 0.0
    return low, float(chi2.ppf((1 + confidence) / 2, 2 * count + 2)) / 2


def poisson_p_value(count: float, mean: float) -> float:
    """Test whether a count is of a Poisson distribution of a given mean."""
    from scipy.special import gammainc, gammaincc

    at_least = float(gammainc(count, mean)) if count else 1.0
    return min(2 * min(float(gammaincc(count + 1, mean)), at_least), 1.0)
