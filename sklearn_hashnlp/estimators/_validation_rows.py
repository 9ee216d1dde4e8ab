"""Holding out training rows to tell when to stop."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from sklearn.model_selection import train_test_split

from sklearn_hashnlp.estimators._labelled_rows import LabelledRows

Rows = TypeVar("Rows", bound=LabelledRows)

_FEWEST = 20  # accuracy on fewer rows says next to nothing


def hold_out(rows: Rows, fraction: float, *, seed: int) -> tuple[Rows, Rows | None]:
    """Set a share of the rows apart, stratified by class if a row has one; or none where that would be of no use."""
    n_valid = int(np.ceil(fraction * len(rows)))
    one_label = rows.targets.ndim == 1
    counts = np.bincount(rows.targets) if one_label else np.array([len(rows)])
    fewest = max(_FEWEST, len(counts))  # stratification wants a row of each class on both sides
    if counts.min() < 2 or n_valid < fewest or len(rows) - n_valid < len(counts):
        return rows, None
    everything = np.arange(len(rows))
    stratify = rows.targets if one_label else None
    train, valid = train_test_split(everything, test_size=n_valid, stratify=stratify, random_state=seed)
    return rows.select(np.sort(train)), rows.select(np.sort(valid))
