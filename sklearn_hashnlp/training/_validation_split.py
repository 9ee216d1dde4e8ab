"""Rows with their targets, and the validation split; without torch."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from sklearn_hashnlp._sklearn import level_of_user


class Samples:
    """Rows with targets and sample weights."""

    def __init__(
        self, n_rows: int, targets: NDArray[Any] | None, row_weights: NDArray[np.float32] | None
    ) -> None:
        self.targets = np.zeros(n_rows, dtype=np.int64) if targets is None else targets
        self.row_weights = row_weights

    def __len__(self) -> int:
        return len(self.targets)

    @abstractmethod
    def select(self, rows: NDArray[np.int64]) -> Self:
        """Return some of the rows."""

    def common_columns(self) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Return the columns that all sparse rows have, and the values they share."""
        return np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float32)


def shared_values(
    smallest: NDArray[np.float32], largest: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return of each column the value that all rows have at least; 0 if signs differ."""
    return np.asarray(np.maximum(smallest, 0) + np.minimum(largest, 0))


AnySamples = TypeVar("AnySamples", bound=Samples)

_MIN_VALIDATION_ROWS = 20  # minimum for a meaningful accuracy


def validation_split(
    rows: AnySamples, fraction: float, *, seed: int
) -> tuple[AnySamples, AnySamples | None]:
    """Split off a validation set, stratified by class; None, with a warning, for too few rows."""
    indices = np.arange(len(rows))
    stratify = None
    n_classes = 1
    if rows.targets.ndim == 1:
        counts = np.bincount(rows.targets)
        indices = np.flatnonzero(counts[rows.targets] > 1)
        stratify, n_classes = rows.targets[indices], int(np.count_nonzero(counts > 1))
    n_valid = int(np.ceil(fraction * len(indices)))
    # stratification needs a row of each class in both parts
    fewest = max(_MIN_VALIDATION_ROWS, n_classes)
    if n_valid < fewest or len(indices) - n_valid < n_classes:
        if fraction:
            warnings.warn(
                f"early_stopping has no effect, because {len(rows):,} rows are too few for a "
                f"validation set of validation_fraction={fraction:g}: it would have {n_valid:,} "
                f"rows and needs at least {fewest:,}, and rows of all labels on both sides. Set "
                "another EarlyStopping(validation_fraction=...), pass more rows, or set "
                "early_stopping=False.",
                stacklevel=level_of_user(),
            )
        return rows, None
    _, valid = train_test_split(indices, test_size=n_valid, stratify=stratify, random_state=seed)
    train = np.setdiff1d(np.arange(len(rows)), valid)
    return rows.select(train), rows.select(np.sort(valid))


def validation_pair(validation_data: Any, caller: str) -> tuple[Any, Any]:
    """Return X and y of the validation data of a user."""
    if not isinstance(validation_data, tuple | list) or len(validation_data) != 2:
        raise ValueError(
            f"{caller}: validation_data must be a pair (X, y) or None, got "
            f"{validation_data!r:.60} ({type(validation_data).__name__})."
        )
    X, y = validation_data
    return X, y


@contextmanager
def errors_of_validation_data() -> Iterator[None]:
    """Name the argument in errors about its rows and labels."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"validation_data: {error}") from error
