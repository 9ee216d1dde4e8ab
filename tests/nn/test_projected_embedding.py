from __future__ import annotations

import numpy as np
import pytest
import torch

from sklearn_hashnlp.nn._word_embeddings import ProjectedEmbedding

RNG = np.random.default_rng(0)


def words_of(bits, ids):
    """Pack bits as the module wants them."""
    packed = np.packbits(bits, axis=1)
    codes = np.zeros((len(bits), 8 * (1 + -(-bits.shape[1] // 64))), dtype=np.uint8)
    codes[:, :8] = np.asarray(ids, dtype=np.int64)[:, None].view(np.uint8)
    codes[:, 8 : 8 + packed.shape[1]] = packed
    return torch.from_numpy(codes.view(np.int64))


def by_hand(layer, bits):
    signs = torch.from_numpy(np.where(bits, 1.0, -1.0)) / np.sqrt(layer.n_bits)
    return signs @ layer.linear.weight.double().T


@pytest.mark.parametrize("n_bits", [1, 7, 64, 65, 1120])
def test_signs_times_weights(n_bits):
    bits = RNG.integers(0, 2, (6, n_bits))
    chosen = RNG.integers(0, 6, (5, 4))
    layer = ProjectedEmbedding(n_bits, 3)
    words = words_of(bits, range(6))[torch.from_numpy(chosen)]
    vectors, expected = layer(words), by_hand(layer, bits)[torch.from_numpy(chosen)]
    assert vectors.shape == (5, 4, 3)
    torch.testing.assert_close(vectors.double(), expected, rtol=1e-5, atol=1e-6)
    pull = torch.from_numpy(RNG.normal(size=(5, 4, 3)))
    (vectors * pull).sum().backward()
    signs = torch.from_numpy(np.where(bits, 1.0, -1.0))[torch.from_numpy(chosen)] / np.sqrt(n_bits)
    wanted = torch.einsum("abi,abj->ij", pull, signs)
    torch.testing.assert_close(layer.linear.weight.grad.double(), wanted, rtol=1e-4, atol=1e-5)


def test_each_word_is_multiplied_once(monkeypatch):
    layer = ProjectedEmbedding(20, 3)
    rows = []
    monkeypatch.setattr(layer.linear, "forward", lambda signs: rows.append(len(signs)) or signs[:, :3])
    words = words_of(RNG.integers(0, 2, (6, 20)), [5, 3, 9, 1, 7, 0])
    layer(words[torch.tensor([[0, 1], [1, 1], [0, 4]])])
    assert rows == [3]


def test_words_that_share_an_id_keep_their_own_bits():
    bits = RNG.integers(0, 2, (3, 70))
    layer = ProjectedEmbedding(70, 4)
    torch.testing.assert_close(layer(words_of(bits, [8, 8, 8])).double(), by_hand(layer, bits), rtol=1e-5, atol=1e-6)


def test_a_fresh_vector_is_as_long_as_a_tables():
    torch.manual_seed(0)
    bits = RNG.integers(0, 2, (200, 1120))
    assert ProjectedEmbedding(1120, 64)(words_of(bits, range(200))).std().item() == pytest.approx(0.1, rel=0.1)


def test_what_it_refuses():
    with pytest.raises(ValueError, match=r"1120 bits in 19 numbers of 64 bits each, got 2"):
        ProjectedEmbedding(1120, 4)(torch.zeros(3, 2, dtype=torch.int64))
    with pytest.raises(ValueError, match="n_bits must be 1 or more, got 0"):
        ProjectedEmbedding(0, 4)


@pytest.mark.gpu
def test_cuda():
    layer = ProjectedEmbedding(1120, 8)
    words = words_of(RNG.integers(0, 2, (6, 1120)), range(6))[torch.from_numpy(RNG.integers(0, 6, (5, 4)))]
    expected = layer(words)
    torch.testing.assert_close(layer.to("cuda")(words.to("cuda")).cpu(), expected, rtol=1e-4, atol=1e-6)
