"""Tables of float32, stored in less precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# An estimator whose array has a key that ends so says: this is a table, and need not be stored to the last bit.
TABLE_VALUES = ".values"
PRECISIONS = ("float32", "float16", "int8")

_LEVELS = 127


def to_float16(values: NDArray[np.float32], where: str) -> NDArray[np.float16]:
    """Round a table to float16, which has 11 bits.

    Parameters
    ----------
    values : ndarray of float32, any shape
        The table.
    where : str
        What it is, for the error.

    Returns
    -------
    ndarray of float16, same shape
        The nearest numbers.

    Raises
    ------
    ValueError
        If a number is too large or none at all.
    """
    largest = _largest(values, where)
    if largest.size and largest.max() > np.finfo(np.float16).max:
        raise ValueError(
            f"A model folder cannot hold {where} in float16, which ends at 65504: it has {largest.max():g}. "
            "Save with precision='int8' or 'float32'."
        )
    return values.astype(np.float16)


def to_int8(values: NDArray[np.float32], where: str) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Round a table to 255 levels a column, which lie closer together the closer they are to zero.

    Level q stands for ``scale * sign(q) * (q / 127)**2``. Most numbers of a trained table are far smaller than the
    largest: levels at equal distances would leave them only a few. A column, not a row, has a scale: a row of two to
    twenty numbers would be saved in half the space or less, were it not for a scale of its own.

    Parameters
    ----------
    values : ndarray of float32, shape (n_rows, ...)
        The table.
    where : str
        What it is, for the error.

    Returns
    -------
    levels : ndarray of int8, same shape
        The levels.
    scale : ndarray of float32, shape of a row
        The largest magnitude of each column. It is a level, as is zero, so that rounding again changes nothing.

    Raises
    ------
    ValueError
        If a number is infinite or none at all.

    Examples
    --------
    >>> import numpy as np
    >>> to_int8(np.array([[0.5], [-0.02], [0.0]], dtype=np.float32), "a table")
    (array([[127],
           [-25],
           [  0]], dtype=int8), array([0.5], dtype=float32))
    """
    scale = _largest(values, where)
    parts = np.abs(values) / np.where(scale > 0, scale, np.float32(1))
    return np.rint(np.copysign(_LEVELS * np.sqrt(parts), values)).astype(np.int8), scale


def from_int8(levels: NDArray[np.int8], scale: NDArray[np.float32]) -> NDArray[np.float32]:
    """Give the numbers that levels stand for.

    Parameters
    ----------
    levels : ndarray of int8, shape (n_rows, ...)
        As :func:`to_int8` gave them.
    scale : ndarray of float32, shape of a row
        The scale of each column.

    Returns
    -------
    ndarray of float32, shape (n_rows, ...)
        The numbers.
    """
    roots = levels / np.float32(_LEVELS)
    return np.asarray(roots * np.abs(roots) * scale, dtype=np.float32)


def _largest(values: NDArray[np.float32], where: str) -> Any:
    """Give the largest magnitude of each column, zero where there are no rows."""
    largest = np.abs(values).max(axis=0, initial=0)
    if not np.isfinite(largest).all():
        raise ValueError(
            f"A model folder cannot hold {where} in less precision than float32: it has infinite numbers or NaN."
        )
    return largest
