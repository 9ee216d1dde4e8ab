"""Int4Table: rows of numbers in 4 bits each, with a scale per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

_LEVELS = 7  # above and below zero
_CLIPPED = 99.0  # percentile of the magnitudes of a row: larger numbers become it
_ZERO = 8  # the code of zero
_BLOCK = 2**14  # rows that are sorted at once


@dataclass(frozen=True, eq=False)
class Int4Table:
    """A table in which the code c of a row with the scale s stands for (c - 8) * s."""

    # (n_rows, n_columns / 2, rounded up): the first half of a row in the lower 4 bits
    codes: NDArray[np.uint8]
    scales: NDArray[np.float32]  # (n_rows,)
    n_columns: int

    def __post_init__(self) -> None:
        if (
            self.scales.ndim != 1
            or self.codes.shape != (self.scales.size, -(-self.n_columns // 2))
            or self.codes.dtype != np.dtype(np.uint8)
            or self.scales.dtype != np.dtype(np.float32)
        ):
            raise ValueError(
                f"A table of {self.n_columns} columns in 4 bits needs codes of uint8 and a scale "
                f"of float32 for each row, got {self.codes.dtype} of shape {self.codes.shape} and "
                f"{self.scales.dtype} of shape {self.scales.shape}."
            )

    @classmethod
    def of(cls, values: NDArray[np.float32]) -> Self:
        """Round a table to 15 levels per row; the largest 1 % of the magnitudes are clipped."""
        n_rows, n_columns = values.shape
        half = -(-n_columns // 2)
        codes, scales = np.empty((n_rows, half), np.uint8), np.zeros(n_rows, np.float32)
        for start in range(0, n_rows if n_columns else 0, _BLOCK):
            rows = values[start : start + _BLOCK]
            magnitudes = np.abs(rows)
            largest = np.percentile(magnitudes, _CLIPPED, axis=1)
            largest = np.where(largest > 0, largest, magnitudes.max(axis=1))
            scale = (largest / _LEVELS).astype(np.float32)
            levels = rows / np.where(scale > 0, scale, np.float32(1))[:, np.newaxis]
            own = (np.rint(levels.clip(-_LEVELS, _LEVELS)) + _ZERO).astype(np.uint8)
            codes[start : start + _BLOCK] = own[:, :half]
            codes[start : start + _BLOCK, : n_columns - half] |= own[:, half:] << 4
            scales[start : start + _BLOCK] = scale
        return cls(codes, scales, n_columns)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return len(self.scales), self.n_columns

    def values(self) -> NDArray[np.float32]:
        """Return the numbers."""
        n_rows, n_columns = self.shape
        half = self.codes.shape[1]
        values = np.empty((n_rows, n_columns), np.float32)
        values[:, :half] = self.codes & 15
        values[:, half:] = self.codes[:, : n_columns - half] >> 4
        values -= _ZERO
        values *= self.scales[:, np.newaxis]
        return values
