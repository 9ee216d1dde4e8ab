"""How much each row counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_class_weight

from sklearn_hashnlp.estimators._labels import Labels


def drop_weightless(
    X: Any, y: Any, sample_weight: ArrayLike | None, *, caller: str
) -> tuple[Any, Any, NDArray[np.float32] | None]:
    """Leave out rows of weight zero, as if they had never been there.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : {ndarray, sparse matrix} of shape (n_samples,) or (n_samples, n_classes)
        Labels.
    sample_weight : array-like of shape (n_samples,) or None
        Weights; None is one each.
    caller : str
        Class that asks, for the messages.

    Returns
    -------
    X, y
        The rows that have a weight.
    weights : ndarray of shape (n,), dtype float32, or None
        Their weights; None where none were given.

    Raises
    ------
    ValueError
        If the weights are no finite numbers, one a row, or one is negative or all are zero.

    Examples
    --------
    >>> import numpy as np
    >>> drop_weightless(np.eye(3), np.array([0, 1, 2]), [2, 0, 1], caller="HashEmbeddingClassifier")[1:]
    (array([0, 2]), array([2., 1.], dtype=float32))
    """
    if sample_weight is None:
        return X, y, None
    weights = check_array(sample_weight, ensure_2d=False, dtype=np.float32, input_name="sample_weight")
    if weights.shape != (X.shape[0],):
        raise ValueError(
            f"{caller} takes one value a row in sample_weight, an array of shape ({X.shape[0]},). Got one of shape "
            f"{weights.shape}."
        )
    if weights.min() < 0:
        row = int(weights.argmin())
        raise ValueError(
            f"{caller} takes no negative values in sample_weight, got {weights[row]:g} for row {row}. Give a row that "
            "is not to count the weight 0."
        )
    kept = np.flatnonzero(weights)
    if len(kept) == 0:
        raise ValueError(f"{caller} has nothing to learn from: every value of sample_weight is zero.")
    if len(kept) == len(weights):
        return X, y, weights
    return X[kept], y[kept], weights[kept]


def weigh_classes(
    class_weight: dict[Any, float] | str | None,
    labels: Labels,
    y: Any,
    targets: NDArray[Any],
    weights: NDArray[np.float32] | None,
    *,
    caller: str,
) -> NDArray[np.float32] | None:
    """Multiply the weights of rows by those of their classes.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weight of each label, one where the dict has none; "balanced" is inverse to the number of its rows.
    labels : Labels
        All labels.
    y : ndarray of shape (n,), or {ndarray, sparse matrix} of shape (n, n_classes)
        Labels of the rows.
    targets : ndarray
        Their numbers.
    weights : ndarray of shape (n,), dtype float32, or None
        Weights of the rows.
    caller : str
        Class that asks, for the messages.

    Returns
    -------
    ndarray of shape (n,), dtype float32, or None
        The products; None where nothing has a weight.

    Raises
    ------
    ValueError
        If ``y`` is an indicator matrix, ``class_weight`` names a label that there is not or has a weight that is
        negative or no finite number, or no row is left with a weight.
    """
    if class_weight is None:
        return weights
    if labels.multilabel:
        raise ValueError(
            f"class_weight={class_weight!r} needs one label a row, got an indicator matrix in y. Give sample_weight "
            "to fit instead."
        )
    of_class = compute_class_weight(class_weight, classes=labels.classes, y=y)
    for label, weight in zip(labels.classes.tolist(), of_class.tolist(), strict=True):
        if not (np.isfinite(weight) and weight >= 0):
            raise ValueError(
                f"{caller} takes finite weights of at least 0 in class_weight, got {weight!r} for the label {label!r}."
            )
    factors = of_class[targets].astype(np.float32)
    if not factors.any():
        raise ValueError(
            f"{caller} has nothing to learn from: by class_weight={class_weight!r} every row has the weight zero."
        )
    return factors if weights is None else np.asarray(weights * factors)
