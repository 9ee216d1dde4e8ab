from __future__ import annotations

import pytest
import torch
from torch import nn

from sklearn_hashnlp.nn._word_embeddings import WordTable


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("sparse", [True, False])
def test_it_is_an_embedding(sparse, dtype):
    table = WordTable(50, 3, sparse=sparse, dtype=dtype)
    plain = nn.Embedding(50, 3, _weight=table.weight.detach().clone())
    ids = torch.randint(0, 50, (7, 4), generator=torch.Generator().manual_seed(0))
    pull = torch.randn((7, 4, 3), generator=torch.Generator().manual_seed(1)).to(dtype)
    assert torch.equal(table(ids), plain(ids))
    (table(ids) * pull).sum().backward()
    (plain(ids) * pull).sum().backward()
    assert table.weight.grad.is_sparse is sparse
    assert torch.allclose(
        table.weight.grad.to_dense(), plain.weight.grad, atol=1e-2 if dtype == torch.float16 else 1e-6
    )


def test_a_sparse_gradient_names_each_row_once():
    table = WordTable(50, 3, sparse=True)
    table(torch.tensor([[7, 3], [7, 7]])).sum().backward()
    indices = table.weight.grad._indices()[0]
    assert indices.tolist() == [3, 7]


def test_numbers_that_are_no_rows():
    with pytest.raises(IndexError):
        WordTable(5, 2, sparse=True)(torch.tensor([5]))


def test_without_gradients():
    table = WordTable(5, 2, sparse=True)
    with torch.no_grad():
        assert not table(torch.tensor([1])).requires_grad


def test_ids_that_change_before_the_way_back_are_noticed():
    table, ids = WordTable(5, 2, sparse=True), torch.tensor([1, 2])
    total = table(ids).sum()
    ids.fill_(4)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()


def test_transformed_programs():
    table = WordTable(5, 2, sparse=True)
    ids = torch.tensor([1, 1, 3])

    def total(weight):
        return torch.func.functional_call(table, {"weight": weight}, (ids,)).square().sum()

    total(table.weight).backward()
    gradient = torch.func.grad(total)(table.weight.detach())
    torch.testing.assert_close(gradient.to_dense(), table.weight.grad.to_dense())


@pytest.mark.parametrize("sparse", [True, False])
def test_a_gradient_may_be_differentiated(sparse):
    table = WordTable(5, 2, sparse=sparse, dtype=torch.float64)
    ids = torch.tensor([[1, 1], [3, 2]])
    (gradient,) = torch.autograd.grad(table(ids).pow(3).sum(), table.weight, create_graph=True)
    if not sparse:
        assert gradient.requires_grad
        return
    gradient.square().sum().backward()
    times = torch.bincount(ids.flatten(), minlength=5)[:, None]
    # The square of 3 n w**2, differentiated.
    torch.testing.assert_close(table.weight.grad.to_dense(), 36 * times**2 * table.weight.detach() ** 3)


def test_the_default_device_is_not_asked():
    table = WordTable(5, 2, sparse=True)
    with torch.device("meta"):
        table(torch.tensor([1, 3], device="cpu")).sum().backward()
    assert table.weight.grad.device.type == "cpu"
