"""The sentence network against its formula, one sentence at a time, and the head that predicts
hidden words.
"""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.nn import SGNNTransformer, WordBatch
from sklearn_hashnlp.nn._sentence_network import MaskedWordHead, SentenceNetwork

from ..oracles import sentence_network as oracle

N_FEATURES = 20


def make(context_weight=0.3, n_components_removed=0, *, n_layers=1, seed=0, **options):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        transformer = SGNNTransformer(N_FEATURES, 8, n_layers, 2, 16, init="random", **options)
        network = SentenceNetwork(transformer, 6, context_weight).eval()
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
    drawn = (
        generator.random(8).astype(np.float32) + 0.1
        if weights is None
        else np.array(weights, dtype=np.float32)
    )
    for row, sentence in enumerate(sentences):
        words[row, : len(sentence)] = torch.tensor(sentence, dtype=torch.int64)
        shares[row, : len(sentence)] = torch.from_numpy(drawn[sentence])
    return WordBatch(projections, words, shares)


SENTENCES = st.lists(st.lists(st.integers(0, 7), max_size=5), min_size=1, max_size=5)
SHARES = st.sampled_from([0.0, 0.2, 0.7, 1.0, "auto"])
POOLINGS = st.sampled_from(["max", "weighted"])


@given(SENTENCES, SHARES, st.integers(0, 3), st.sampled_from(["float32", "uint8"]), POOLINGS)
def test_vectors_follow_the_formula(
    sentences, context_weight, n_components_removed, dtype, pooling
):
    network = make(
        context_weight, n_components_removed if context_weight != 1 else 0, pooling=pooling
    )
    if n_components_removed in (1, 2) and context_weight != 0:
        network.context_common = torch.nn.functional.normalize(torch.arange(8.0)[None], dim=1)
    batch = batch_of(sentences, dtype=getattr(torch, dtype))
    vectors = network(batch).detach().numpy()
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(sentences), network.dim)
    np.testing.assert_allclose(vectors, oracle.sentence_vectors(network, batch), atol=1e-5)
    lengths = np.linalg.norm(vectors, axis=1)
    np.testing.assert_allclose(
        lengths, [float(bool(sentence)) for sentence in sentences], atol=1e-6
    )


@given(SENTENCES, SHARES, st.sampled_from([0, 1]))
def test_words_can_be_embedded_once_for_many_batches(sentences, context_weight, n_layers):
    network, batch = make(context_weight, n_layers=n_layers), batch_of(sentences)
    vectors = network.embed_words(batch.projections)
    assert [part is None for part in vectors] == [context_weight == 1, context_weight == 0]
    for row, expected in enumerate(network(batch)):
        some = slice(row, row + 1)
        alone = network.embed_sentences(vectors, batch.words[some], batch.weights[some])
        torch.testing.assert_close(alone[0], expected, atol=1e-5, rtol=0)


def test_common_components_are_removed():
    network, batch = make(0.0, 3), batch_of([[0, 1], [2], [3, 4, 5]])
    assert (network(batch) @ network.common.T).abs().max() < 1e-6
    assert (network.spell(batch) @ network.common.T).abs().max() > 0.01
    assert not make(0.0, 6)(batch).any()  # and no normalized rounding errors


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_it_runs_in_half_precision(dtype):
    network, batch = make(0.5, 1, pooling="mean"), batch_of([[0, 1, 2], [2]])
    expected = network(batch)
    vectors = network.to(dtype)(batch)
    assert vectors.dtype == torch.float32
    assert network.transformer.encode_words(batch).dtype == dtype
    torch.testing.assert_close(vectors, expected, atol=0.05, rtol=0)


def test_words_without_weight_weigh_the_same():
    batch = batch_of([[0, 1, 2]], weights=[0.0] * 8)
    alike = batch_of([[0, 1, 2]], weights=[1.0] * 8)
    torch.testing.assert_close(make(0.0)(batch), make(0.0)(alike))


def test_the_spelling_part_keeps_cosines_and_is_not_trained():
    network = SentenceNetwork(SGNNTransformer(N_FEATURES, 8, 0, 2, 16), N_FEATURES, 0.5)
    weight = network.spelling.weight
    torch.testing.assert_close(weight @ weight.T, torch.eye(N_FEATURES), atol=1e-5, rtol=0)
    assert not weight.requires_grad
    network(batch_of([[0, 1], [2]])).sum().backward()
    assert weight.grad is None
    assert network.transformer.linear.weight.grad.any()


def test_a_network_of_one_part():
    batch = batch_of([[0, 1]])
    spelling, use = make(0.0), make(1.0)
    assert (spelling.transformer, use.spelling) == (None, None)
    assert (spelling.dim, use.dim, make(0.5).dim) == (6, 8, 14)
    torch.testing.assert_close(use(batch), use.transformer(batch))
    torch.testing.assert_close(spelling(batch), spelling.spell(batch))
    assert "context_weight=0.3, n_components_removed=2, dim=14" in repr(make(0.3, 2))
    with pytest.raises(
        RuntimeError, match="with context_weight=1 the network has no spelling part"
    ):
        use.spell(batch)


WORDS = torch.tensor([[0, 1, 2, 1], [3, 0, -1, -1], [-1, -1, -1, -1]])
HIDDEN = torch.tensor(
    [[True, False, False, True], [False, True, True, False], [True, False, False, False]]
)
HIDDEN_WORDS = [(0, 0, 0), (0, 3, 1), (1, 1, 0)]  # sentence, position and word of each hidden word


def cosine(one, other):
    return float(one @ other) / math.sqrt(float(one @ one) * float(other @ other))


@pytest.mark.parametrize("temperature", [0.05, 2.0])
def test_the_masked_word_loss_follows_the_formula(temperature):
    torch.manual_seed(0)
    head = MaskedWordHead(6, temperature)
    encoded = torch.randn(3, 4, 6)
    vectors = torch.randn(4, 6)
    weight, bias = head.linear.weight.detach().numpy(), head.linear.bias.detach().numpy()
    losses = []
    for sentence, position, word in HIDDEN_WORDS:
        prediction = weight @ encoded[sentence, position].numpy() + bias
        exponentials = [
            math.exp(cosine(prediction, vector) / temperature) for vector in vectors.numpy()
        ]
        losses.append(-math.log(exponentials[word] / sum(exponentials)))
    assert head(encoded, vectors, WORDS, HIDDEN).item() == pytest.approx(np.mean(losses), rel=1e-4)


def test_the_masked_word_loss_without_hidden_words_is_zero():
    head = MaskedWordHead(6)
    encoded = torch.randn(3, 4, 6, requires_grad=True)
    vectors = torch.randn(4, 6)
    loss = head(encoded, vectors, WORDS, torch.zeros_like(HIDDEN))
    assert loss.item() == 0
    loss.backward()
    assert not encoded.grad.any()
    assert head(encoded[:, :0], vectors[:0], WORDS[:, :0], HIDDEN[:, :0]).item() == 0


def test_the_masked_word_loss_under_autocast():
    head = MaskedWordHead(6)
    encoded = torch.randn(3, 4, 6)
    vectors = torch.randn(4, 6)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = head(encoded, vectors, WORDS, HIDDEN)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, head(encoded, vectors, WORDS, HIDDEN), rtol=0.1, atol=0.1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *(
            (lambda w=w: make(w), f"context_weight must be between 0 and 1, or 'auto', got {w}")
            for w in (-1, 1.1, math.nan)
        ),
        (
            lambda: SentenceNetwork(SGNNTransformer(9, 8, 0, 2, 16), 0, 0.5),
            "projection_dim must be .*, got 0",
        ),
        (
            lambda: MaskedWordHead(0),
            "MaskedWordHead: embedding_dim must be an integer of at least 1, got 0",
        ),
        (
            lambda: MaskedWordHead(4, 0.0),
            "MaskedWordHead: temperature must be a number above 0, got 0.0",
        ),
    ],
)
def test_wrong_parameters_are_refused(call, message):
    assert SentenceNetwork(SGNNTransformer(9, 8, 0, 2, 16), 0, 1.0).dim == 8
    with pytest.raises(ValueError, match=message):
        call()
