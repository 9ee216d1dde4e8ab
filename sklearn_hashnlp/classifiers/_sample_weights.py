"""Sample weights and class weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_class_weight

from sklearn_hashnlp.classifiers._labels import Labels, name_labels


def drop_zero_weights(
    X: Any, y: Any, sample_weight: ArrayLike | None, *, caller: str
) -> tuple[Any, Any, NDArray[np.float32] | None]:
    """Drop the rows of weight zero, and return the weights of the others."""
    if sample_weight is None:
        return X, y, None
    weights = check_array(sample_weight, ensure_2d=False, dtype=np.float32, input_name="sample_weight")
    if weights.shape != (X.shape[0],):
        raise ValueError(
            f"{caller} takes one value per row in sample_weight, an array of shape ({X.shape[0]},). Got one of shape "
            f"{weights.shape}."
        )
    if weights.min() < 0:
        row = int(weights.argmin())
        raise ValueError(
            f"{caller} takes no negative values in sample_weight, got {weights[row]:g} for row {row}. Give rows that "
            "should be ignored the weight 0."
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
    y: Any,
    targets: NDArray[Any],
    weights: NDArray[np.float32] | None,
    *,
    caller: str,
) -> NDArray[np.float32] | None:
    """Multiply the weights of rows by the weights of their classes."""
    if class_weight is None:
        return weights
    if labels.multilabel:
        raise ValueError(
            f"class_weight={class_weight!r} needs one label per row, got an indicator matrix in y. Give sample_weight "
            "to fit instead."
        )
    try:
        weight_of_class = compute_class_weight(class_weight, classes=labels.classes, y=y)
    except ValueError as error:  # scikit-learn names the labels without a weight, not the misspelled ones
        unknown = [label for label in class_weight if label not in labels.classes.tolist()]
        raise ValueError(
            f"{caller}: class_weight names {', '.join(map(repr, unknown))}, but the labels in y are "
            f"{name_labels(labels.classes)}. Labels that it does not name have the weight 1."
        ) from error
    for label, weight in zip(labels.classes.tolist(), weight_of_class.tolist(), strict=True):
        if not (np.isfinite(weight) and weight >= 0):
            raise ValueError(
                f"{caller} takes finite weights of at least 0 in class_weight, got {weight!r} for the label {label!r}."
            )
    factors = weight_of_class[targets].astype(np.float32)
    if not factors.any():
        raise ValueError(f"{caller} cannot train: by class_weight={class_weight!r} every row has the weight zero.")
    return factors if weights is None else np.asarray(weights * factors)
