"""The hash functions of hash embeddings: rebuilt from a seed, the same on every machine and device."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

#: Raised by one whenever the slot of any key changes, so that a stored model can tell.
HASH_SPECIFICATION = 1

_WORD = 2**64 - 1
_HALF = 2**32 - 1


def splitmix64(seed: int, n_values: int) -> list[int]:
    """Draw 64-bit integers from the published generator SplitMix64.

    Parameters
    ----------
    seed : int
        Start of the sequence, taken modulo 2**64.
    n_values : int
        How many to draw.

    Returns
    -------
    list of int
        ``n_values`` integers in ``[0, 2**64)``.

    References
    ----------
    .. [1] Steele, Lea & Flood (2014). Fast splittable pseudorandom number generators. OOPSLA, figure 17; the constants
           are those of Java's ``SplittableRandom`` and of Vigna's ``splitmix64.c``.

    Examples
    --------
    >>> [hex(value) for value in splitmix64(0, 2)]
    ['0xe220a8397b1dcdaf', '0x6e789e6aa1b965f4']
    """
    values = []
    for step in range(1, n_values + 1):
        z = (seed + step * 0x9E3779B97F4A7C15) & _WORD
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
        values.append(z ^ (z >> 31))
    return values


def hash_constants(seed: int, n_functions: int) -> tuple[tuple[int, int], ...]:
    """Draw the two constants of each of several independent hash functions.

    Parameters
    ----------
    seed : int
        Which functions of the family.
    n_functions : int
        How many; the first ones do not depend on how many follow.

    Returns
    -------
    tuple of (int, int)
        ``(a, b)`` of each function, see :func:`hash_array`.

    Examples
    --------
    >>> hash_constants(7, 3)[:2] == hash_constants(7, 2)
    True
    """
    values = splitmix64(seed, 2 * n_functions)
    return tuple(zip(values[::2], values[1::2], strict=True))


def hash_array(keys: NDArray[Any], constants: tuple[int, int], size: int) -> NDArray[np.int64]:
    """Hash 32-bit keys to ``[0, size)`` with numpy.

    The family is strongly universal multiply-shift: with ``a`` and ``b`` uniform in ``[0, 2**64)``,
    ``h(x) = ((a x + b) mod 2**64) >> 32`` is uniform in ``[0, 2**32)`` and any two keys are hashed independently [1]_
    [2]_. The range is then reduced without a division: ``(h(x) * size) >> 32``.

    Parameters
    ----------
    keys : ndarray of int of any shape
        Only the low 32 bits count.
    constants : (int, int)
        ``(a, b)`` from :func:`hash_constants`.
    size : int
        Number of slots, at most ``2**31 - 1``.

    Returns
    -------
    ndarray of int64, shaped as ``keys``
        The slots.

    References
    ----------
    .. [1] Dietzfelbinger (1996). Universal hashing and k-wise independent random variables via integer arithmetic
           without primes. STACS, theorem 1.
    .. [2] Thorup (2015). High speed hashing for integers and strings. arXiv:1504.06804, section 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> hash_array(np.array([0, 1, 2]), hash_constants(0, 1)[0], 1000).tolist()
    [431, 314, 198]
    """
    a, b = (np.uint64(value) for value in constants)
    low = keys.astype(np.uint64) & np.uint64(_HALF)
    mixed = (low * a + b) >> np.uint64(32)  # arrays of uint64 wrap around silently
    return ((mixed * np.uint64(size)) >> np.uint64(32)).astype(np.int64)


def hash_tensor(keys: Tensor, constants: tuple[int, int], size: int) -> Tensor:
    """Hash 32-bit keys to ``[0, size)`` with torch, on whatever device they are.

    The slots are those of :func:`hash_array`. Torch has no unsigned 64-bit arithmetic, so this is two's complement
    with wrap-around, and the arithmetic shift is made a logical one by a mask.

    Parameters
    ----------
    keys : Tensor of int64 of any shape
        Only the low 32 bits count.
    constants : (int, int)
        ``(a, b)`` from :func:`hash_constants`.
    size : int
        Number of slots, at most ``2**31 - 1``.

    Returns
    -------
    Tensor of int64, shaped as ``keys``
        The slots.

    Examples
    --------
    >>> import torch
    >>> hash_tensor(torch.tensor([0, 1, 2]), hash_constants(0, 1)[0], 1000).tolist()
    [431, 314, 198]
    """
    a, b = (value - 2**64 if value >= 2**63 else value for value in constants)
    mixed = torch.bitwise_right_shift((keys & _HALF) * a + b, 32) & _HALF
    return torch.bitwise_right_shift(mixed * size, 32)
