"""Random hyperplanes and projections by their specification, one number at a time."""

from sklearn_hashnlp.kernels.projections._hyperplanes import (
    PRIME,
    QUANTILES,
    Hyperplanes,
    coefficients,
)
from tests.oracles.hashing import splitmix64

from .hashing import fmix32


def random_word(column: int, number: int, keys: tuple[int, int]) -> int:
    """Return one of the 32-bit words of a column."""
    low, high = column % 2**32, column // 2**32 % 2**32
    state, step = (fmix32(fmix32(low ^ key) ^ high) for key in keys)
    return fmix32((state + number * (step | 1)) % 2**32)


def coefficient(kind: str, column: int, h: int, *, density: float = 1.0, seed: int = 0) -> int:
    """Return r(j; h) as the specification in kernels/projections/_hyperplanes.py defines it."""
    values = splitmix64(seed, h + 3)
    if kind == "google":
        value = column * (1 + values[h + 2] % (PRIME - 1)) % PRIME
        return value - PRIME if value > PRIME // 2 else value
    keys, density_keys = ((value % 2**32, value // 2**32) for value in values[:2])
    if random_word(column, h, density_keys) >= int(density * 2**32):
        return 0
    if kind == "normal":
        return int(QUANTILES[random_word(column, h // 4, keys) >> 8 * (h % 4) & 255])
    return 1 if random_word(column, h // 32, keys) >> h % 32 & 1 else -1


def sums(row: list[tuple[int, float]], hyperplanes: Hyperplanes) -> list[float]:
    """Project a row, pairs of column and value: add products in order, each rounded to float64."""
    totals = [0.0] * hyperplanes.n
    for (_, value), column in zip(
        row, coefficients([column for column, _ in row], hyperplanes), strict=True
    ):
        totals = [
            total + value * float(r) for total, r in zip(totals, column.tolist(), strict=True)
        ]
    return totals


def bits(row: list[tuple[int, float]], hyperplanes: Hyperplanes) -> list[int]:
    """Return the sides of the hyperplanes on which a row lies."""
    if not any(value for _, value in row):
        return [0] * hyperplanes.n
    pairs = zip(sums(row, hyperplanes), hyperplanes.ties.tolist(), strict=False)
    return [int(tie if total == 0 else total > 0) for total, tie in pairs]


def fingerprint64(text: bytes) -> int:
    """Return FarmHash's Fingerprint64 of one to three bytes, as in the released code of SGNN."""
    k0, k2 = 0xC3A5C85C97CB3127, 0x9AE16A3B2F90404F
    y = text[0] + (text[len(text) >> 1] << 8)
    z = len(text) + (text[-1] << 2)
    mixed = (y * k2 % 2**64) ^ (z * k0 % 2**64)
    return (mixed ^ (mixed >> 47)) * k2 % 2**64
