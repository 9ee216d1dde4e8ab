"""fit_dual: a linear model of few rows, by dual coordinate descent, with its temperature."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_hashnlp.classifiers._losses import Loss
from sklearn_hashnlp.classifiers._temperature import inverse_temperature, update_temperature
from sklearn_hashnlp.classifiers.hash_embedding._embedding_tables import ImportanceInit
from sklearn_hashnlp.classifiers.hash_embedding._few_rows import DualSolution, solve_dual
from sklearn_hashnlp.classifiers.hash_embedding._linear_fit import LinearFit, spec_of
from sklearn_hashnlp.classifiers.hash_embedding._linear_scores import DIVERGENCE, score_rows
from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import SparseRows
from sklearn_hashnlp.training._interrupts import current_interrupt

_ROWS_TO_CHECK = 32


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
    if not score_rows(model, rows.select(np.arange(min(_ROWS_TO_CHECK, len(rows)))))[2]:
        raise ValueError(DIVERGENCE)
    if calibrate and left_out is not None:
        some = rows.select(left_out.rows)
        loss.inverse_temperature = inverse_temperature(loss, left_out.scores, some, n_uniform=1)
    else:
        update_temperature(loss, lambda some: score_rows(model, some)[0], rows, n_classes)
    return LinearFit(architecture, model, loss, rows_per_step, solution.optimizer), solution
