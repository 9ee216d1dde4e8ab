"""Calibration of scores by the length of a row, fitted on rows not trained on and crops of them.

A text of a few words says less than the whole texts of the training, and an empty one nothing. How
much is measured: e is the length of a row before it is normalized, without what all training rows
have. With the scores s of the row and the scores p of the class shares, its logits are::

    a (g s + (1 - g) p),    g = e^3 / (e^3 + h^3)

a, the inverse of the temperature, and h, the length of a row halfway between p and s, maximize the
likelihood of the labels of left-out rows and of crops of them, see :meth:`SparseRows.crops`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logsumexp, softmax

from sklearn_hashnlp.classifiers._losses import Calibrate, Loss
from sklearn_hashnlp.classifiers._training_summary import TrainingSummary
from sklearn_hashnlp.training._optimizer_state import Packed
from sklearn_hashnlp.training._validation_split import Samples, shared_values

MAX_ROWS = 10_000  # of a fit
_MAX_SCORES = 2**22
_FITTED_SCORES = 2**17  # a fit to more takes longer, and is hardly another
WEIGHT_OF_CROPS = 1 / 9  # of all crops together, relative to whole rows; chosen on validation rows
# Imagined rows pull the logarithm of h to so much below that of the median length.
_IMAGINED_ROWS, _BELOW_MEDIAN = 40, 1.5
_STEP = 0.1  # first of the optimizer, relative to the limit: a factor of two
_SIGNIFICANT = 1.64  # standard deviations
_LARGEST_HALF = 1e100  # of which the cube is finite
_BEFORE = "counts_before"
_LIMIT = np.log(1e3)  # of the logarithms of a, and of h relative to the median length


@dataclass
class Calibration:
    """The class shares of the training rows, what all of them have, and h."""

    # (n_classes + 1,): weights of the rows of each class and of all, summed
    class_counts: NDArray[np.float64]
    n_rows: int
    half: float = 0.0  # h; with 0 only rows without known columns have the class shares
    # Columns that all rows share, sorted
    common_columns: NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    common_values: NDArray[np.float32] = field(
        default_factory=lambda: np.empty(0, dtype=np.float32)
    )
    # (n_classes,): summed weight of the rows before a label was added; None if none was added
    counts_before: NDArray[np.float64] | None = None
    summary: TrainingSummary | None = None  # begun by ``fit``, continued by further training

    @classmethod
    def of(
        cls,
        rows: Samples,
        n_classes: int,
        earlier: Calibration | None = None,
        calibrate: Calibrate = "auto",
    ) -> Self:
        """Describe rows together with earlier ones; a temperature needs no common columns."""
        needs_common = (
            calibrate != "temperature" if earlier is None else len(earlier.common_columns) > 0
        )
        common = rows.common_columns() if needs_common else ()
        new = cls(count_classes(rows, n_classes), len(rows), 0.0, *common)
        if earlier is None:
            return new
        counts, n_rows = new.class_counts + earlier.class_counts, new.n_rows + earlier.n_rows
        common = common_columns([new, earlier])
        new = cls(counts, n_rows, earlier.half, *common)
        return replace(new, counts_before=earlier.counts_before, summary=earlier.summary)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.class_counts) - 1

    @property
    def has_added_labels(self) -> bool:
        """Return whether labels were added to the model after its first training."""
        return self.counts_before is not None

    @property
    def usual_shares(self) -> NDArray[np.float64]:  # (n_classes,)
        """The share of each class among the rows since it was added, or else among all."""
        before = 0.0 if self.counts_before is None else self.counts_before
        since = np.maximum(self.class_counts[-1] - before, np.finfo(np.float64).tiny)
        return np.asarray(self.class_counts[:-1] / since)

    def to_state(self) -> Packed:
        """Return JSON values and arrays."""
        names = ["class_counts", "common_columns", "common_values"]
        names += [] if self.counts_before is None else [_BEFORE]
        return {"rows_seen": self.n_rows, "half": self.half}, {
            name: getattr(self, name) for name in names
        } | ({} if self.summary is None else self.summary.to_arrays())

    @classmethod
    def from_state(
        cls,
        values: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        n_classes: int,
        n_columns: int,
    ) -> Self:
        """Load the result of :meth:`to_state`, checked."""
        counts, columns, common = (
            arrays[name] for name in ("class_counts", "common_columns", "common_values")
        )
        before = arrays.get(_BEFORE)
        if before is not None and (
            before.dtype != np.float64 or before.shape != (n_classes,) or not (before >= 0).all()
        ):
            raise ValueError(
                f"There must be a count before each of {n_classes} classes, at least 0."
            )
        if counts.dtype != np.float64 or counts.shape != (n_classes + 1,) or counts.min() < 0:
            raise ValueError(
                f"There must be a count for each of {n_classes} classes and one for all, at least "
                "0."
            )
        if (
            columns.dtype.kind not in "iu"
            or common.dtype != np.float32
            or not columns.shape == common.shape == (len(common),)
        ):
            raise ValueError("There must be a value of float32 for each column that all rows have.")
        if len(columns) and not (
            columns[0] >= 0 and columns[-1] < n_columns and (columns[1:] > columns[:-1]).all()
        ):
            raise ValueError(
                f"The columns that all rows have must be ascending integers below {n_columns}."
            )
        half = float(values["half"])
        if not 0 <= half < _LARGEST_HALF:
            raise ValueError(
                f"The length of a row that says half must be a number of at least 0, got {half}."
            )
        summary = TrainingSummary.from_arrays(arrays, n_classes)
        return cls(counts, int(values["rows_seen"]), half, columns, common, before, summary)

    def shares_of_scores(self, lengths: NDArray[np.float64]) -> NDArray[np.float64]:  # (n_rows,)
        """Return g of rows of some lengths."""
        some = (lengths > 0) & np.isfinite(lengths)
        return np.divide(
            lengths**3, lengths**3 + self.half**3, out=(lengths > 0).astype(np.float64), where=some
        )

    def shifted(
        self, loss: Loss, scores: NDArray[np.float64], lengths: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Move the scores of rows towards the scores of the class shares."""
        prior = loss.prior_scores(self.class_counts)
        if prior is None:
            return scores
        shares = self.shares_of_scores(lengths)[:, np.newaxis]
        return np.asarray(np.where(shares < 1, shares * scores + (1 - shares) * prior, scores))


def count_classes(rows: Samples, n_classes: int) -> NDArray[np.float64]:
    """Return the total weight of the rows of each class and, at the end, of all rows."""
    weights = (
        np.ones(len(rows)) if rows.row_weights is None else rows.row_weights.astype(np.float64)
    )
    if rows.targets.ndim == 2:
        own = (rows.targets * weights[:, np.newaxis]).sum(axis=0, dtype=np.float64)
    else:
        own = np.bincount(rows.targets, weights, n_classes)
    return np.append(own, weights.sum())


def common_columns(parts: Sequence[Calibration]) -> tuple[NDArray[Any], NDArray[np.float32]]:
    """Return the columns that the rows of all parts share with one sign, and the smaller values."""
    columns, values = parts[0].common_columns, parts[0].common_values
    for part in parts[1:]:
        columns, mine, theirs = np.intersect1d(columns, part.common_columns, return_indices=True)
        both = np.stack([values[mine], part.common_values[theirs]])
        values = shared_values(both.min(axis=0), both.max(axis=0))
        columns, values = columns[values != 0], values[values != 0]
    return columns, values


class Scored(NamedTuple):
    """Samples and crops of them with their scores by a model that was not trained on them."""

    targets: NDArray[Any]  # (n_rows,), or (n_rows, n_classes)
    row_weights: NDArray[np.float64]  # (n_rows,)
    scores: NDArray[np.float64]  # (n_rows, n_classes)
    lengths: NDArray[np.float64]  # (n_rows,): e; infinite for rows that cannot be cropped
    is_crop: NDArray[np.bool_]  # (n_rows,)

    @classmethod
    def by(
        cls,
        score: Callable[[Any], tuple[NDArray[np.float64], NDArray[np.float64]]],
        rows: Any,
        some: NDArray[np.int64],
        cropped: NDArray[np.int64],
        calibration: Calibration,
        seed: int,
    ) -> Self:
        """Score ``some`` rows, as many as a fit needs at most, and crops of ``cropped`` ones.

        ``score`` returns scores and lengths.
        """
        chosen, n_crops = rows.select(evenly_chosen(some, calibration.n_classes)), 0
        if len(cropped):
            crops, _ = rows.crops(cropped, calibration.common_columns, seed)
            chosen, n_crops = chosen.joined(crops), len(crops)
        weights = (
            np.ones(len(chosen))
            if chosen.row_weights is None
            else chosen.row_weights.astype(np.float64)
        )
        return cls(
            chosen.targets, weights, *score(chosen), np.arange(len(chosen)) >= len(chosen) - n_crops
        )

    @classmethod
    def joined(cls, parts: Sequence[Scored]) -> Self:
        """Return the rows of several parts."""
        columns: list[Any] = [np.concatenate(pair) for pair in zip(*parts, strict=True)]
        return cls(*columns)

    def select(self, rows: NDArray[Any] | slice) -> Scored:
        """Return some of the rows."""
        columns: list[Any] = [values[rows] for values in self]
        return Scored(*columns)

    def sample(self) -> Scored:
        """Return some of the rows, evenly spaced."""
        n_rows = max(1, _FITTED_SCORES // self.scores.shape[1])
        return self.select(slice(None, None, -(-len(self.targets) // n_rows)))

    def weights(self) -> NDArray[np.float64]:
        """Return the weights of the rows, with a sum of one."""
        weights = self.row_weights if self.row_weights.any() else np.ones(len(self.row_weights))
        whole, crops = weights[~self.is_crop].sum(), weights[self.is_crop].sum()
        if whole and crops:
            weights = np.where(self.is_crop, weights * (WEIGHT_OF_CROPS * whole / crops), weights)
        return np.asarray(weights / weights.sum())


def evenly_chosen(some: NDArray[np.int64], n_classes: int) -> NDArray[np.int64]:
    """Return some of the rows, evenly spaced, as many as a fit needs at most."""
    step = -(-len(some) // min(MAX_ROWS, max(1, _MAX_SCORES // n_classes)))
    return some[:: max(1, step)]


class Numbers(NamedTuple):
    """The fitted numbers of a calibration."""

    inverse_temperature: float  # a
    half: float  # h


def fit_calibration(
    loss: Loss,
    calibration: Calibration,
    scored: Scored,
    *,
    n_uniform: int = 1,
    earlier: Numbers | None = None,
    n_earlier: int = 0,
    keeps_temperature: bool = False,
) -> None:
    """Set a and h to the maximum-likelihood values for the labels of some rows and imagined ones.

    Imagined are ``n_uniform`` rows of uniform classes, which make the optimum finite, and
    ``n_earlier`` rows with labels drawn from the probabilities by ``earlier`` numbers.
    ``keeps_temperature`` sets h only.
    """
    scored = scored.sample()
    lengths = scored.lengths
    weights = scored.weights()[:, np.newaxis]
    finds_half = bool(scored.is_crop.any())
    if keeps_temperature and not finds_half:
        return
    whole = lengths[(lengths > 0) & np.isfinite(lengths) & ~scored.is_crop]
    median, given_half = float(np.median(whole)) if len(whole) else 1.0, calibration.half

    def logits(numbers: Numbers) -> NDArray[np.float64]:
        # Both belong to a new model: an error leaves none with trial values.
        loss.inverse_temperature, calibration.half = numbers
        return loss.logits(calibration.shifted(loss, scored.scores, lengths))

    def numbers_at(point: NDArray[np.float64]) -> Numbers:
        half = float(np.exp(point[1])) * median if finds_half else given_half
        return Numbers(float(np.exp(point[0])), half)

    targets = _smoothed_targets(loss, scored, n_uniform, n_earlier)
    start, limit = np.array([0.0, -_BELOW_MEDIAN]), np.array([_LIMIT, _LIMIT])
    if earlier is not None and n_earlier:
        n_new = np.count_nonzero(~scored.is_crop)
        share = n_new / (n_new + n_earlier)
        before = logits(earlier)
        targets = share * targets + (1 - share) * (
            expit(before) if loss.multilabel else softmax(before, axis=1)
        )
        start = np.log([earlier.inverse_temperature, max(earlier.half / median, np.exp(-_LIMIT))])
        limit = share * limit
    if keeps_temperature:
        start[0] = np.log(loss.inverse_temperature)
    imagined = (
        0.0
        if n_earlier or not finds_half
        else _IMAGINED_ROWS / (2 * max(1, int((~scored.is_crop).sum())))
    )

    def objective(point: NDArray[np.float64]) -> float:
        penalty = imagined * float(point[1] + _BELOW_MEDIAN) ** 2
        return penalty + _cross_entropy(loss, logits(numbers_at(point)), targets, weights)

    free = np.flatnonzero([not keeps_temperature, finds_half])
    tolerance = 1e-2 if n_earlier else 3e-4
    lowest, highest = (np.clip(start + sign * limit, -_LIMIT, _LIMIT) for sign in (-1, 1))
    while True:
        point = _minimum(objective, start, (lowest, highest), limit, free, tolerance)
        if not (finds_half and point[1] > lowest[1]):
            break
        if not _costs_labels(loss, scored, logits(numbers_at(point))):
            break
        highest[1] = max(point[1] - _STEP * limit[1] / 2, lowest[1])
    loss.inverse_temperature, calibration.half = numbers_at(point)


def least_cross_entropy(
    scores: NDArray[np.float64], targets: NDArray[np.int64], weights: NDArray[np.float64]
) -> float:
    """Return the weighted mean cross-entropy of labels, with the best temperature."""

    def objective(log_factor: float) -> float:
        logits = np.exp(log_factor) * scores
        own = logits[np.arange(len(targets)), targets]
        return float(weights @ (logsumexp(logits, axis=1) - own) / weights.sum())

    bounds, options = (-_LIMIT, _LIMIT), {"xatol": 0.01}
    return float(minimize_scalar(objective, bounds=bounds, method="bounded", options=options).fun)


def _cross_entropy(
    loss: Loss,
    logits: NDArray[np.float64],
    targets: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> float:
    """Return the weighted cross-entropy of logits, of shape (n_rows, n_classes) as targets."""
    if loss.multilabel:
        return float((weights * (np.logaddexp(0, logits) - targets * logits)).sum())
    largest = logits.max(axis=1, keepdims=True)
    normalizers = largest + np.log(np.exp(logits - largest).sum(axis=1, keepdims=True))
    return float((weights * (normalizers - (targets * logits).sum(axis=1, keepdims=True))).sum())


def _minimum(
    objective: Callable[[NDArray[np.float64]], float],
    start: NDArray[np.float64],
    bounds: tuple[NDArray[np.float64], NDArray[np.float64]],
    limit: NDArray[np.float64],
    free: NDArray[np.intp],
    tolerance: float,
) -> NDArray[np.float64]:
    """Return the best point within the bounds, by an optimizer without BLAS and its threads.

    Only the ``free`` coordinates differ from ``start``; steps and tolerance are relative to
    ``limit``.
    """
    lowest, highest = bounds
    point: NDArray[np.float64] = np.clip(start, lowest, highest)
    unit = limit[free]
    corners = [-_STEP if point[i] + _STEP * limit[i] > highest[i] else _STEP for i in free]

    def value(steps: NDArray[np.float64]) -> float:
        moved = point.copy()
        moved[free] += steps * unit
        return objective(moved)

    best = minimize(
        value,
        np.zeros(len(free)),
        method="Nelder-Mead",
        bounds=list(
            zip((lowest - point)[free] / unit, (highest - point)[free] / unit, strict=True)
        ),
        options={
            "initial_simplex": np.vstack([0 * unit, np.diag(corners)]),
            "xatol": tolerance,
            "fatol": 1e-7,
        },
    )
    point[free] += best.x * unit
    return point


def _costs_labels(loss: Loss, scored: Scored, logits: NDArray[np.float64]) -> bool:
    """Check by a sign test whether logits predict whole rows significantly worse than scores."""
    if loss.multilabel or scored.targets.ndim == 2:
        return False
    targets = scored.targets[~scored.is_crop]
    was_right, is_right = (
        values[~scored.is_crop].argmax(axis=1) == targets for values in (scored.scores, logits)
    )
    worse, better = np.count_nonzero(was_right & ~is_right), np.count_nonzero(is_right & ~was_right)
    return bool(worse - better > _SIGNIFICANT * np.sqrt(worse + better))


def _smoothed_targets(
    loss: Loss, scored: Scored, n_uniform: int, n_earlier: int
) -> NDArray[np.float64]:
    """Return class probabilities of each row, the nearer to uniform the fewer the rows."""
    targets, n_classes = scored.targets, 2 if loss.multilabel else scored.scores.shape[1]
    if targets.ndim == 1:
        targets = np.eye(n_classes)[targets]
    n_decisions = (len(targets) + n_earlier) * (targets.shape[1] if loss.multilabel else 1)
    other = n_uniform / (n_classes * (n_decisions + n_uniform))
    return np.asarray((1 - n_classes * other) * targets + other)
