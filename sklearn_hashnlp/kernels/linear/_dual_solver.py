"""Linear support vector machines with the squared hinge loss, by dual coordinate descent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from sklearn_hashnlp._threads import map_in_order
from sklearn_hashnlp.kernels._rows import gather_rows
from sklearn_hashnlp.kernels.linear._dual_coordinate_descent import (
    LinearRows,
    descend,
    naive_bayes_log_odds,
    normalize_rows,
    squared_norms,
)

_AVERAGED = 0.6  # share of the epochs, the last ones: the bias oscillates
SMOOTHING = 0.03  # added to sums of normalized values, which are below one per row


@dataclass(frozen=True)
class LinearProblem:
    """Rows as input of a linear layer over the pool, with fixed importance weights."""

    rows: LinearRows  # with n_hashes values for each value of a row
    costs: NDArray[np.float32]  # (n_rows,): weight of each row in the loss
    slots: NDArray[np.int64]  # (n_columns,): pool row of each column
    n_classes: int
    norm: Literal["l1", "l2"] = "l2"  # by which the values of a row are divided
    scale: float = 1.0  # factor of the values: rows have a length near one
    drops_new: bool = True  # whether columns that no training row has would have no importance
    n_hashes: int = 1  # pool rows of each value
    # (n_rows,): sums of squares before the values were normalized
    sizes: NDArray[np.float64] | None = None

    @property
    def n_outputs(self) -> int:
        """One score decides between two classes."""
        return 1 if self.n_classes == 2 else self.n_classes

    def take(self, rows: NDArray[np.int64]) -> LinearProblem:
        """Return the problem of some of the rows."""
        columns, values, offsets = gather_rows(
            self.rows.columns, self.rows.values, self.rows.offsets, rows
        )
        part = replace(
            self,
            rows=LinearRows(offsets, columns, values, self.rows.labels[rows]),
            costs=self.costs[rows],
            sizes=None if self.sizes is None else self.sizes[rows],
        )
        vars(part)["squares"] = self.squares[rows]  # the same as of the part
        return part

    @cached_property
    def squares(self) -> NDArray[np.float32]:
        """The squared norms of the rows, see :func:`squared_norms`."""
        return squared_norms(self.rows, len(self.slots))

    def known_from(self, train: LinearProblem) -> LinearProblem:
        """Drop the columns not in ``train`` if their importance weights would be zero."""
        if not self.drops_new:
            return self
        known = np.zeros(len(self.slots), dtype=np.bool_)
        known[train.rows.columns] = True
        return self._with_columns(self.rows.columns, known[self.rows.columns])

    def in_columns_of(self, other: LinearProblem) -> LinearProblem:
        """Return these rows as rows of another problem, without columns that it does not have."""
        at = np.minimum(np.searchsorted(other.slots, self.slots), len(other.slots) - 1)
        found = other.slots[at] == self.slots
        columns = at.astype(np.int32)[self.rows.columns]
        return replace(self, slots=other.slots, scale=other.scale)._with_columns(
            columns, found[self.rows.columns]
        )

    def joined(self, other: LinearProblem) -> LinearProblem:
        """Return the problem of these rows and others of the same columns."""
        offsets = np.concatenate(
            [self.rows.offsets, self.rows.offsets[-1] + other.rows.offsets[1:]]
        )
        pairs: Any = zip(self.rows[1:], other.rows[1:], strict=True)
        rows = LinearRows(offsets, *map(np.concatenate, pairs))
        sizes = (
            None
            if self.sizes is None or other.sizes is None
            else np.concatenate([self.sizes, other.sizes])
        )
        return replace(
            self, rows=rows, costs=np.concatenate([self.costs, other.costs]), sizes=sizes
        )

    def _with_columns(self, columns: NDArray[np.int32], keep: NDArray[np.bool_]) -> LinearProblem:
        """Return the problem with other numbers of its columns, of which some are kept."""
        offsets = np.concatenate(([0], np.cumsum(keep, dtype=np.int64)))[self.rows.offsets]
        values, sizes = self.rows.values[keep], self.sizes
        if sizes is not None:
            before, after = (
                sums_of_squares(*part)
                for part in ((self.rows.values, self.rows.offsets), (values, offsets))
            )
            sizes = sizes * np.divide(after, before, out=np.zeros(len(before)), where=before > 0)
        normalize_rows(values, offsets, self.norm, self.n_hashes)
        values *= np.float32(self.scale)
        return replace(
            self, rows=LinearRows(offsets, columns[keep], values, self.rows.labels), sizes=sizes
        )

    def scores(
        self, weights: NDArray[np.float32], bias: NDArray[np.float32] | float = 0.0
    ) -> NDArray[np.float64]:
        """Return the scores of all rows and classes."""
        rows = self.rows
        shape = (len(rows.labels), len(self.slots))
        scores = csr_matrix((rows.values, rows.columns, rows.offsets), shape=shape) @ weights + bias
        return np.asarray(
            np.concatenate([-scores, scores], axis=1) if self.n_classes == 2 else scores, np.float64
        )

    def log_odds(self) -> NDArray[np.float32]:
        """Return the naive Bayes log-odds of each column and output; a value's hashes add up."""
        # The factor by which more hashes make values and weights smaller
        root = np.float32(math.sqrt(self.n_hashes))
        odds = naive_bayes_log_odds(
            self.rows, self.costs * root, len(self.slots), self.n_outputs, SMOOTHING
        )
        return odds / root

    def targets(self) -> NDArray[np.int64]:
        """Return the encoded label of each row."""
        return self.rows.labels + 1 if self.n_classes == 2 else self.rows.labels


def sums_of_squares(values: NDArray[np.float32], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sum of the squared values of each row."""
    sums = np.concatenate(([0.0], np.cumsum(np.square(values, dtype=np.float64))))[offsets]
    return np.asarray(np.maximum(np.diff(sums), 0.0))


class DualSolver:
    """The weights of a one-vs-rest linear support vector machine with the squared hinge loss."""

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
        descend(
            self.problem.rows,
            self.problem.squares,
            self._costs,
            order,
            self._weights,
            self._bias,
            self._dual,
        )
        self._n_epochs += 1
        if self._n_epochs > self._n_not_averaged:
            self._n_summed += 1
            for total, part in zip(self._sums, (self._weights, self._bias), strict=True):
                total += part

    def objective(self) -> tuple[float, float]:
        """Return the objective of the current weights, and the relative duality gap."""
        rows, shape = self.problem.rows, (len(self._dual), len(self._weights))
        scores = (
            csr_matrix((rows.values, rows.columns, rows.offsets), shape=shape) @ self._weights
            + self._bias
        )
        signs = np.where(rows.labels[:, np.newaxis] == np.arange(len(self._bias)), 1.0, -1.0)
        costs = self._costs[:, np.newaxis].astype(np.float64)
        penalty = (
            sum(
                float(np.square(one, dtype=np.float64).sum()) for one in (self._weights, self._bias)
            )
            / 2
        )
        primal = penalty + float((costs * np.maximum(1 - signs * scores, 0) ** 2).sum())
        dual = self._dual.astype(np.float64)
        lowest = float(dual.sum() - (dual**2 / (4 * costs)).sum()) - penalty
        return primal, (primal - lowest) / primal

    def result(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return weights and bias, averaged over last epochs if enough; the solver is used up."""
        if not self._n_summed:
            return self._weights, self._bias
        for total in self._sums:
            total /= np.float32(self._n_summed)
        return self._sums


def minimized(
    problem: LinearProblem, strength: float, seed: int, n_epochs: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return weights and bias near the optimum."""
    solver = DualSolver(problem, strength, seed, n_epochs)
    for _ in range(n_epochs):
        solver.epoch()
    return solver.result()


class LeftOutScores(NamedTuple):
    """Scores of rows by models that were trained on the other folds."""

    # (n_rows, n_classes) for each C: of the support vector machine
    margins: list[NDArray[np.float64]]
    odds: NDArray[np.float64] | None  # (n_rows, n_classes): sums of the log-odds of naive Bayes
    sizes: NDArray[np.float64] | None  # (n_rows,): of the columns that were trained


def cross_validate(
    problems: Sequence[LinearProblem],
    fold_of: NDArray[np.int64],  # (n_rows,)
    strengths: Sequence[float],
    *,
    seed: int,
    n_epochs: int,
    n_threads: int,
    n_trained: int | None = None,
    share: float | None = None,
) -> list[LeftOutScores]:
    """Score each fold of the rows by models trained on the others, with each value of C.

    Only the first ``n_trained`` rows are trained on; None is all. ``share`` of the log-odds is
    added to the weights; with None they are scored by themselves.
    """
    is_trained = np.arange(len(fold_of)) < (len(fold_of) if n_trained is None else n_trained)
    folds = range(int(fold_of.max()) + 1)

    def score(task: tuple[LinearProblem, int]) -> LeftOutScores:
        problem, fold = task
        train = problem.take(np.flatnonzero((fold_of != fold) & is_trained))
        valid = problem.take(np.flatnonzero(fold_of == fold)).known_from(train)
        odds, solutions = (
            train.log_odds(),
            [minimized(train, strength, seed, n_epochs) for strength in strengths],
        )
        if share is not None:
            margins = [
                valid.scores(weights + np.float32(share) * odds, bias)
                for weights, bias in solutions
            ]
            return LeftOutScores(margins, None, valid.sizes)
        return LeftOutScores(
            [valid.scores(*one) for one in solutions], valid.scores(odds), valid.sizes
        )

    scored = list(map_in_order(score, product(problems, folds), n_threads))
    in_order = np.argsort(fold_of, kind="stable").argsort()

    def joined(values: list[Any]) -> Any:
        return None if values[0] is None else np.concatenate(values)[in_order]

    results = []
    for start in range(0, len(scored), len(folds)):
        parts = scored[start : start + len(folds)]
        margins = [joined([part.margins[one] for part in parts]) for one in range(len(strengths))]
        results.append(
            LeftOutScores(margins, *(joined([part[i] for part in parts]) for i in (1, 2)))
        )
    return results
