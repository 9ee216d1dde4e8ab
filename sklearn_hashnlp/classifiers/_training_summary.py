"""TrainingSummary: what a model remembers of left-out training rows, to notice drift later.

Its rows were left out of the training that predicted their labels, and an n-gram of theirs is known
only if another training row has it: new rows of the same kind have values of the same distribution.
When training continues, the labels of its rows are predicted before they are trained on. A model of
more rows knows more: earlier rows have less weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

N_QUANTILES = 21
_MAX_FREQUENCY = 32  # larger document frequencies are counted as this one
_FORGETTING = 4  # weight of earlier rows: this power of the model's rows then and now
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
    n_unknown: float  # left-out rows that say nothing; this and other numbers of rows are weighted
    # (32,): numbers of n-grams in 1, 2, ... and at least 32 training rows
    spectrum: NDArray[np.float64]
    quantiles: NDArray[np.float64]  # (3, 21)
    counts: NDArray[np.float64]  # (3, 20): rows between quantiles, which may be equal
    sizes: NDArray[np.float64]  # (n_folds,): rows by the model that predicted their labels
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
            n_unknown=float(np.count_nonzero(values[:, 1] == 0)),
            spectrum=np.bincount(known, minlength=_MAX_FREQUENCY + 1)[1:].astype(np.float64),
            quantiles=quantiles,
            counts=histograms(values, quantiles),
            sizes=np.array([np.count_nonzero(fold) for fold in folds], dtype=np.float64),
            means=np.array([values[fold].mean(axis=0) for fold in folds]),
            deviation=float(values[:, 2].std()),
            shares=np.array([probabilities[fold].mean(axis=0) for fold in folds]),
        )

    def continued(
        self,
        values: NDArray[np.float64],  # (n_rows, 3)
        probabilities: NDArray[np.float64],  # (n_rows, n_classes): before training on the rows
        n_trained: int,
    ) -> Self:
        """Add rows on which training was continued."""
        growth, n_new = n_trained / self.n_trained, len(values)
        kept = growth**-_FORGETTING
        share = n_new / (kept * self.sizes.sum() + n_new)

        def mixed(earlier: Any, new: Any) -> Any:
            return (1 - share) * earlier + share * new

        return replace(
            self,
            n_trained=n_trained,
            n_unknown=kept * self.n_unknown + float(np.count_nonzero(values[:, 1] == 0)),
            spectrum=growth * self.spectrum,  # it grows at most in proportion
            counts=kept * self.counts + histograms(values, self.quantiles),
            sizes=kept * self.sizes + n_new / len(self.sizes),
            means=mixed(self.means, values.mean(axis=0)),
            deviation=float(np.sqrt(mixed(self.deviation**2, values[:, 2].var()))),
            shares=mixed(self.shares, probabilities.mean(axis=0)),
        )

    @property
    def n_rows(self) -> int:
        """The number of left-out rows."""
        return round(float(self.sizes.sum()))

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
            array = own[name]
            if array.shape != shape or array.dtype != np.float64 or not (array >= 0).all():
                raise ValueError(
                    f"The array {_PREFIX + name!r} must have {shape} numbers of at least 0."
                )
        if not n_folds or own["sizes"].min() <= 0 or (np.diff(own["quantiles"]) < 0).any():
            raise ValueError("The summary of the training must have rows and ascending quantiles.")
        n_trained, n_unknown, deviation = own.pop(_NUMBERS).tolist()
        return cls(n_trained=int(n_trained), n_unknown=n_unknown, deviation=deviation, **own)


def histograms(
    values: NDArray[np.float64], quantiles: NDArray[np.float64]
) -> NDArray[np.float64]:  # (3, 20)
    """Count the rows between quantiles, a value equal to a quantile below it."""
    return np.array(
        [
            np.bincount(np.searchsorted(edges[1:-1], column), minlength=len(edges) - 1)
            for column, edges in zip(values.T, quantiles, strict=True)
        ],
        dtype=np.float64,
    )
