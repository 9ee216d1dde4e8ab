"""Row-wise AdaGrad against a plain loop, and against torch's own on dense gradients."""

from __future__ import annotations

import math

import pytest
import torch

from sklearn_hashnlp.optim import RowwiseAdagrad

pytestmark = pytest.mark.usefixtures("_each_backend")


def sparse_gradient(rows, values, n_rows):
    values = torch.tensor(values, dtype=torch.float64)
    return torch.sparse_coo_tensor(torch.tensor([rows]), values, (n_rows, 2), check_invariants=True)


def test_each_row_follows_the_formula_however_often_it_occurs():
    lr, eps, n_rows = 0.3, 1e-3, 5
    table = torch.nn.Parameter(torch.ones(n_rows, 2, dtype=torch.float64))
    optimizer = RowwiseAdagrad([table], lr=lr, eps=eps)
    expected, accumulator = [[1.0, 1.0] for _ in range(n_rows)], [0.0] * n_rows
    steps = [
        ([3, 1, 3], [[1.0, 2.0], [0.5, 0.0], [2.0, -1.0]]),
        ([1], [[1.0, 1.0]]),
        ([0, 3], [[0.0, 0.0], [1.0, 0.0]]),
    ]
    for rows, values in steps:
        table.grad = sparse_gradient(rows, values, n_rows)
        optimizer.step()
        for row in set(rows):
            total = [sum(v[c] for r, v in zip(rows, values, strict=True) if r == row) for c in range(2)]
            accumulator[row] += (total[0] ** 2 + total[1] ** 2) / 2
            for c in range(2):
                expected[row][c] -= lr * total[c] / (math.sqrt(accumulator[row]) + eps)
    torch.testing.assert_close(table.detach(), torch.tensor(expected, dtype=torch.float64))
    assert optimizer.state[table]["sum"].shape == (n_rows,)


@pytest.mark.parametrize("row_shape", [(), (1,), (2, 3), (2, 1, 2)])
def test_a_row_may_have_any_shape(row_shape):
    rows, size = [3, 1, 3], math.prod(row_shape)
    values = torch.randn(3, *row_shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    shaped = torch.nn.Parameter(torch.ones(5, *row_shape, dtype=torch.float64))
    flat = torch.nn.Parameter(torch.ones(5, size, dtype=torch.float64))
    for parameter, part in ((shaped, values), (flat, values.reshape(3, size))):
        optimizer = RowwiseAdagrad([parameter])
        for chosen in (slice(None), slice(0, 2), slice(0, 0)):
            indices = torch.tensor([rows[chosen]], dtype=torch.int64)
            parameter.grad = torch.sparse_coo_tensor(indices, part[chosen], parameter.shape, check_invariants=True)
            optimizer.step()
    torch.testing.assert_close(shaped.detach().reshape(5, size), flat.detach())
    assert (flat[[1, 3]] != 1).all()


def test_a_gradient_without_rows_is_refused():
    table = torch.nn.Parameter(torch.ones(4, 2))
    table.grad = torch.eye(4, 2).to_sparse()
    with pytest.raises(
        ValueError, match=r"sparse along its first axis alone, got one of shape \(4, 2\) with 2 sparse axes"
    ):
        RowwiseAdagrad([table]).step()


def test_rows_without_a_gradient_are_not_touched():
    table = torch.nn.Parameter(torch.full((4, 2), math.nan, dtype=torch.float64))
    table.data[2] = 1
    optimizer = RowwiseAdagrad([table])
    table.grad = sparse_gradient([2], [[1.0, 1.0]], 4)
    optimizer.step()
    assert torch.isfinite(table[2]).all()
    assert table.isnan().sum() == 6
    assert optimizer.state[table]["sum"].nonzero().tolist() == [[2]]


def test_dense_gradients_are_ordinary_adagrad():
    torch.manual_seed(0)
    ours = torch.nn.Parameter(torch.randn(3, 4, dtype=torch.float64))
    theirs = torch.nn.Parameter(ours.detach().clone())
    optimizers = RowwiseAdagrad([ours], lr=0.2), torch.optim.Adagrad([theirs], lr=0.2)
    for _ in range(5):
        gradient = torch.randn(3, 4, dtype=torch.float64)
        for parameter, optimizer in zip((ours, theirs), optimizers, strict=True):
            parameter.grad = gradient.clone()
            optimizer.step()
    torch.testing.assert_close(ours, theirs)


def test_a_table_of_one_column_in_every_batch_is_ordinary_adagrad():
    torch.manual_seed(0)
    ours = torch.nn.Parameter(torch.randn(6, 1, dtype=torch.float64))
    theirs = torch.nn.Parameter(ours.detach().clone())
    optimizers = RowwiseAdagrad([ours], lr=0.2), torch.optim.Adagrad([theirs], lr=0.2)
    for _ in range(5):
        theirs.grad = torch.randn(6, 1, dtype=torch.float64)
        ours.grad = theirs.grad.to_sparse(1)
        for optimizer in optimizers:
            optimizer.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-12)


def test_closures_and_parameter_groups():
    first, second = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))
    optimizer = RowwiseAdagrad([{"params": [first]}, {"params": [second], "lr": 0.5}], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (first + second).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 4
    torch.testing.assert_close(first.detach(), torch.full((2,), 0.9))
    torch.testing.assert_close(second.detach(), torch.full((2,), 0.5))


def test_a_parameter_without_gradient_is_skipped_and_wrong_settings_are_refused():
    table = torch.nn.Parameter(torch.ones(2, 2))
    RowwiseAdagrad([table]).step()
    assert (table == 1).all()
    with pytest.raises(ValueError, match="lr must not be negative, got -1"):
        RowwiseAdagrad([table], lr=-1)
    with pytest.raises(ValueError, match="eps must not be negative, got -1"):
        RowwiseAdagrad([table], eps=-1)
