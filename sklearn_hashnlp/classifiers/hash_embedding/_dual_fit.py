"""Training without gradients: a linear support vector machine, by dual coordinate descent.

It comes near the optimum of a penalized loss in four to ten epochs. The log-odds of naive Bayes are
added to the weights. With few rows cross-validation chooses the penalty and the factor of the
log-odds; left-out rows fit the temperature.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._idf import mean_idf, smoothed_idf
from sklearn_hashnlp._threads import map_in_order, run_beside
from sklearn_hashnlp.classifiers._calibration import (
    WEIGHT_OF_CROPS,
    Calibration,
    Scored,
    fit_calibration,
    least_cross_entropy,
)
from sklearn_hashnlp.classifiers._losses import Calibrate, Loss, LossName
from sklearn_hashnlp.classifiers._training_summary import TrainingSummary
from sklearn_hashnlp.classifiers.hash_embedding._embedding_tables import ImportanceInit
from sklearn_hashnlp.classifiers.hash_embedding._known_columns import DocumentFrequencies, summarize
from sklearn_hashnlp.classifiers.hash_embedding._model import (
    DIVERGENCE,
    HashEmbeddingModel,
    embed_rows,
    score_rows,
    spec_of,
)
from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import SparseRows
from sklearn_hashnlp.kernels.embeddings._hash_ids import locate_ids
from sklearn_hashnlp.kernels.embeddings._tables import lazy_table
from sklearn_hashnlp.kernels.linear._dual_coordinate_descent import (
    LinearRows,
    add_by_label,
    normalize_rows,
    to_log_odds,
)
from sklearn_hashnlp.kernels.linear._dual_solver import (
    SMOOTHING,
    DualSolver,
    LinearProblem,
    cross_validate,
    minimized,
    sums_of_squares,
)
from sklearn_hashnlp.kernels.linear._linear_model import LinearModel
from sklearn_hashnlp.training._fit_task import current_interrupt
from sklearn_hashnlp.training._optimizer_state import OptimizerState

_MANY_ROWS = 20_000
_EPOCHS = ((5_000, 10), (_MANY_ROWS, 6))  # numbers of rows, and the epochs of fewer rows
_MIN_EPOCHS = 4

_STRENGTHS = (1.0, 3.0, 10.0)  # C
_SHARES = (0.0, 0.03, 0.06, 0.12)  # factors of the log-odds
_DEFAULT_SHARE = 0.03
_STRENGTHS_OF_MANY_ROWS, _SHARES_OF_MANY_ROWS = (0.1, 0.3, 1.0, 3.0), (0.06, 0.12, 0.25, 0.5)
_NOISE = 0.15  # correct predictions that a smaller C must have more, times the root of their number
# Of stochastic gradients; chosen on validation rows. Logits are larger than margins.
_SHARES_OF_SGD: dict[LossName, float] = {"softmax": 0.1, "hinge": 0.05}
_BLOCK_ROWS = 4096
NEW_STEP = 0.5  # step of an unused row of the pool, relative to the exact fit of one row
# Factor of the curvature, for C = 20; chosen on validation rows, as is NEW_STEP. It does not depend
# on the chosen penalty, since further training has none.
_STIFFNESS = 40.0
_FOLDS = 3
_THREADS = 2  # the same number as for stochastic gradients
_MAX_FOLD_ROWS = 5000
_MIN_FOLD_ROWS = 30
_ROWS_TO_CHECK = 32
_SUMMARIZED_ROWS = 3000  # more take time, and a summary is hardly more certain


def n_dual_epochs(n_rows: int, n_hashes: int = 1) -> int:
    """Return the number of epochs, larger for few rows and for collisions of several hashes."""
    n_epochs = next((n_epochs for limit, n_epochs in _EPOCHS if n_rows < limit), _MIN_EPOCHS)
    return n_epochs * min(n_hashes, 2)


class Settings(NamedTuple):
    """Parameters chosen by cross-validation."""

    strength: float = 3.0  # C: the inverse of the penalty
    share: float = _DEFAULT_SHARE  # factor of the log-odds


class Located(NamedTuple):
    """The rows of both tables that the values of rows belong to; each has k rows of the pool."""

    table_rows: NDArray[np.int64]  # (n_table_rows,): rows of the importance table
    rows: NDArray[np.int32]  # (n_values,): positions in them
    slots: NDArray[np.int64]  # (n_columns,): rows of the pool
    columns: NDArray[np.int32]  # (n_values * k,): positions in them

    @classmethod
    def of(cls, model: LinearModel, rows: SparseRows) -> Located:
        """Hash the columns of rows."""
        sizes = len(model.known), len(model.pool)
        table_rows, slots = locate_ids(
            rows.indices, model.constants, *sizes, model.spec.layout.variant
        )
        return cls(
            *number_distinct(table_rows, sizes[0]), *number_distinct(slots.reshape(-1), sizes[1])
        )


def number_distinct(
    ids: NDArray[np.int32], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the distinct ids below ``size``, in order, and the position of each id in them."""
    is_used = np.zeros(size, dtype=np.bool_)
    is_used[ids] = True
    found = np.flatnonzero(is_used)
    position_of = np.empty(size, dtype=np.int32)
    position_of[found] = np.arange(len(found), dtype=np.int32)
    return found, position_of[ids]


def problem_of(
    model: LinearModel, dataset: SparseRows, located: Located, *, drops_new: bool = True
) -> LinearProblem:
    """Return the problem of rows whose columns are located in the tables of a model."""
    values = dataset.data.astype(np.float32)
    if model.importance is not None:
        values *= model.importance[located.table_rows, 0][located.rows]
    norm: Literal["l1", "l2"] = "l1" if model.spec.normalize == "l1" else "l2"
    n_hashes = model.spec.slots_per_id
    sizes = sums_of_squares(values, dataset.indptr)
    values, offsets = np.repeat(values, n_hashes), n_hashes * dataset.indptr
    normalize_rows(values, offsets, norm, n_hashes)
    square = float(np.square(values, dtype=np.float64).sum()) / max(1, len(dataset))
    scale = 1 / math.sqrt(n_hashes if norm == "l2" else square or 1.0)
    values *= np.float32(scale)
    n_classes, labels = len(model.bias), dataset.targets.astype(np.int64)
    return LinearProblem(
        LinearRows(offsets, located.columns, values, labels - 1 if n_classes == 2 else labels),
        costs_of(dataset),
        located.slots,
        n_classes,
        norm,
        scale,
        drops_new,
        n_hashes,
        sizes,
    )


def costs_of(rows: SparseRows) -> NDArray[np.float32]:
    """Return the weight of each row in the loss."""
    return (
        np.ones(len(rows), dtype=np.float32)
        if rows.row_weights is None
        else rows.row_weights.astype(np.float32)
    )


class LogOdds(NamedTuple):
    """The log-odds of naive Bayes of training rows, with inverse document frequencies."""

    used: NDArray[np.int64]  # (n,): rows of the pool
    odds: NDArray[np.float32]  # (n, n_classes)

    @classmethod
    def of(
        cls, model: LinearModel, importance: NDArray[np.float32] | None, rows: SparseRows
    ) -> LogOdds:
        """Compute them with initial importance weights; a value counts in k rows of the pool."""
        sizes = len(model.known), len(model.pool)
        # by rows of the pool: sums of normalized values of the rows of each class, and of all rows
        own, total = lazy_table((sizes[1], len(model.bias))), lazy_table((sizes[1],))
        for start in range(0, len(rows), _BLOCK_ROWS):  # few values at a time take little memory
            part = rows.select(np.arange(start, min(start + _BLOCK_ROWS, len(rows))))
            table_rows, slots = locate_ids(
                part.indices, model.constants, *sizes, model.spec.layout.variant
            )
            values, n_hashes = part.data.astype(np.float32), slots.shape[1]
            if importance is not None:
                values *= importance[table_rows, 0]
            normalize_rows(values, part.indptr)
            columns, labels = slots.reshape(-1), part.targets.astype(np.int64)
            linear = LinearRows(
                n_hashes * part.indptr, columns, np.repeat(values, n_hashes), labels
            )
            add_by_label(linear, costs_of(part), own, total)
        used = np.flatnonzero(total)
        odds = own[used]
        to_log_odds(odds, total[used], SMOOTHING)
        odds -= odds.mean(axis=1, keepdims=True)  # the probabilities are the same
        return cls(used, odds)

    def increments(
        self, model: LinearModel, loss: LossName
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:  # (n,), (n, d)
        """Return rows of the pool and a share of the log-odds as their increments."""
        # (n_classes, d)
        heads = np.linalg.pinv(model.weight[:, : model.pool.shape[1]].T.astype(np.float64))
        share = _SHARES_OF_SGD[loss] / model.spec.slots_per_id  # the vectors of a column add up
        return self.used, self.odds @ (share * heads).astype(np.float32)


def start_log_odds(model: LinearModel, rows: SparseRows) -> Future[LogOdds] | None:
    """Start to compute the log-odds; None if the model has fewer dimensions than classes."""
    if model.pool.shape[1] < len(model.bias):
        return None
    # A copy, because the importance weights are trained meanwhile.
    importance = None if model.importance is None else model.importance.copy()
    return run_beside(LogOdds.of, model, importance, rows)


class LeftOut(NamedTuple):
    """Rows and crops with scores by models not trained on them, scaled to training on all rows."""

    rows: NDArray[np.int64]  # (n,): of crops the rows that they are of
    scores: NDArray[np.float64]  # (n, n_classes)
    sizes: NDArray[np.float64] | None  # (n,)
    n_whole: int
    n_folds: int  # models; each one scores every n_folds-th row


Crop: TypeAlias = Callable[[NDArray[np.int64]], tuple[LinearProblem, NDArray[np.int64]]]
"""Return crops of some rows of a problem, and the indices of their rows among these."""


def _with_crops(
    problem: LinearProblem, rows: NDArray[np.int64], crop: Crop | None
) -> tuple[LinearProblem, NDArray[np.int64]]:
    """Return rows of a problem and crops of them, and for each its index in ``rows``."""
    part, index = problem.take(rows), np.arange(len(rows))
    if crop is None:
        return part, index
    crops, sources = crop(rows)
    return part.joined(crops), np.concatenate([index, sources])


def choose_settings(
    problem: LinearProblem, seed: int, crop: Crop | None = None
) -> tuple[Settings, LeftOut | None]:
    """Choose the settings by cross-validation, on ties the nearest to the defaults."""
    n_rows = len(problem.rows.labels)
    if n_rows < _MIN_FOLD_ROWS:
        return Settings(), None
    n_epochs, strengths = n_dual_epochs(n_rows, problem.n_hashes), _STRENGTHS
    rows = np.random.default_rng(seed).permutation(n_rows)[:_MAX_FOLD_ROWS]
    fold_of, (both, index) = np.arange(len(rows)) % _FOLDS, _with_crops(problem, rows, crop)
    options: dict[str, Any] = {
        "seed": seed,
        "n_epochs": n_epochs,
        "n_threads": _THREADS,
        "n_trained": len(rows),
    }
    (left_out,) = cross_validate([both], fold_of[index], strengths, **options)
    margins, odds = dict(zip(strengths, left_out.margins, strict=True)), left_out.odds
    assert odds is not None
    targets, costs = problem.targets()[rows], problem.costs[rows].astype(np.float64)

    def quality(one: Settings) -> tuple[float, float, float]:
        scores = (margins[one.strength] + one.share * odds)[: len(rows)]
        correct = float(costs[scores.argmax(axis=1) == targets].sum())
        return correct, -abs(one.share - _DEFAULT_SHARE), -abs(np.log(one.strength))

    best = max(
        (Settings(strength, share) for strength in strengths for share in _SHARES), key=quality
    )
    scores = margins[best.strength] + best.share * odds
    train = problem.take(rows[fold_of == 1])
    valid = problem.take(rows[fold_of == 0]).known_from(train)
    weights, bias = minimized(train, best.strength, seed, n_epochs)
    before = valid.scores(weights + np.float32(best.share) * train.log_odds(), bias)
    growth = _growth(before, scores[: len(rows)][fold_of == 0], n_rows / len(rows))
    return best, LeftOut(rows[index], growth * scores, left_out.sizes, len(rows), _FOLDS)


def _growth(small: NDArray[np.float64], large: NDArray[np.float64], more: float) -> float:
    """Return the growth factor of scores from training on two of three folds to all rows.

    ``small`` and ``large`` are scores of the same rows after training on one and on two folds,
    ``more`` is the number of rows relative to the three folds. Scores grow as a power of the number
    of training rows.
    """
    before, after = (
        np.sqrt(np.mean((one - one.mean(axis=1, keepdims=True)) ** 2)) for one in (small, large)
    )
    power = np.clip(np.log2(after / before), 0.0, 1.0) if min(before, after) > 0 else 0.0
    return float((more * _FOLDS / (_FOLDS - 1)) ** power)


def choose_on_sample(
    problem: LinearProblem, seed: int, crop: Crop | None = None
) -> tuple[Settings, LeftOut]:
    """Choose the settings for many rows on a sample; return them and the scores of left-out rows.

    C is the largest one with the most correct predictions, up to noise. The factor of the log-odds
    has the smallest cross-entropy of rows and, with less weight, of crops.
    """
    rows = np.random.default_rng(seed).permutation(len(problem.rows.labels))
    n_epochs = n_dual_epochs(len(rows), problem.n_hashes)
    some, others = np.split(rows, [min(_MAX_FOLD_ROWS, len(rows) // 4)])

    both, index = _with_crops(problem, some, crop)
    targets, costs = problem.targets()[some[index]], problem.costs[some[index]].astype(np.float64)
    n_some = len(some)

    def score(
        strengths: Sequence[float], train: LinearProblem
    ) -> tuple[list[NDArray[np.float64]], NDArray[np.float64], NDArray[np.float64] | None]:
        valid = both.known_from(train)

        def margins(strength: float) -> NDArray[np.float64]:
            return valid.scores(*minimized(train, strength, seed, n_epochs))

        scores = list(map_in_order(margins, strengths, _THREADS))
        return scores, valid.scores(train.log_odds()), valid.sizes

    margins, odds, _ = score(_STRENGTHS_OF_MANY_ROWS, problem.take(others[: 2 * len(some)]))
    first = _SHARES_OF_MANY_ROWS[0] * odds
    predicted = [(one + first)[:n_some].argmax(axis=1) for one in margins]
    correct = np.array([costs[:n_some][one == targets[:n_some]].sum() for one in predicted])
    noise = _NOISE * np.sqrt(np.square(costs[:n_some]).sum())
    best = np.flatnonzero(correct >= correct.max() - noise)[-1]  # the largest

    def cross_entropy(share: float) -> float:
        scores = margins[best] + share * odds
        parts = [slice(n_some)] if crop is None else [slice(n_some), slice(n_some, None)]
        values = [least_cross_entropy(scores[one], targets[one], costs[one]) for one in parts]
        return values[0] + WEIGHT_OF_CROPS * sum(values[1:])

    share = min(_SHARES_OF_MANY_ROWS, key=cross_entropy)
    settings = Settings(_STRENGTHS_OF_MANY_ROWS[best], share)
    (left_out,), odds, sizes = score([settings.strength], problem.take(np.sort(others)))
    return settings, LeftOut(some[index], left_out + share * odds, sizes, n_some, 1)


class Minimum(NamedTuple):
    """The minimum of the loss of a linear problem."""

    weights: NDArray[np.float32]  # (n_columns, n_classes), with the log-odds
    bias: NDArray[np.float32]  # (n_classes,)
    left_out: LeftOut | None
    objective: float  # loss and penalty that were minimized, of the last epoch's weights
    duality_gap: float  # upper bound of the relative distance from the optimum


def minimize(problem: LinearProblem, seed: int, crop: Crop | None) -> Minimum:
    """Choose settings and minimize the squared hinge loss; an interrupt stops after an epoch."""
    n_rows, interrupt = len(problem.rows.labels), current_interrupt()
    settings, left_out = (choose_settings if n_rows < _MANY_ROWS else choose_on_sample)(
        problem, seed, crop
    )
    n_epochs, interrupt.deferred = n_dual_epochs(n_rows, problem.n_hashes), True
    solver = DualSolver(problem, settings.strength, seed, n_epochs)
    for _ in range(n_epochs):
        solver.epoch()
        if interrupt.pending:
            break
    objective, gap = solver.objective()
    weights, bias = solver.result()
    weights += np.float32(settings.share) * problem.log_odds()
    if problem.n_classes == 2:
        weights, bias = np.concatenate([-weights, weights], axis=1), np.concatenate([-bias, bias])
    return Minimum(weights, bias, left_out, objective, gap)


class DualFit(NamedTuple):
    """A model that was trained by dual coordinate descent."""

    model: HashEmbeddingModel
    minimum: Minimum
    idf_divisor: float | None


def fit_dual(
    architecture: dict[str, Any],
    rows: SparseRows,
    loss: Loss,
    calibration: Calibration,
    *,
    importance_init: ImportanceInit,
    learning_rate: float,
    rows_per_step: int,
    seed: int,
    calibrate: Calibrate,
) -> DualFit:
    """Fit and calibrate a model; ``learning_rate`` and ``rows_per_step`` are for later training."""
    spec, n_classes = spec_of(architecture), architecture["num_classes"]
    linear, divisor = LinearModel.zeros(spec, n_classes, float(importance_init == "ones")), None
    located = Located.of(linear, rows)
    if linear.importance is not None and importance_init == "idf":
        weights = smoothed_idf(np.bincount(located.rows), len(rows))
        divisor = mean_idf(weights)
        linear.importance[located.table_rows] = (weights / divisor).astype(np.float32)[
            :, np.newaxis
        ]
    problem = problem_of(linear, rows, located, drops_new=divisor is not None)

    def crop(some: NDArray[np.int64]) -> tuple[LinearProblem, NDArray[np.int64]]:
        crops, sources = rows.crops(some, calibration.common_columns, seed)
        own = problem_of(linear, crops, Located.of(linear, crops), drops_new=divisor is not None)
        return own.in_columns_of(problem), sources

    minimum = minimize(problem, seed, crop if calibrate == "auto" else None)
    # Each class is a column of the pool, below a multiple of the identity matrix.
    # a part for each hash where they are concatenated
    for first in range(0, spec.vector_dim, spec.embedding_dim):
        linear.weight[:, first : first + n_classes] = problem.scale * np.eye(
            n_classes, dtype=np.float32
        )
    linear.bias[:] = minimum.bias
    linear.pool[problem.slots, :n_classes] = minimum.weights
    first_rows = rows if len(rows) <= _ROWS_TO_CHECK else rows.select(np.arange(_ROWS_TO_CHECK))
    if not score_rows(linear, first_rows).finite:
        raise ValueError(DIVERGENCE)
    optimizer = curvature_state(linear, problem, rows, located, learning_rate, rows_per_step)
    state: dict[str, Any] = {"rows_per_step": rows_per_step, "optimizer": optimizer}
    model = HashEmbeddingModel.of_linear(architecture, linear, loss, calibration, **state)
    is_idf = divisor is not None
    _fit_probabilities(model, rows, located, minimum.left_out, seed, calibrate, is_idf=is_idf)
    return DualFit(model, minimum, divisor)


def _fit_probabilities(
    model: HashEmbeddingModel,
    rows: SparseRows,
    located: Located,
    left_out: LeftOut | None,
    seed: int,
    calibrate: Calibrate,
    *,
    is_idf: bool,  # whether the importance weights are inverse document frequencies
) -> None:
    """Fit the probabilities to left-out rows if there are any."""
    calibration = model.calibration
    if calibrate and left_out is not None and left_out.sizes is not None:
        weights = costs_of(rows)[left_out.rows].astype(np.float64)
        lengths = np.sqrt(np.maximum(left_out.sizes - model.base, 0.0))
        is_crop = np.arange(len(weights)) >= left_out.n_whole
        scored = Scored(rows.targets[left_out.rows], weights, left_out.scores, lengths, is_crop)
        fit_calibration(model.loss, calibration, scored)
        calibration.summary = _summary(model, rows, located, left_out, scored, is_idf=is_idf)
        return

    def score(some: SparseRows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        assert model.linear is not None
        result = score_rows(model.linear._replace(base=model.base), some)
        return result.scores, result.lengths

    every = np.arange(len(rows))
    scored = Scored.by(
        score, rows, every, every if calibrate == "auto" else every[:0], calibration, seed
    )
    # Nearly all training rows are predicted correctly: smooth more, by a row per class.
    fit_calibration(model.loss, calibration, scored, n_uniform=calibration.n_classes)


def _summary(
    model: HashEmbeddingModel,
    rows: SparseRows,
    located: Located,
    left_out: LeftOut,
    scored: Scored,
    *,
    is_idf: bool,
) -> TrainingSummary:
    """Summarize the rows of the cross-validation."""
    n_rows = min(left_out.n_whole, _SUMMARIZED_ROWS)  # they are in random order
    whole = scored.select(slice(n_rows))
    scores = model.calibration.shifted(model.loss, whole.scores, whole.lengths)
    tables, of_rows = model.tables, None
    if is_idf:
        of_rows = np.zeros(len(tables.known), dtype=np.int32)
        of_rows[located.table_rows] = np.bincount(located.rows)
    return summarize(
        tables,
        DocumentFrequencies.of(model.architecture, tables, rows, of_rows),
        rows.select(left_out.rows[:n_rows]),
        model.loss.probabilities(scores),
        fold_of=np.arange(n_rows) % left_out.n_folds,
    )


def curvature_state(
    model: LinearModel,
    problem: LinearProblem,
    rows: SparseRows,
    located: Located,
    learning_rate: float,
    rows_per_step: int,
) -> OptimizerState:
    """Return a state of AdaGrad with steps inversely proportional to the curvature of the loss.

    An unused row of the pool takes half the step that would fit one new text exactly; the more
    training rows have a row of the pool, the smaller its step.
    """
    (offsets, columns, values, _), costs = problem.rows, problem.costs
    eps, n_hashes = learning_rate / rows_per_step / NEW_STEP, problem.n_hashes
    squares = values.astype(np.float64) ** 2 * np.repeat(costs, np.diff(offsets))

    def accumulated(curvature: Any, eps: float = eps) -> NDArray[np.float32]:
        return np.asarray(((eps * _STIFFNESS * curvature) ** 2).astype(np.float32))

    sums = {"bag.pool": lazy_table((len(model.pool),))}
    sums["bag.pool"][problem.slots] = accumulated(np.bincount(columns, squares, len(problem.slots)))
    if model.importance is not None:
        sums["bag.importance"] = lazy_table((len(model.importance),))
        by_value = squares.reshape(-1, n_hashes).sum(axis=1)
        sums["bag.importance"][located.table_rows] = accumulated(
            np.bincount(located.rows, by_value), eps / n_hashes
        )
    vectors, _ = embed_rows(model, rows)
    # The parts of a concatenated vector share a step of the head.
    n_parts = model.spec.vector_dim // model.spec.embedding_dim
    by_column = n_parts * (np.square(vectors) * costs[:, np.newaxis]).sum(axis=0, dtype=np.float64)
    sums["head.0.weight"] = np.broadcast_to(accumulated(by_column), model.weight.shape).copy()
    sums["head.0.bias"] = accumulated(np.full(len(model.bias), costs.sum(dtype=np.float64)))
    parameters = {name: {"sum": array} for name, array in sums.items()}
    damping: list[float | None] = [eps, eps]  # of the tables, and of the head
    rates = [learning_rate] * 2
    # With several hashes: the importance weights, the pool, where all hashes share a step, and the
    # head
    if n_hashes > 1:
        damping = [eps / n_hashes, eps / n_hashes, eps * n_hashes / n_parts]
        rates = [learning_rate, learning_rate / n_hashes, learning_rate]
    return OptimizerState("adagrad", damping, parameters, learning_rates=rates)
