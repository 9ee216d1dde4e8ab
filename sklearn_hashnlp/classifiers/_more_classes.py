"""Labels that are added to a trained model: where the known ones are, and rows for the new ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.classifiers._calibration import Calibration
from sklearn_hashnlp.training._optimizer_state import OptimizerState

_MOMENT = "mean"  # of Adam: the only part of a state that is not a sum of squares


class MoreClasses(NamedTuple):
    """The outputs of an extended model, and which of them it had before."""

    previous: NDArray[np.int64]  # (n,): the previous index of an output, -1 of a new one

    @classmethod
    def of(cls, known: NDArray[Any], classes: NDArray[Any]) -> Self:
        """Return where the known labels are among all."""
        index_of = {label: index for index, label in enumerate(known.tolist())}
        return cls(np.array([index_of.get(label, -1) for label in classes.tolist()]))

    @property
    def is_new(self) -> NDArray[np.bool_]:  # (n,)
        """Return which outputs are new."""
        return self.previous < 0

    def rows(self, known: NDArray[Any], new: Any) -> NDArray[Any]:
        """Return the rows of all outputs, given the known outputs' rows and new values."""
        rows = known[self.previous]
        rows[self.is_new] = new
        return rows

    def calibration(self, known: Calibration) -> Calibration:
        """Return the calibration with counts of zero for new labels."""
        total, summary = known.class_counts[-1], known.summary
        before = np.zeros(known.n_classes) if known.counts_before is None else known.counts_before
        if summary is not None:
            summary = replace(summary, shares=self.rows(summary.shares.T, 0.0).T)
        return replace(
            known,
            summary=summary,
            class_counts=np.append(self.rows(known.class_counts[:-1], 0.0), total),
            counts_before=self.rows(before, total),
        )

    def optimizer(self, known: OptimizerState, shapes: Mapping[str, int]) -> OptimizerState:
        """Return the state with rows for new outputs of the parameters of the last layer.

        ``shapes`` has their names and numbers of rows. New rows have the step sizes of the mean.
        """
        parameters = {name: dict(state) for name, state in known.parameters.items()}
        for name, n_rows in shapes.items():
            for key, value in parameters.get(name, {}).items():
                if np.shape(value)[:1] == (n_rows,):
                    new = 0 if key == _MOMENT else value.mean(axis=0, dtype=np.float64)
                    parameters[name][key] = self.rows(value, new)
        return replace(known, parameters=parameters)
