"""Moving a batch of words, and pooling against the words of one sentence at a time."""

import pytest
import torch

from sklearn_hashnlp.nn import WordBatch
from sklearn_hashnlp.nn._word_batch import WordPooling


def test_a_batch_moves_to_a_device():
    words = torch.tensor([[0, 1], [1, -1]])
    batch = WordBatch(torch.zeros(2, 5, dtype=torch.uint8), words, (words >= 0).float())
    moved = batch.to("meta", non_blocking=True)
    assert isinstance(moved, WordBatch)
    assert [tensor.device.type for tensor in moved] == ["meta"] * 3
    assert [(tensor.shape, tensor.dtype) for tensor in moved] == [(tensor.shape, tensor.dtype) for tensor in batch]
    assert torch.equal(batch.to("cpu").words, words)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_pooling_ignores_the_scale_of_weights(scale):
    vectors, weights = torch.randn(2, 4, 3), torch.rand(2, 4)
    mask = torch.ones(2, 4, dtype=torch.bool)
    for pooling in ("attention", "weighted"):
        layer = WordPooling(3, pooling)
        torch.testing.assert_close(layer(vectors, mask, weights * scale), layer(vectors, mask, weights))


def test_initial_attention_is_the_weighted_mean():
    words = torch.randn(2, 4, 3), torch.ones(2, 4, dtype=torch.bool), torch.rand(2, 4)
    torch.testing.assert_close(WordPooling(3, "attention")(*words), WordPooling(3, "weighted")(*words))


def test_attention_scores_of_any_size_leave_a_unit_vector():
    layer = WordPooling(3, "attention")
    layer.score.weight.data.fill_(1e3)
    mask = torch.tensor([[True, True, False]])
    vectors = torch.tensor([[[-1.0, -2, -3], [-2.0, -2, -3], [9.0, 9, 9]]])  # padding would win, and must not
    torch.testing.assert_close(layer(vectors, mask, mask.float()), vectors[:, 0] / vectors[:, 0].norm())
