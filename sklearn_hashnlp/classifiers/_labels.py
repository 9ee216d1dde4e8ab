"""What a classifier tells apart: labels, checked and numbered for a net."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target


@dataclass(frozen=True)
class Labels:
    """What a classifier tells apart."""

    classes: NDArray[Any]  # (n_classes,): the labels, ascending
    multilabel: bool  # whether a row may have any number of them; they are the numbers of the columns then

    @classmethod
    def of(cls, y: Any, classes: ArrayLike | None = None, *, caller: str) -> Self:
        """Find the labels in y, or check those that are given."""
        if y.ndim == 2:
            numbers = np.arange(y.shape[1])
            if classes is not None and not np.array_equal(classes, numbers):
                raise ValueError(
                    f"With an indicator matrix of {len(numbers)} columns classes must be None or their numbers, 0 to "
                    f"{len(numbers) - 1} in order. Got {classes!r}."
                )
            return cls(numbers, multilabel=True)
        labels = _distinct(y, "y", caller) if classes is None else _distinct(np.asarray(classes), "classes", caller)
        if len(labels) < 2:
            where = "rows of at least two classes in y" if classes is None else "at least two labels in classes"
            came = f"one class only: {labels.tolist()[0]!r}" if len(labels) else "none"
            raise ValueError(
                f"{caller} needs {where}, got {came}. Check that y holds the labels and "
                "that the rows were not sorted and cut."
            )
        return cls(labels, multilabel=False)

    def encode(self, y: Any) -> NDArray[Any]:
        """Turn the labels of rows into what a net aims at."""
        if self.multilabel != (y.ndim == 2) or (self.multilabel and y.shape[1] != len(self.classes)):
            wanted = f"an indicator matrix of {len(self.classes)} columns" if self.multilabel else "one label a row"
            raise ValueError(f"The model was made for {wanted} in y, got y of shape {y.shape}.")
        if self.multilabel:
            return np.asarray(y.toarray() if issparse(y) else y, dtype=np.float32)
        number_of = {label: number for number, label in enumerate(self.classes.tolist())}
        present, place = np.unique(y, return_inverse=True)
        unseen = [label for label in present.tolist() if label not in number_of]
        if unseen:
            raise ValueError(
                f"The label {unseen[0]!r} in y was not seen before: the model tells {self.classes.tolist()} apart. "
                "Pass all labels that will ever come as classes= in the first call of partial_fit."
            )
        return np.array([number_of[label] for label in present.tolist()], dtype=np.int64)[place.reshape(-1)]

    def check_same(self, others: Labels) -> None:
        """Check that training can go on with other rows."""
        if self.multilabel != others.multilabel or self.classes.tolist() != others.classes.tolist():
            was, now = (
                f"an indicator matrix of {len(one.classes)} columns" if one.multilabel else one.classes.tolist()
                for one in (self, others)
            )
            raise ValueError(
                f"The model tells {was} apart, and training cannot go on with {now}. Give the same labels, or call "
                "fit with warm_start=False to start anew."
            )


def check_targets(y: Any, *, loss: str, caller: str) -> Any:
    """Return labels from indicator matrices, and refuse everything else."""
    if issparse(y) and y.shape[1] == 1:
        raise ValueError(
            f"{caller} takes one label a row as an array of shape (n_samples,), got a sparse matrix of a single "
            f"column, shape {y.shape}, in y. Give y.toarray().ravel()."
        )
    if issparse(y) or (y.ndim == 2 and y.shape[1] > 1):
        if issparse(y) and not y.has_canonical_format:
            y = y.copy()
            y.sum_duplicates()
        kind = type_of_target(y, input_name="y")
        values = np.unique(y.data if issparse(y) else y)
        others = values[~np.isin(values, (0, 1))]
        if kind != "multilabel-indicator" or len(others):
            raise ValueError(
                f"Unknown label type: {kind}. {caller} takes one label a row or, with loss='ova', a matrix of zeros "
                f"and ones with a column a class. Got a matrix with the values {others[:3].tolist()} (a cell that a "
                "sparse matrix holds twice is their sum)."
            )
        if loss != "ova":
            raise ValueError(
                f"{caller}(loss={loss!r}) takes one label a row, got an indicator matrix of shape {y.shape} in y. "
                "Set loss='ova' to let a row have any number of labels."
            )
        return y
    y = column_or_1d(y, warn=True)
    _distinct(y, "y", caller)
    check_classification_targets(y)
    return y


def _distinct(labels: NDArray[Any], name: str, caller: str) -> NDArray[Any]:
    try:
        return np.unique(labels)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in labels.ravel().tolist()})
        raise TypeError(
            f"{caller} takes labels that are all strings or all numbers in {name}, got {' and '.join(kinds)}. Convert "
            "them to one type."
        ) from error


def pack_labels(classes: NDArray[Any]) -> dict[str, Any]:
    """Turn class labels into JSON values."""
    values = [value.item() if isinstance(value, np.generic) else value for value in classes.tolist()]
    for value in values:
        if not isinstance(value, str | int | float):
            raise TypeError(
                f"Class labels of type {type(value).__name__!r} cannot be saved; "
                "use strings, integers, floats or bools."
            )
    return {"dtype": classes.dtype.str, "values": values}


def unpack_labels(packed: dict[str, Any]) -> NDArray[Any]:
    """Turn JSON values back into class labels."""
    return np.array(packed["values"], dtype=np.dtype(packed["dtype"]))
