import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.nn import SentenceNetwork, SGNNTransformer, WordBatch

N_FEATURES = 20


def made(share=0.3, n_components_removed=0, *, n_layers=1, seed=0, **options):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        transformer = SGNNTransformer(N_FEATURES, 8, n_layers, 2, 16, start="random", **options)
        network = SentenceNetwork(transformer, 6, share).eval()
        if n_components_removed:
            network.common = torch.linalg.qr(torch.randn(6, n_components_removed))[0].T.contiguous()
    return network


def batch_of(sentences, seed=0, weights=None, dtype=torch.float32):
    generator = np.random.default_rng(seed)
    projections = torch.from_numpy(generator.normal(size=(8, N_FEATURES)).astype(np.float32))
    if dtype == torch.uint8:
        projections = (projections > 0).to(dtype)
    words = torch.full((len(sentences), max(map(len, sentences), default=0)), -1)
    shares = torch.zeros(words.shape)
    drawn = generator.random(8).astype(np.float32) + 0.1 if weights is None else np.array(weights, dtype=np.float32)
    for row, sentence in enumerate(sentences):
        words[row, : len(sentence)] = torch.tensor(sentence, dtype=torch.int64)
        shares[row, : len(sentence)] = torch.from_numpy(drawn[sentence])
    return WordBatch(projections, words, shares)


def unit(vector):
    length = np.linalg.norm(vector)
    return vector / length if length > 0 else vector


def slow(network, batch):
    """Do as the docstring says, sentence by sentence, in double precision; the Transformer's part is its own."""
    share, rows = network.context_weight, []
    common = network.common.double().numpy()
    projections = batch.projections.double().numpy()
    if batch.projections.dtype == torch.uint8:
        projections = 2 * projections - 1
    for row in range(len(batch.words)):
        parts = []
        if share < 1:
            spelled = np.zeros(6)
            for word, weight in zip(batch.words[row].tolist(), batch.weights[row].tolist(), strict=True):
                if word >= 0:
                    spelled += weight * (network.spelling.weight.double().numpy() @ projections[word])
            spelled = unit(spelled)
            for direction in common:
                spelled = spelled - (spelled @ direction) * direction
            parts.append(math.sqrt(1 - share) * unit(spelled))
        if share > 0:
            alone = WordBatch(batch.projections, batch.words[row : row + 1], batch.weights[row : row + 1])
            parts.append(math.sqrt(share) * network.transformer(alone)[0].detach().double().numpy())
        rows.append(unit(np.concatenate(parts)))
    return np.array(rows)


SENTENCES = st.lists(st.lists(st.integers(0, 7), max_size=5), min_size=1, max_size=5)


@given(SENTENCES, st.sampled_from([0.0, 0.2, 0.7, 1.0]), st.integers(0, 3), st.sampled_from(["float32", "uint8"]))
def test_both_parts_as_described(sentences, share, n_components_removed, dtype):
    network = made(share, n_components_removed if share < 1 else 0)
    batch = batch_of(sentences, dtype=getattr(torch, dtype))
    vectors = network(batch).detach().numpy()
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(sentences), network.dim)
    np.testing.assert_allclose(vectors, slow(network, batch), atol=1e-5)
    lengths = np.linalg.norm(vectors, axis=1)
    np.testing.assert_allclose(lengths, [float(bool(sentence)) for sentence in sentences], atol=1e-6)


@given(SENTENCES, st.integers(0, 4))
def test_padding_and_neighbours_change_nothing(sentences, n_more):
    network, batch = made(n_components_removed=2), batch_of(sentences)
    together = network(batch)
    wider = WordBatch(
        batch.projections,
        torch.nn.functional.pad(batch.words, (0, n_more), value=-1),
        torch.nn.functional.pad(batch.weights, (0, n_more)),
    )
    torch.testing.assert_close(network(wider), together, atol=1e-5, rtol=0)
    for row in range(len(sentences)):
        alone = WordBatch(batch.projections, batch.words[row : row + 1], batch.weights[row : row + 1])
        torch.testing.assert_close(network(alone)[0], together[row], atol=1e-5, rtol=0)


def test_the_cosine_is_that_many_parts_of_either():
    batch = batch_of([[0, 1, 2], [2, 3], [4]])
    network = made(0.3)
    spelled, used = network.spell(batch), network.transformer(batch)
    vectors = network(batch)
    torch.testing.assert_close(vectors @ vectors.T, 0.7 * spelled @ spelled.T + 0.3 * used @ used.T)


def test_nothing_is_left_of_common_directions():
    network, batch = made(0.0, 3), batch_of([[0, 1], [2], [3, 4, 5]])
    assert (network(batch) @ network.common.T).abs().max() < 1e-6
    assert (network.spell(batch) @ network.common.T).abs().max() > 0.01
    assert not made(0.0, 6)(batch).any()  # and not rounding blown up


def test_a_sentence_of_words_without_weight_counts_them_alike():
    batch = batch_of([[0, 1, 2]], weights=[0.0] * 8)
    alike = batch_of([[0, 1, 2]], weights=[1.0] * 8)
    torch.testing.assert_close(made(0.0)(batch), made(0.0)(alike))


def test_the_first_part_keeps_cosines_and_is_not_trained():
    network = SentenceNetwork(SGNNTransformer(N_FEATURES, 8, 0, 2, 16), N_FEATURES, 0.5)
    weight = network.spelling.weight
    torch.testing.assert_close(weight @ weight.T, torch.eye(N_FEATURES), atol=1e-5, rtol=0)
    assert not weight.requires_grad
    network(batch_of([[0, 1], [2]])).sum().backward()
    assert weight.grad is None
    assert network.transformer.linear.weight.grad.any()


def test_one_part_alone():
    batch = batch_of([[0, 1]])
    spelling, use = made(0.0), made(1.0)
    assert (spelling.transformer, use.spelling) == (None, None)
    assert (spelling.dim, use.dim, made(0.5).dim) == (6, 8, 14)
    torch.testing.assert_close(use(batch), use.transformer(batch))
    torch.testing.assert_close(spelling(batch), spelling.spell(batch))
    with pytest.raises(RuntimeError, match="with context_weight=1 the network has no spelling part"):
        use.spell(batch)


def test_shares_and_widths_that_are_none():
    transformer = SGNNTransformer(N_FEATURES, 8, 0, 2, 16)
    for share in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match=f"context_weight must be between 0 and 1, got {share}"):
            SentenceNetwork(transformer, 6, share)
    with pytest.raises(ValueError, match="projection_dim must be 1 or more, got 0"):
        SentenceNetwork(transformer, 0, 0.5)
    assert SentenceNetwork(transformer, 0, 1.0).dim == 8


def test_it_says_what_it_is():
    assert "context_weight=0.3, n_components_removed=2, dim=14" in repr(made(0.3, 2))
