"""TrainingSummary: what a model remembers of left-out training rows, to notice drift later.

Its rows were left out of the training that predicted their labels, and an n-gram of theirs is known
only if another training row has it: new rows of the same kind have values of the same distribution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

N_QUANTILES = 21
_MAX_FREQUENCY = 32  # larger document frequencies are counted as this one
_PREFIX = "training_summary."
_NUMBERS = "numbers"
_N_VALUES = 3


@dataclass(frozen=True)
class TrainingSummary:
    """Quantiles and means of left-out rows, and numbers of n-grams by their document frequency.

    The values of a row, in this order, are the share of its n-grams that is unknown, its length,
    which is how much its text says, and its largest probability.
    """

    n_trained: int  # all training rows
    n_unknown: int  # left-out rows that say nothing
    # (32,): numbers of n-grams in 1, 2, ... and at least 32 training rows
    spectrum: NDArray[np.int64]
    quantiles: NDArray[np.float64]  # (3, 21)
    counts: NDArray[np.int64]  # (3, 20): rows between quantiles, which may be equal
    sizes: NDArray[np.int64]  # (n_folds,): rows by the model that predicted their labels
    means: NDArray[np.float64]  # (n_folds, 3)
    deviation: float  # standard deviation of the largest probability
    shares: NDArray[np.float64]  # (n_folds, n_classes): mean probabilities

    @classmethod
    def of(
        cls,
        values: NDArray[np.float64],  # (n_rows, 3)
        probabilities: NDArray[np.float64],  # (n_rows, n_classes)
        fold_of: NDArray[np.int64],  # (n_rows,)
        frequencies: NDArray[np.integer[Any]],  # document frequencies of n-grams
        n_trained: int,
    ) -> Self:
        """Summarize rows."""
        quantiles = np.quantile(values, np.linspace(0, 1, N_QUANTILES), axis=0).T
        folds = [fold_of == fold for fold in range(int(fold_of.max()) + 1)]
        known = np.minimum(frequencies[frequencies > 0], _MAX_FREQUENCY)
        return cls(
            n_trained=n_trained,
            n_unknown=int(np.count_nonzero(values[:, 1] == 0)),
            spectrum=np.bincount(known, minlength=_MAX_FREQUENCY + 1)[1:].astype(np.int64),
            quantiles=quantiles,
            counts=histograms(values, quantiles),
            sizes=np.array([np.count_nonzero(fold) for fold in folds], dtype=np.int64),
            means=np.array([values[fold].mean(axis=0) for fold in folds]),
            deviation=float(values[:, 2].std()),
            shares=np.array([probabilities[fold].mean(axis=0) for fold in folds]),
        )

    @property
    def n_rows(self) -> int:
        """The number of left-out rows."""
        return int(self.sizes.sum())

    def mean(self, value: int) -> float:
        """Return the mean of a value over all left-out rows."""
        return float(np.average(self.means[:, value], weights=self.sizes))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays for :meth:`from_arrays`."""
        numbers = np.array([self.n_trained, self.n_unknown, self.deviation])
        names = ("spectrum", "quantiles", "counts", "sizes", "means", "shares")
        arrays = {name: getattr(self, name) for name in names} | {_NUMBERS: numbers}
        return {f"{_PREFIX}{name}": array for name, array in arrays.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_classes: int) -> Self | None:
        """Load the result of :meth:`to_arrays`, checked; None if there is none."""
        own = {
            name.removeprefix(_PREFIX): array
            for name, array in arrays.items()
            if name.startswith(_PREFIX)
        }
        if not own:
            return None
        n_folds = len(np.atleast_1d(own["sizes"]))
        shapes = {
            _NUMBERS: (3,),
            "spectrum": (_MAX_FREQUENCY,),
            "quantiles": (_N_VALUES, N_QUANTILES),
            "counts": (_N_VALUES, N_QUANTILES - 1),
            "sizes": (n_folds,),
            "means": (n_folds, _N_VALUES),
            "shares": (n_folds, n_classes),
        }
        for name, shape in shapes.items():
            kind = "i" if name in ("spectrum", "counts", "sizes") else "f"
            array = own[name]
            if array.shape != shape or array.dtype.kind != kind or not (array >= 0).all():
                raise ValueError(
                    f"The array {_PREFIX + name!r} must have {shape} numbers of at least 0."
                )
        if not n_folds or own["sizes"].min() < 1 or (np.diff(own["quantiles"]) < 0).any():
            raise ValueError("The summary of the training must have rows and ascending quantiles.")
        n_trained, n_unknown, deviation = own.pop(_NUMBERS).tolist()
        return cls(n_trained=int(n_trained), n_unknown=int(n_unknown), deviation=deviation, **own)


def histograms(
    values: NDArray[np.float64], quantiles: NDArray[np.float64]
) -> NDArray[np.int64]:  # (3, 20)
    """Count the rows between quantiles, a value equal to a quantile below it."""
    return np.array(
        [
            np.bincount(np.searchsorted(edges[1:-1], column), minlength=len(edges) - 1)
            for column, edges in zip(values.T, quantiles, strict=True)
        ]
    )
