"""Ridge regression by conjugate gradients against the solution of the normal equations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from sklearn_hashnlp.sentences._ngram_regression import Design, ridge_regression

RNG = np.random.default_rng(0)
OUTER, INNER, DIRECT = (
    random_array(shape, density=0.3, format="csr", dtype=np.float32, random_state=RNG)
    for shape in ((60, 20), (20, 30), (60, 30))
)
DESIGN = Design(*map(csr_array, (OUTER, INNER, DIRECT)))
DENSE = (OUTER @ INNER + DIRECT).toarray().astype(np.float64)


def test_products():
    columns, rows = (RNG.normal(size=(n, 3)).astype(np.float32) for n in (30, 60))
    assert DESIGN.shape == (60, 30)
    np.testing.assert_allclose(DESIGN @ columns, DENSE @ columns, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(DESIGN.transpose() @ rows, DENSE.T @ rows, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("alpha", [0.1, 3.0])
@pytest.mark.parametrize("n_targets", [1, 64, 130])
def test_solution(alpha, n_targets):
    targets = RNG.normal(size=(60, n_targets)).astype(np.float32)
    targets[:, n_targets // 2 + 1 :] = 0  # solved from the start
    before = targets.copy()
    coefficients, losses = ridge_regression(DESIGN, targets, alpha, n_steps=60)
    assert targets.tobytes() == before.tobytes()
    expected = np.linalg.solve(DENSE.T @ DENSE + alpha * np.eye(30), DENSE.T @ targets)
    np.testing.assert_allclose(coefficients, expected, atol=2e-4)
    assert not coefficients[:, n_targets // 2 + 1 :].any()
    assert losses[0] == pytest.approx(np.square(targets.astype(np.float64)).sum())
    assert losses[-1] == pytest.approx(np.square(targets - DENSE @ expected).sum(), rel=1e-3)
    assert (np.diff(losses[:15]) < 0).all()


@pytest.mark.parametrize("n_steps", [1, 4])
def test_steps_are_those_of_conjugate_gradients(n_steps):
    targets = RNG.normal(size=(60, 3)).astype(np.float32)
    coefficients, _ = ridge_regression(DESIGN, targets, 2.0, n_steps=n_steps)
    matrix = DENSE.T @ DENSE + 2 * np.eye(30)
    for found, target in zip(coefficients.T, targets.T.astype(np.float64), strict=True):
        exact, residual = np.zeros(30), DENSE.T @ target
        direction = residual
        for _ in range(n_steps):
            step = residual @ residual / (direction @ matrix @ direction)
            exact, before = exact + step * direction, residual
            residual = residual - step * matrix @ direction
            direction = residual + residual @ residual / (before @ before) * direction
        # terms of all products
        rounding = n_steps * sum(DENSE.shape) * float(np.finfo(np.float32).eps)
        np.testing.assert_allclose(found, exact, rtol=0, atol=rounding * np.abs(exact).max())


def test_threads_change_no_bit():
    targets, reports = RNG.normal(size=(60, 200)).astype(np.float32), []
    one, losses = ridge_regression(DESIGN, targets, 1.0, n_steps=5)
    three, losses_of_three = ridge_regression(
        DESIGN,
        targets,
        1.0,
        n_steps=5,
        n_threads=3,
        report=lambda *numbers: reports.append(numbers),
    )
    assert one.tobytes() == three.tobytes()
    assert losses.tolist() == losses_of_three.tolist()
    assert reports == [(64, 200), (128, 200), (192, 200), (200, 200)]
