"""Labels of a classifier: checked, encoded for a net, and saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from sklearn_hashnlp.classifiers._losses import LOSSES

_MULTILABEL = next(name for name, loss in LOSSES.items() if loss.takes_several_labels)  # to be named in messages


@dataclass(frozen=True)
class Labels:
    """The labels of a classifier, which it encodes as their indices."""

    classes: NDArray[Any]  # (n_classes,): sorted
    multilabel: bool  # whether y is an indicator matrix; the labels are the indices of its columns then

    @classmethod
    def of(cls, y: Any, classes: ArrayLike | None = None, *, caller: str) -> Self:
        """Return the labels that occur in y, or in ``classes`` if given."""
        if y.ndim == 2:
            indices = np.arange(y.shape[1])
            if classes is not None and not np.array_equal(classes, indices):
                raise ValueError(
                    f"With an indicator matrix of {len(indices)} columns classes must be None or their indices, 0 to "
                    f"{len(indices) - 1} in order. Got {classes!r}."
                )
            return cls(indices, multilabel=True)
        labels = _unique(y, "y", caller) if classes is None else _unique(np.asarray(classes), "classes", caller)
        if len(labels) < 2:
            where = "rows of at least two classes in y" if classes is None else "at least two labels in classes"
            got = f"one class only: {labels.tolist()[0]!r}" if len(labels) else "none"
            raise ValueError(
                f"{caller} needs {where}, got {got}. Check that y holds the labels and "
                "that the rows were not sorted and cut."
            )
        return cls(labels, multilabel=False)

    def encode(self, y: Any) -> NDArray[Any]:
        """Encode the labels of rows as indices, or an indicator matrix as float32."""
        if self.multilabel != (y.ndim == 2) or (self.multilabel and y.shape[1] != len(self.classes)):
            wanted = f"an indicator matrix of {len(self.classes)} columns" if self.multilabel else "one label per row"
            raise ValueError(f"The model was fitted with {wanted} in y, got y of shape {y.shape}.")
        if self.multilabel:
            return np.asarray(y.toarray() if issparse(y) else y, dtype=np.float32)
        index_of = {label: index for index, label in enumerate(self.classes.tolist())}
        present, inverse = np.unique(y, return_inverse=True)
        unseen = [label for label in present.tolist() if label not in index_of]
        if unseen:
            raise ValueError(
                f"The label {unseen[0]!r} in y was not seen before: the labels are {self.classes.tolist()}. "
                "Pass all labels that can occur as classes= in the first call of partial_fit."
            )
        return np.array([index_of[label] for label in present.tolist()], dtype=np.int64)[inverse.reshape(-1)]

    def check_same(self, others: Labels) -> None:
        """Check that training can continue with other rows, which have these labels."""
        if self.multilabel != others.multilabel or self.classes.tolist() != others.classes.tolist():
            known, new = (
                f"an indicator matrix of {len(one.classes)} columns" if one.multilabel else one.classes.tolist()
                for one in (self, others)
            )
            raise ValueError(
                f"The model has the labels {known}, and training cannot continue with {new}. Give the same labels, or "
                "call fit with warm_start=False to train a new net."
            )


def check_targets(y: Any, *, loss: str, caller: str) -> Any:
    """Return y checked: an array of labels or, with ``loss="ova"``, an indicator matrix."""
    if issparse(y) and y.shape[1] == 1:
        raise ValueError(
            f"{caller} takes one label per row as an array of shape (n_samples,), got a sparse matrix of one column, "
            f"of shape {y.shape}, in y. Give y.toarray().ravel()."
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
                f"Unknown label type: {kind}. {caller} takes one label per row or, with loss={_MULTILABEL!r}, a matrix "
                f"of zeros and ones with one column per class. Got a matrix with the values {others[:3].tolist()} "
                "(duplicate entries of a sparse matrix are summed)."
            )
        if not LOSSES[loss].takes_several_labels:
            raise ValueError(
                f"{caller}(loss={loss!r}) takes one label per row, got an indicator matrix of shape {y.shape} in y. "
                f"Set loss={_MULTILABEL!r} for multi-label classification."
            )
        return y
    y = column_or_1d(y, warn=True)
    _unique(y, "y", caller)
    check_classification_targets(y)
    return y


def _unique(labels: NDArray[Any], name: str, caller: str) -> NDArray[Any]:
    try:
        return np.unique(labels)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in labels.ravel().tolist()})
        raise TypeError(
            f"{caller} takes labels that are all strings or all numbers in {name}, got {' and '.join(kinds)}. Convert "
            "them to one type."
        ) from error


def pack_labels(classes: NDArray[Any]) -> dict[str, Any]:
    """Convert class labels to JSON values."""
    values = [value.item() if isinstance(value, np.generic) else value for value in classes.tolist()]
    for value in values:
        if not isinstance(value, str | int | float):
            raise TypeError(
                f"Class labels of type {type(value).__name__!r} cannot be saved; "
                "use strings, integers, floats or bools."
            )
    return {"dtype": classes.dtype.str, "values": values}


def unpack_labels(packed: dict[str, Any]) -> NDArray[Any]:
    """Convert JSON values back to class labels."""
    return np.array(packed["values"], dtype=np.dtype(packed["dtype"]))
