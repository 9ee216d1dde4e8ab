from __future__ import annotations

import torch

from sklearn_hashnlp.nn import WordBatch


def test_all_of_it_moves():
    words = torch.tensor([[0, 1], [1, -1]])
    batch = WordBatch(torch.zeros(2, 5, dtype=torch.uint8), words, (words >= 0).float())
    moved = batch.to("meta", non_blocking=True)
    assert isinstance(moved, WordBatch)
    assert [tensor.device.type for tensor in moved] == ["meta"] * 3
    assert [(tensor.shape, tensor.dtype) for tensor in moved] == [(tensor.shape, tensor.dtype) for tensor in batch]
    assert torch.equal(batch.to("cpu").words, words)
