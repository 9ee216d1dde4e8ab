"""Sample weights and class weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from sklearn_hashnlp.classifiers._calibration import count_classes
from sklearn_hashnlp.classifiers._labels import Labels, name_labels
from sklearn_hashnlp.training._validation_split import Samples

_TYPICAL_ROWS = 100  # rows with the usual shares, added to a batch to smooth its shares
_LARGEST_FACTOR = 2.0
_LARGEST = float(np.finfo(np.float32).max)


def drop_zero_weights(
    X: Any, y: Any, sample_weight: ArrayLike | None, *, caller: str
) -> tuple[Any, Any, NDArray[np.float32] | None]:
    """Drop the rows of weight zero, and return the weights of the others."""
    if sample_weight is None:
        return X, y, None
    weights = check_array(
        sample_weight, ensure_2d=False, dtype=np.float32, input_name="sample_weight"
    )
    if weights.shape != (X.shape[0],):
        raise ValueError(
            f"{caller} takes one value per row in sample_weight, an array of shape "
            f"({X.shape[0]},). Got one of shape {weights.shape}."
        )
    if weights.min() < 0:
        row = int(weights.argmin())
        raise ValueError(
            f"{caller} takes no negative values in sample_weight, got {weights[row]:g} for row "
            f"{row}. Give rows that should be ignored the weight 0."
        )
    keep = np.flatnonzero(weights)
    if len(keep) == 0:
        raise ValueError(f"{caller} cannot train: every value of sample_weight is zero.")
    if len(keep) == len(weights):
        return X, y, weights
    return X[keep], y[keep], weights[keep]


def apply_class_weight(
    class_weight: dict[Any, float] | str | None,
    labels: Labels,
    targets: NDArray[Any],
    weights: NDArray[np.float32] | None,
    *,
    caller: str,
) -> NDArray[np.float32] | None:
    """Multiply the weights of rows by the weights of their classes."""
    if class_weight is None:
        return weights
    if labels.multilabel or labels.soft:
        got = "probabilities" if labels.soft else "an indicator matrix"
        raise ValueError(
            f"class_weight={class_weight!r} needs one label per row, got {got} in y. Give "
            "sample_weight to fit instead."
        )
    if isinstance(class_weight, dict):
        factors = _weights_of_classes(class_weight, labels, caller)[targets]
    else:  # "balanced"
        counts = np.bincount(targets)
        factors = (len(targets) / (len(counts) * counts)).astype(np.float32)[targets]
    if not factors.any():
        raise ValueError(
            f"{caller} cannot train: by class_weight={class_weight!r} every row has the weight "
            "zero."
        )
    return factors if weights is None else np.asarray(weights * factors)


def _weights_of_classes(
    class_weight: dict[Any, Any], labels: Labels, caller: str
) -> NDArray[np.float32]:
    """Return the weight of each class, 1 for labels without one."""
    # Not by scikit-learn's compute_class_weight, which converts labels such as "1" and 0.5 to int.
    classes = labels.classes.tolist()
    unknown = [label for label in class_weight if label not in classes]
    # a part of the rows may lack some labels
    if unknown and any(label not in class_weight for label in classes):
        raise ValueError(
            f"{caller}: class_weight names {', '.join(map(repr, unknown))}, but the labels in y "
            f"are {name_labels(labels.classes)}. Labels that it does not name have the weight 1."
        )
    for label, weight in class_weight.items():
        if not (isinstance(weight, int | float | np.number) and 0 <= weight <= _LARGEST):
            raise ValueError(
                f"{caller} takes finite weights of at least 0 in class_weight, got {weight!r} for "
                f"the label {label!r}."
            )
    return np.array([class_weight.get(label, 1) for label in classes], dtype=np.float32)


def weights_of_batch(rows: Samples, usual: NDArray[np.float64]) -> NDArray[np.float32] | None:
    """Return weights that give a batch's rows about the ``usual`` class shares."""
    if rows.targets.ndim == 2:
        return rows.row_weights
    batch = count_classes(rows, len(usual)) + _TYPICAL_ROWS * np.append(usual, 1.0)
    now = batch[:-1] / batch[-1]
    factors = np.divide(usual, now, where=now > 0, out=np.ones_like(now))
    own: Any = np.clip(factors, 1 / _LARGEST_FACTOR, _LARGEST_FACTOR).astype(np.float32)[
        rows.targets
    ]
    return np.asarray(own if rows.row_weights is None else rows.row_weights * own)
