"""How often two words are expected to share what a hash embedding holds for them."""

from __future__ import annotations

import math
from typing import NamedTuple

_SMALLEST, _LARGEST = 2, 2**31 - 1  # of tables; that of nn's
_MOST_HASHES = 30  # n B^k is a float then


class Sizes(NamedTuple):
    """Sizes of the tables of a hash embedding.

    Parameters
    ----------
    n_embeddings : int
        Rows of the importance table, from 2 to 2**31 - 1; n.
    n_buckets : int
        Vectors of the pool, from 2 to 2**31 - 1; B.
    n_hashes : int
        Vectors that a word picks from the pool, from 1 to 30; k.

    Examples
    --------
    >>> Sizes.parse("500:30:2")
    Sizes(n_embeddings=500, n_buckets=30, n_hashes=2)
    """

    n_embeddings: int
    n_buckets: int
    n_hashes: int

    @classmethod
    def parse(cls, text: str) -> Sizes:
        """Read ``"n:B:k"``.

        Parameters
        ----------
        text : str
            Three whole numbers with colons between them.

        Returns
        -------
        Sizes
            The sizes.

        Raises
        ------
        ValueError
            If it is not three whole numbers, or they are too small for words to differ or too large for the hash
            functions or the formulas.
        """
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
    """Give the probability that two words share something.

    Over the draw of the hash functions it is exact for any two words: it needs no more of them than that two words
    are hashed independently, and that h, u_1 .. u_k are independent of each other. (Neglected is that 2**32 is no
    multiple of the sizes, which adds less than their ratio squared.)

    Parameters
    ----------
    variant : {"improved", "paper"}
        Of the hash embedding, see :class:`~sklearn_hashnlp.nn.HashEmbedding`.
    what : {"embedding", "components", "any order"}
        ``"embedding"``: the importance weights and the component vectors, in order, so all that is trained for a word:
        1/(n B^k) for ``"improved"``, 1/n for ``"paper"``, where D1 decides both. ``"components"``: the component
        vectors, in order: 1/B^k, and 1/n + (1 - 1/n)/B^k for ``"paper"``. ``"any order"``: the weights in order and
        the components in any; then the sums are the same as long as the k weights of the word are, which training
        ends. For ``"paper"`` it is no other than ``"embedding"``.
    sizes : Sizes
        Of the tables.

    Returns
    -------
    float
        The probability, q.

    Raises
    ------
    ValueError
        If there is no such variant, or nothing of that name to share.

    References
    ----------
    D. Svenstrup, J. Hansen and O. Winther, "Hash embeddings for efficient word representations", NIPS 2017,
    section 4 and its appendix, has the same probability for D1 and asks how often it happens at least once.

    Examples
    --------
    >>> pair_chance("improved", "embedding", Sizes(10**7, 10**6, 2))
    1e-19
    >>> pair_chance("paper", "embedding", Sizes(10**7, 10**6, 2))
    1e-07
    """
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
    """Give the probability that two words pick the same components, each as often, in any order.

    It is the sum over all multisets of k buckets of their probability squared, (k! / prod_b m_b! / B^k)^2, and so
    (k! / B^k)^2 times the coefficient of x^k in (sum_j x^j / j!^2)^B.

    Parameters
    ----------
    n_buckets : int
        B.
    n_hashes : int
        k.

    Returns
    -------
    float
        The probability; 2/B^2 - 1/B^3 for k = 2.

    Examples
    --------
    >>> round(any_order_chance(10, 2), 6)
    0.019
    """
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
    """Give the expected number of pairs of words that share something.

    Parameters
    ----------
    n_words : int
        Different words; V.
    chance : float
        Probability that two words share it; q.

    Returns
    -------
    float
        V (V - 1) / 2 q.

    Examples
    --------
    >>> expected_pairs(1001, 1e-3)
    500.5
    """
    return n_words * (n_words - 1) / 2 * chance


def sharing_chance(n_words: int, chance: float) -> float:
    """Give the probability that some other word shares something with a given one, as if pairs were independent.

    Parameters
    ----------
    n_words : int
        Different words; V.
    chance : float
        Probability that two words share it; q. With q = 1/out it is the p of the sources for a hash function of so
        many values.

    Returns
    -------
    float
        1 - (1 - q)^(V - 1).

    References
    ----------
    Svenstrup et al. (2017), theorem 4.1; Y. Dubois, Hash-Embeddings, https://github.com/YannDubs/Hash-Embeddings,
    section "Decreasing number of collisions for free".

    Examples
    --------
    >>> round(sharing_chance(4000, pair_chance("improved", "embedding", Sizes(500, 30, 2))), 4)
    0.0088
    """
    return -math.expm1((n_words - 1) * math.log1p(-chance)) if chance < 1 else float(n_words > 1)


def source_bound(variant: str, n_words: int, sizes: Sizes) -> float:
    """Give the source's probability that a word shares its embedding: an upper bound.

    For ``"improved"`` it is p_h p_u, the probability that some word shares h and some word, maybe another, shares all
    u_i. For ``"paper"`` it is p_D1 + (1 - p_D1) p_D2, with |in| = n for D2, which counts a word whose components alone
    are shared, and by rows of the table that no word may use.

    Parameters
    ----------
    variant : {"improved", "paper"}
        Of the hash embedding.
    n_words : int
        Different words; V.
    sizes : Sizes
        Of the tables.

    Returns
    -------
    float
        The bound.

    References
    ----------
    Y. Dubois, Hash-Embeddings, https://github.com/YannDubs/Hash-Embeddings, section "Decreasing number of collisions
    for free": p_col_new and p_col_old.

    Examples
    --------
    >>> [round(source_bound(variant, 10**9, Sizes(10**7, 10**6, 2)), 4) for variant in ("improved", "paper")]
    [0.001, 1.0]
    """
    row = sharing_chance(n_words, 1 / sizes.n_embeddings)
    if variant == "improved":
        return row * sharing_chance(n_words, 1 / sizes.n_choices)
    return row + (1 - row) * sharing_chance(sizes.n_embeddings, 1 / sizes.n_choices)


def pair_dispersion(variant: str, what: str, n_words: int, sizes: Sizes) -> float:
    """Give the variance of the number of sharing pairs over its mean, were all hash functions random ones.

    It is 1 - q where words fall on equally probable places each by itself, as pairs are then independent two by two;
    "any order" is so but for a share of about 1/B. For the components of ``"paper"`` it is more: rows of the
    importance table that share components bring all their words together.

    Parameters
    ----------
    variant, what, sizes
        As in :func:`pair_chance`.
    n_words : int
        Different words; V.

    Returns
    -------
    float
        Variance over mean; 1 for a Poisson distribution.

    Examples
    --------
    >>> sizes = Sizes(500, 30, 2)
    >>> round(pair_dispersion("improved", "embedding", 4000, sizes), 3)
    1.0
    >>> round(pair_dispersion("paper", "components", 4000, sizes), 1)
    29.5
    """
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
