from __future__ import annotations

import pytest
import torch
from torch import nn

from sklearn_hashnlp.nn._word_table import WordTable


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


def test_under_a_transform():
    table = WordTable(5, 2, sparse=True)
    with torch.no_grad():
        assert not table(torch.tensor([1])).requires_grad
