"""Clipping of sparse and dense gradients together, against torch's of dense ones."""

import pytest
import torch

from sklearn_hashnlp.optim import clip_grad_norm_


def with_gradients(dtype=torch.float64):
    """Return parameters with a sparse gradient of repeated rows, a dense one, and none; and all of
    them dense.
    """
    generator = torch.Generator().manual_seed(0)
    rows = torch.tensor([[4, 1, 4, 0, 1]])
    sparse = torch.randn(5, 3, dtype=dtype, generator=generator)
    table, weight, unused = (
        torch.nn.Parameter(torch.zeros(shape, dtype=dtype)) for shape in ((6, 3), (2, 4), (5,))
    )
    table.grad = torch.sparse_coo_tensor(rows, sparse, (6, 3), check_invariants=True)
    weight.grad = torch.randn(2, 4, dtype=dtype, generator=generator)
    dense = [torch.nn.Parameter(torch.zeros_like(part)) for part in (table, weight)]
    dense[0].grad, dense[1].grad = table.grad.to_dense(), weight.grad.clone()
    return [table, weight, unused], dense


@pytest.mark.parametrize("max_norm", [0.01, 1.0, 1000.0])
def test_gradients_are_scaled_as_their_dense_forms(max_norm):
    ours, dense = with_gradients()
    norm = clip_grad_norm_(ours, max_norm)
    torch.testing.assert_close(norm, torch.nn.utils.clip_grad_norm_(dense, max_norm))
    torch.testing.assert_close(ours[0].grad.to_dense(), dense[0].grad)
    torch.testing.assert_close(ours[1].grad, dense[1].grad)
    assert ours[0].grad.is_sparse
    assert ours[2].grad is None


def test_gradients_below_the_norm_keep_their_bits_and_none_have_norm_zero():
    ours, dense = with_gradients(torch.float32)
    clip_grad_norm_(ours, 1e6)
    assert torch.equal(ours[1].grad, dense[1].grad)
    assert clip_grad_norm_([torch.nn.Parameter(torch.ones(2))], 1.0) == 0


@pytest.mark.parametrize("index", [0, 1])
def test_a_single_tensor_is_a_parameter_and_not_its_rows(index):
    ours, dense = with_gradients()
    norm = clip_grad_norm_(ours[index], 1.0)
    assert norm > 1
    torch.testing.assert_close(norm, torch.nn.utils.clip_grad_norm_(dense[index], 1.0))
    torch.testing.assert_close(ours[index].grad.to_dense(), dense[index].grad)
