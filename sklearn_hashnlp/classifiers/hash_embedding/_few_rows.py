"""Training on few rows: a linear support vector machine with settings chosen by cross-validation.

Dual coordinate descent finds the optimum of a penalized loss in four to ten epochs. The log-odds of naive Bayes are
added to the weights, with a factor chosen by cross-validation: the fewer rows, the more they help.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from sklearn_hashnlp._idf import smoothed_idf
from sklearn_hashnlp._threads import map_in_order
from sklearn_hashnlp.classifiers._losses import Loss
from sklearn_hashnlp.classifiers._temperature import inverse_temperature, update_temperature
from sklearn_hashnlp.classifiers.hash_embedding._embedding_tables import ImportanceInit
from sklearn_hashnlp.classifiers.hash_embedding._idf import (
    KnownColumns,
    enough_evidence,
    evidence_of_training,
    mean_idf,
)
from sklearn_hashnlp.classifiers.hash_embedding._linear_fit import LinearFit, spec_of
from sklearn_hashnlp.classifiers.hash_embedding._linear_scores import DIVERGENCE, document_vectors, score_rows
from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import SparseRows
from sklearn_hashnlp.kernels._rows import select_rows
from sklearn_hashnlp.kernels.embeddings._hash_ids import locate_columns
from sklearn_hashnlp.kernels.embeddings._tables import TableSpec, lazy_table
from sklearn_hashnlp.kernels.linear._dual_coordinate_descent import (
    LinearRows,
    descend,
    naive_bayes_log_odds,
    normalize_rows,
    squared_norms,
)
from sklearn_hashnlp.kernels.linear._linear_model import LinearModel
from sklearn_hashnlp.training._interrupts import Interrupt, current_interrupt
from sklearn_hashnlp.training._optimizer_state import OptimizerState

_MANY_ROWS = 20_000
_EPOCHS = ((5_000, 10), (_MANY_ROWS, 6))  # numbers of rows, and the epochs of fewer rows
_MIN_EPOCHS = 4
_AVERAGED = 0.6  # share of the epochs, the last ones: the bias oscillates

_STRENGTHS = (1.0, 3.0, 10.0)  # C
_SHARES = (0.0, 0.03, 0.06, 0.12)  # factors of the log-odds
_DEFAULT_SHARE = 0.03
_SMOOTHING = 0.03  # added to sums of normalized values, which are below one per row
_NEW_STEP = 0.5  # step of an unused row of the pool, relative to the exact fit of one row
# Factor of the curvature, for C = 20; chosen on validation rows, as is _NEW_STEP. It does not depend on the chosen
# penalty, since further training has none.
_STIFFNESS = 40.0
_FOLDS = 3
_THREADS = 2  # the same number as for stochastic gradients
_MAX_FOLD_ROWS = 5000
_MIN_FOLD_ROWS = 30
_ROWS_TO_CHECK = 32


def n_dual_epochs(n_rows: int) -> int:
    """Return the number of epochs: fewer rows need more to come near the optimum."""
    return next((n_epochs for limit, n_epochs in _EPOCHS if n_rows < limit), _MIN_EPOCHS)


class Settings(NamedTuple):
    """Parameters chosen by cross-validation."""

    strength: float = 3.0  # C: the inverse of the penalty
    share: float = _DEFAULT_SHARE  # factor of the log-odds


class Located(NamedTuple):
    """The rows of both tables that the values of rows belong to, with one hash function."""

    rows: NDArray[np.int32]  # (n_values,): of the importance table
    slots: NDArray[np.int32]  # (n_values,): of the pool

    @classmethod
    def of(cls, model: LinearModel, rows: SparseRows) -> Located:
        """Hash the columns of rows."""
        sizes = len(model.known), len(model.pool)
        return cls(*locate_columns(rows.indices, model.constants, *sizes, model.spec.layout.variant))


@dataclass(frozen=True)
class LinearProblem:
    """Rows as input of a linear layer over the pool, with fixed importance weights."""

    rows: LinearRows
    costs: NDArray[np.float32]  # (n_rows,): weight of each row in the loss
    slots: NDArray[np.int64]  # (n_columns,): pool row of each column
    n_classes: int

    @property
    def n_outputs(self) -> int:
        """One score decides between two classes."""
        return 1 if self.n_classes == 2 else self.n_classes

    @classmethod
    def of(cls, model: LinearModel, dataset: SparseRows, located: Located) -> LinearProblem:
        """Return the problem of rows whose columns are located in the tables of a model."""
        n_classes, offsets = len(model.bias), dataset.indptr
        values = dataset.data.astype(np.float32)
        if model.importance is not None:
            values *= model.importance[located.rows, 0]
        used = np.zeros(len(model.pool), dtype=np.bool_)
        used[located.slots] = True
        column_of = np.cumsum(used, dtype=np.int32) - np.int32(1)
        normalize_rows(values, offsets)
        labels = dataset.targets.astype(np.int64)
        costs = dataset.row_weights
        return cls(
            LinearRows(
                offsets,
                column_of[located.slots],
                values,
                labels - 1 if n_classes == 2 else labels,
            ),
            np.ones(len(labels), dtype=np.float32) if costs is None else costs.astype(np.float32),
            np.flatnonzero(used),
            n_classes,
        )

    def take(self, rows: NDArray[np.int64]) -> LinearProblem:
        """Return the problem of some of the rows."""
        columns, values, offsets = select_rows(self.rows.columns, self.rows.values, self.rows.offsets, rows)
        part = LinearProblem(
            LinearRows(offsets, columns, values, self.rows.labels[rows]), self.costs[rows], self.slots, self.n_classes
        )
        vars(part)["squares"] = self.squares[rows]  # the same as of the part
        return part

    @cached_property
    def squares(self) -> NDArray[np.float32]:
        """The squared norms of the rows, see :func:`squared_norms`."""
        return squared_norms(self.rows, len(self.slots))

    def known_from(self, train: LinearProblem) -> LinearProblem:
        """Drop the columns that do not occur in ``train``: their importance weights would be zero."""
        known = np.zeros(len(self.slots), dtype=np.bool_)
        known[train.rows.columns] = True
        keep = known[self.rows.columns]
        offsets = np.concatenate(([0], np.cumsum(keep, dtype=np.int64)))[self.rows.offsets]
        columns, values = self.rows.columns[keep], self.rows.values[keep]
        normalize_rows(values, offsets)
        return replace(self, rows=LinearRows(offsets, columns, values, self.rows.labels))

    def scores(self, weights: NDArray[np.float32], bias: NDArray[np.float32] | float = 0.0) -> NDArray[np.float64]:
        """Return the scores of all rows and classes."""
        rows = self.rows
        shape = (len(rows.labels), len(self.slots))
        scores = csr_matrix((rows.values, rows.columns, rows.offsets), shape=shape) @ weights + bias
        return np.asarray(np.concatenate([-scores, scores], axis=1) if self.n_classes == 2 else scores, np.float64)

    def log_odds(self) -> NDArray[np.float32]:
        """Return the log-odds of naive Bayes for each column and output."""
        return naive_bayes_log_odds(self.rows, self.costs, len(self.slots), self.n_outputs, _SMOOTHING)

    def targets(self) -> NDArray[np.int64]:
        """Return the encoded label of each row."""
        return self.rows.labels + 1 if self.n_classes == 2 else self.rows.labels


class DualSolver:
    """The weights of a linear support vector machine with the squared hinge loss, one against all others."""

    def __init__(self, problem: LinearProblem, strength: float, seed: int, n_epochs: int) -> None:
        self.problem = problem
        self._n_not_averaged = n_epochs - round(_AVERAGED * n_epochs)
        self._costs = np.maximum(problem.costs * np.float32(strength), np.float32(1e-6))
        self._generator = np.random.default_rng(seed)
        n_rows = len(problem.rows.labels)
        self._weights = np.zeros((len(problem.slots), problem.n_outputs), dtype=np.float32)
        self._bias = np.zeros(problem.n_outputs, dtype=np.float32)
        self._dual = np.zeros((n_rows, problem.n_outputs), dtype=np.float32)
        self._sums = np.zeros_like(self._weights), np.zeros_like(self._bias)
        self._n_epochs = self._n_summed = 0

    def epoch(self) -> None:
        """Take a step for every row, in random order."""
        order = self._generator.permutation(len(self._dual))
        descend(self.problem.rows, self.problem.squares, self._costs, order, self._weights, self._bias, self._dual)
        self._n_epochs += 1
        if self._n_epochs > self._n_not_averaged:
            self._n_summed += 1
            for total, part in zip(self._sums, (self._weights, self._bias), strict=True):
                total += part

    def objective(self) -> tuple[float, float]:
        """Return the objective of the current weights, and the relative duality gap."""
        rows, shape = self.problem.rows, (len(self._dual), len(self._weights))
        scores = csr_matrix((rows.values, rows.columns, rows.offsets), shape=shape) @ self._weights + self._bias
        signs = np.where(rows.labels[:, np.newaxis] == np.arange(len(self._bias)), 1.0, -1.0)
        costs = self._costs[:, np.newaxis].astype(np.float64)
        penalty = sum(float(np.square(one, dtype=np.float64).sum()) for one in (self._weights, self._bias)) / 2
        primal = penalty + float((costs * np.maximum(1 - signs * scores, 0) ** 2).sum())
        dual = self._dual.astype(np.float64)
        lowest = float(dual.sum() - (dual**2 / (4 * costs)).sum()) - penalty
        return primal, (primal - lowest) / primal

    def result(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return weights and bias, averaged over the last epochs if there are enough."""
        if not self._n_summed:
            return self._weights, self._bias
        weights, bias = (total / np.float32(self._n_summed) for total in self._sums)
        return weights, bias


class LeftOut(NamedTuple):
    """Rows with their cross-validated scores, rescaled to training on all rows."""

    rows: NDArray[np.int64]  # (n,)
    scores: NDArray[np.float64]  # (n, n_classes)


def choose_settings(problem: LinearProblem, seed: int) -> tuple[Settings, LeftOut | None]:
    """Choose the settings by cross-validation, on ties the nearest to the defaults."""
    n_rows = len(problem.rows.labels)
    if n_rows < _MIN_FOLD_ROWS:
        return Settings(), None
    n_epochs, strengths = n_dual_epochs(n_rows), _STRENGTHS if n_rows < _MANY_ROWS else (Settings().strength,)
    rows = np.random.default_rng(seed).permutation(n_rows)
    if n_rows < _MANY_ROWS:  # with more, one strength is tried, and all rows fit the temperature
        rows = rows[:_MAX_FOLD_ROWS]
    fold_of = np.arange(len(rows)) % _FOLDS
    margins = {strength: np.empty((len(rows), problem.n_classes)) for strength in strengths}
    odds = np.empty((len(rows), problem.n_classes))
    for fold in range(_FOLDS):
        left_out = fold_of == fold
        train = problem.take(rows[~left_out])
        valid = problem.take(rows[left_out]).known_from(train)
        odds[left_out] = valid.scores(train.log_odds())
        trained = map_in_order(partial(_trained, train, seed=seed, n_epochs=n_epochs), strengths, _THREADS)
        for strength, solution in zip(strengths, trained, strict=True):
            margins[strength][left_out] = valid.scores(*solution)
    targets, costs = problem.targets()[rows], problem.costs[rows].astype(np.float64)

    def quality(one: Settings) -> tuple[float, float, float]:
        scores = margins[one.strength] + one.share * odds
        correct = float(costs[scores.argmax(axis=1) == targets].sum())
        return correct, -abs(one.share - _DEFAULT_SHARE), -abs(np.log(one.strength))

    best = max((Settings(strength, share) for strength in strengths for share in _SHARES), key=quality)
    scores = margins[best.strength] + best.share * odds
    train = problem.take(rows[fold_of == 1])
    valid = problem.take(rows[fold_of == 0]).known_from(train)
    weights, bias = _trained(train, best.strength, seed, n_epochs)
    before = valid.scores(weights + np.float32(best.share) * train.log_odds(), bias)
    return best, LeftOut(rows, _growth(before, scores[fold_of == 0], n_rows / len(rows)) * scores)


def _trained(
    problem: LinearProblem, strength: float, seed: int, n_epochs: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return weights and bias near the optimum."""
    solver = DualSolver(problem, strength, seed, n_epochs)
    for _ in range(n_epochs):
        solver.epoch()
    return solver.result()


def _growth(small: NDArray[np.float64], large: NDArray[np.float64], more: float) -> float:
    """Return the factor by which scores grow from training on two of three folds to training on all rows.

    ``small`` and ``large`` are scores of the same rows after training on one and on two folds, ``more`` is the number
    of rows relative to the three folds. Scores grow as a power of the number of training rows.
    """
    before, after = (np.sqrt(np.mean((one - one.mean(axis=1, keepdims=True)) ** 2)) for one in (small, large))
    power = np.clip(np.log2(after / before), 0.0, 1.0) if min(before, after) > 0 else 0.0
    return float((more * _FOLDS / (_FOLDS - 1)) ** power)


class Minimum(NamedTuple):
    """The minimum of the loss of a linear problem."""

    weights: NDArray[np.float32]  # (n_columns, n_classes), with the log-odds
    bias: NDArray[np.float32]  # (n_classes,)
    left_out: LeftOut | None  # of the cross-validation
    objective: float  # loss and penalty that were minimized, of the last epoch's weights
    duality_gap: float  # upper bound of the relative distance from the optimum


def minimize(problem: LinearProblem, seed: int, interrupt: Interrupt) -> Minimum:
    """Choose the settings and minimize the squared hinge loss; an interrupt stops after an epoch."""
    settings, left_out = choose_settings(problem, seed)
    interrupt.deferred = True
    n_epochs = n_dual_epochs(len(problem.rows.labels))
    solver = DualSolver(problem, settings.strength, seed, n_epochs)
    for _ in range(n_epochs):
        solver.epoch()
        if interrupt.pending:
            break
    objective, gap = solver.objective()
    weights, bias = solver.result()
    weights = weights + np.float32(settings.share) * problem.log_odds()
    if problem.n_classes == 2:
        weights, bias = np.concatenate([-weights, weights], axis=1), np.concatenate([-bias, bias])
    return Minimum(weights, bias, left_out, objective, gap)


class DualSolution(NamedTuple):
    """A linear model trained by dual coordinate descent, with the state for further training."""

    model: LinearModel
    optimizer: OptimizerState  # for further training
    minimum: Minimum
    idf_divisor: float | None
    enough_evidence: float


def solve_dual(
    spec: TableSpec,
    rows: SparseRows,
    n_classes: int,
    *,
    importance_init: ImportanceInit,
    learning_rate: float,
    rows_per_step: int,
    seed: int,
    interrupt: Interrupt,
) -> DualSolution:
    """Fit a linear model to rows; ``learning_rate`` and ``rows_per_step`` are for further training."""
    model = LinearModel.zeros(spec, n_classes, float(importance_init == "ones"))
    known, divisor, enough = KnownColumns(spec, model.known), None, 0.0
    located = Located.of(model, rows)
    if model.importance is not None and importance_init == "idf":
        table_rows, counts = np.unique(located.rows, return_counts=True)
        weights = smoothed_idf(counts, len(rows))
        divisor = mean_idf(weights)
        model.importance[table_rows] = (weights / divisor).astype(np.float32)[:, np.newaxis]
        enough = enough_evidence(known, rows, divisor, len(rows))
    problem = LinearProblem.of(model, rows, located)
    minimum = minimize(problem, seed, interrupt)
    # Each class is a column of the pool, below an identity matrix.
    model.weight[:, :n_classes] = np.eye(n_classes, dtype=np.float32)
    model.bias[:] = minimum.bias
    model.pool[problem.slots, :n_classes] = minimum.weights
    enough = evidence_of_training(known, rows, divisor, enough)
    optimizer = curvature_state(model, problem, rows, located, learning_rate, rows_per_step)
    return DualSolution(model, optimizer, minimum, divisor, enough)


def curvature_state(
    model: LinearModel,
    problem: LinearProblem,
    rows: SparseRows,
    located: Located,
    learning_rate: float,
    rows_per_step: int,
) -> OptimizerState:
    """Return a state of AdaGrad with steps inversely proportional to the curvature of the loss.

    An unused row of the pool takes half the step that would fit one new text exactly; the more training rows have a
    row of the pool, the smaller its step.
    """
    (offsets, columns, values, _), costs = problem.rows, problem.costs
    eps = learning_rate / rows_per_step / _NEW_STEP
    squares = values.astype(np.float64) ** 2 * np.repeat(costs, np.diff(offsets))

    def accumulated(curvature: Any) -> NDArray[np.float32]:
        return np.asarray(((eps * _STIFFNESS * curvature) ** 2).astype(np.float32))

    sums = {"bag.pool": lazy_table((len(model.pool),))}
    sums["bag.pool"][problem.slots] = accumulated(np.bincount(columns, squares, len(problem.slots)))
    if model.importance is not None:
        distinct, inverse = np.unique(located.rows, return_inverse=True)
        sums["bag.importance"] = lazy_table((len(model.importance),))
        sums["bag.importance"][distinct] = accumulated(np.bincount(inverse, squares))
    vectors = document_vectors(model, rows)
    by_column = (np.square(vectors) * costs[:, np.newaxis]).sum(axis=0, dtype=np.float64)
    sums["head.0.weight"] = np.broadcast_to(accumulated(by_column), model.weight.shape).copy()
    sums["head.0.bias"] = accumulated(np.full(len(model.bias), costs.sum(dtype=np.float64)))
    parameters = {name: {"sum": array} for name, array in sums.items()}
    return OptimizerState("adagrad", [eps, eps], parameters, learning_rates=[learning_rate] * 2)


def fit_dual(
    architecture: dict[str, Any],
    rows: SparseRows,
    loss: Loss,
    *,
    importance_init: ImportanceInit,
    learning_rate: float,
    rows_per_step: int,
    seed: int,
    calibrate: bool,
) -> tuple[LinearFit, DualSolution]:
    """Fit a linear model, check its scores, and fit the temperature of its loss."""
    n_classes = architecture["num_classes"]
    solution = solve_dual(
        spec_of(architecture),
        rows,
        n_classes,
        importance_init=importance_init,
        learning_rate=learning_rate,
        rows_per_step=rows_per_step,
        seed=seed,
        interrupt=current_interrupt(),
    )
    model, left_out = solution.model, solution.minimum.left_out
    first = rows if len(rows) <= _ROWS_TO_CHECK else rows.select(np.arange(_ROWS_TO_CHECK))
    if not score_rows(model, first).finite:
        raise ValueError(DIVERGENCE)
    if calibrate and left_out is not None:
        some = rows.select(left_out.rows)
        loss.inverse_temperature = inverse_temperature(loss, left_out.scores, some, n_uniform=1)
    else:
        update_temperature(loss, lambda some: score_rows(model, some).scores, rows, n_classes)
    return LinearFit(architecture, model, loss, rows_per_step, solution.optimizer), solution
