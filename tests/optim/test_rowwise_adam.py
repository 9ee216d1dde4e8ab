"""Row-wise Adam against a plain loop, and against torch's own on dense gradients."""

from __future__ import annotations

import math

import pytest
import torch

from sklearn_hashnlp.optim import RowwiseAdam

pytestmark = pytest.mark.usefixtures("_each_backend")


def sparse_gradient(rows, values, n_rows):
    values = torch.tensor(values, dtype=torch.float64)
    return torch.sparse_coo_tensor(torch.tensor([rows]), values, (n_rows, 2), check_invariants=True)


def test_each_row_follows_the_formula_with_its_own_step_count():
    lr, betas, eps, n_rows = 0.3, (0.8, 0.95), 1e-3, 5
    table = torch.nn.Parameter(torch.ones(n_rows, 2, dtype=torch.float64))
    optimizer = RowwiseAdam([table], lr=lr, betas=betas, eps=eps)
    expected, mean = ([[start, start] for _ in range(n_rows)] for start in (1.0, 0.0))
    square, n_steps = [0.0] * n_rows, [0] * n_rows
    steps = [
        ([3, 1, 3], [[1.0, 2.0], [0.5, 0.0], [2.0, -1.0]]),
        ([1], [[1.0, 1.0]]),
        ([0, 3], [[0.0, 0.0], [1.0, 0.0]]),
        ([1, 3], [[-2.0, 0.5], [0.0, 0.0]]),
    ]
    for rows, values in steps:
        table.grad = sparse_gradient(rows, values, n_rows)
        optimizer.step()
        for row in set(rows):
            total = [sum(v[c] for r, v in zip(rows, values, strict=True) if r == row) for c in range(2)]
            n_steps[row] += 1
            square[row] = betas[1] * square[row] + (1 - betas[1]) * (total[0] ** 2 + total[1] ** 2) / 2
            size = math.sqrt(square[row] / (1 - betas[1] ** n_steps[row])) + eps
            for c in range(2):
                mean[row][c] = betas[0] * mean[row][c] + (1 - betas[0]) * total[c]
                expected[row][c] -= lr * mean[row][c] / (1 - betas[0] ** n_steps[row]) / size
    expected = torch.tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(table.detach(), expected, rtol=1e-11, atol=1e-12)
    state = optimizer.state[table]
    assert state["steps"].tolist() == n_steps == [1, 3, 0, 3, 0]
    assert {name: tuple(part.shape) for name, part in state.items()} == {"mean": (5, 2), "square": (5,), "steps": (5,)}


def test_the_first_step_of_a_late_row_has_full_length():
    table = torch.nn.Parameter(torch.zeros(4, 2, dtype=torch.float64))
    optimizer = RowwiseAdam([table], lr=0.01, eps=0)
    for _ in range(50):
        table.grad = sparse_gradient([1], [[3.0, -3.0]], 4)
        optimizer.step()
    table.grad = sparse_gradient([2], [[1e-4, -1e-4]], 4)
    optimizer.step()
    torch.testing.assert_close(table[2].detach(), torch.tensor([-0.01, 0.01], dtype=torch.float64))


def test_rows_without_a_gradient_are_not_moved_by_momentum():
    table = torch.nn.Parameter(torch.full((4, 2), math.nan, dtype=torch.float64))
    table.data[1:3] = 1
    optimizer = RowwiseAdam([table])
    table.grad = sparse_gradient([1, 2], [[1.0, 1.0], [2.0, 1.0]], 4)
    optimizer.step()
    before = table.detach().clone()
    table.grad = sparse_gradient([2], [[1.0, 1.0]], 4)
    optimizer.step()
    assert torch.equal(table[1], before[1])
    assert torch.isfinite(table[2]).all()
    assert not torch.equal(table[2], before[2])
    assert table.isnan().all(dim=1).tolist() == [True, False, False, True]
    assert optimizer.state[table]["square"].nonzero().tolist() == [[1], [2]]


@pytest.mark.parametrize("settings", [{}, {"lr": 0.2, "betas": (0.5, 0.9), "eps": 1e-3}, {"betas": (0.0, 0.0)}])
def test_a_table_of_one_column_in_every_batch_is_ordinary_adam(settings):
    torch.manual_seed(0)
    ours = torch.nn.Parameter(torch.randn(6, 1, dtype=torch.float64))
    theirs = torch.nn.Parameter(ours.detach().clone())
    optimizers = RowwiseAdam([ours], **settings), torch.optim.Adam([theirs], **settings)
    for _ in range(8):
        theirs.grad = torch.randn(6, 1, dtype=torch.float64)
        ours.grad = theirs.grad.to_sparse(1)
        for optimizer in optimizers:
            optimizer.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("shape", [(), (5,), (3, 4)])
@pytest.mark.parametrize("settings", [{}, {"lr": 0.2, "betas": (0.5, 0.9), "eps": 1e-3}])
def test_dense_gradients_are_ordinary_adam(shape, settings):
    torch.manual_seed(0)
    ours = torch.nn.Parameter(torch.randn(shape, dtype=torch.float64))
    theirs = torch.nn.Parameter(ours.detach().clone())
    optimizers = RowwiseAdam([ours], **settings), torch.optim.Adam([theirs], **settings)
    for step in range(8):
        gradient = torch.randn(shape, dtype=torch.float64)
        for parameter, optimizer in zip((ours, theirs), optimizers, strict=True):
            parameter.grad = None if step == 3 else gradient.clone()
            optimizer.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)


def test_the_default_settings_are_those_of_torch():
    ours, theirs = (kind([torch.nn.Parameter(torch.ones(2))]).defaults for kind in (RowwiseAdam, torch.optim.Adam))
    assert [ours[name] for name in ("lr", "betas", "eps")] == [theirs[name] for name in ("lr", "betas", "eps")]


@pytest.mark.parametrize("betas", [(-0.1, 0.9), (0.9, 1.0), (1.5, 0.9)])
def test_wrong_betas_are_refused(betas):
    with pytest.raises(ValueError, match=rf"betas must be at least 0 and less than 1, got \({betas[0]}, {betas[1]}\)"):
        RowwiseAdam([torch.nn.Parameter(torch.ones(2, 2))], betas=betas)
