"""The Transformer against its formulas, one sentence and one word at a time; batches of words and
their pooling.
"""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.nn import SGNNTransformer, WordBatch
from sklearn_hashnlp.nn._sgnn_transformer import WordPooling, sinusoids

from ..oracles import sentence_network as oracle

N_FEATURES = 12
WIDTH = 8
HEADS = 2
POOLINGS = ["max", "mean", "attention", "weighted"]


def make(*, shaken=True, **options):
    """Build a small network; ``shaken``: no parameter stays at a value like 0 or 1 that hides
    mistakes.
    """
    torch.manual_seed(0)
    network = SGNNTransformer(
        N_FEATURES, WIDTH, **{"n_layers": 2, "n_heads": HEADS, "feedforward_size": 10} | options
    )
    if shaken:
        for parameter in network.parameters():
            parameter.data.add_(torch.randn_like(parameter), alpha=0.4)
    return network.double()


def batch_of(sentences, *, n_distinct=6, columns=0, seed=1):
    """Pad sentences of words 0 to ``n_distinct - 1``, which have random projections; a word's
    weight is its own.
    """
    rng = np.random.default_rng(seed)
    longest = max([columns, *map(len, sentences)])
    words = np.array([[*row, *[-1] * (longest - len(row))] for row in sentences], dtype=np.int64)
    words = words.reshape(len(sentences), longest)
    projections, weights = rng.normal(size=(n_distinct, N_FEATURES)), rng.random(n_distinct + 1)
    weights[-1] = 0
    return WordBatch(*map(torch.from_numpy, (projections, words, weights[words])))


SENTENCES = [[0, 3, 5, 3], [2], [5, 5, 1, 4, 0, 2]]


@pytest.mark.parametrize(
    "options",
    [
        *({"pooling": pooling} for pooling in POOLINGS),
        {"pooling": "attention", "depths": 2, "pooling_dim": 30},
        {"pooling": "max", "depths": 2, "n_layers": 3},
        {"pooling": "weighted", "pooling_dim": 5, "positions": False, "n_layers": 1},
        {"pooling": "mean", "n_layers": 0},
        {"pooling": "max", "init": "identity", "depths": 2},
    ],
    ids=str,
)
@pytest.mark.parametrize("training", [True, False])
def test_vectors_follow_the_formulas(options, training):
    network, batch = make(**options).train(training), batch_of(SENTENCES)
    # torch's layers have another path where nothing is learned
    with torch.set_grad_enabled(training):
        vectors, encoded = network(batch), network.encode_words(batch)
    assert vectors.shape == (3, network.dim)
    for number, words in enumerate(SENTENCES):
        projections, weights = (
            batch.projections[words].numpy(),
            batch.weights[number, : len(words)].numpy(),
        )
        expected = torch.tensor(oracle.transformer_vector(network, projections, weights))
        torch.testing.assert_close(vectors[number].detach(), expected)
        last = oracle.layer_norm(oracle.encode(network, projections, [])[-1], network.norms[-1])
        torch.testing.assert_close(encoded[number, : len(words)].detach(), torch.tensor(last))


def test_hidden_words_are_zeros():
    network, batch = make(), batch_of(SENTENCES)
    hidden = torch.zeros(3, 6, dtype=torch.bool)
    hidden[0, 1] = hidden[2, 5] = hidden[1, 3] = True  # the last of them is padding
    encoded = network.encode_words(batch, hidden=hidden)
    for number, positions in enumerate([[1], [], [5]]):
        projections = batch.projections[SENTENCES[number]].numpy()
        expected = oracle.layer_norm(
            oracle.encode(network, projections, positions)[-1], network.norms[-1]
        )
        words = encoded[number, : len(projections)].detach()
        # sinusoids are float32
        torch.testing.assert_close(words, torch.tensor(expected), rtol=1e-5, atol=1e-5)


sentences = st.lists(st.lists(st.integers(0, 5), max_size=5), min_size=1, max_size=5)


@given(
    pooling=st.sampled_from(POOLINGS),
    drawn=sentences,
    more=st.integers(0, 9),
    learning=st.booleans(),
)
def test_padding_and_other_sentences_change_nothing(pooling, drawn, more, learning):
    network = make(pooling=pooling, depths=2).float().train(learning)
    with torch.set_grad_enabled(learning):
        together = network(single(batch_of(drawn, columns=more)))
        alone = torch.cat([network(single(batch_of([sentence]))) for sentence in drawn])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-5)
    lengths = torch.tensor([float(bool(sentence)) for sentence in drawn])
    torch.testing.assert_close(together.norm(dim=1), lengths)


def single(batch):
    return WordBatch(batch.projections.float(), batch.words, batch.weights.float())


@pytest.mark.parametrize("pooling", POOLINGS)
def test_gradients_come_neither_from_padding_nor_from_empty_sentences(pooling):
    gradients = []
    for given_sentences, columns in (SENTENCES, 0), ([*SENTENCES, []], 9):
        network = make(pooling=pooling)
        network(batch_of(given_sentences, columns=columns))[:3].square().cumsum(
            dim=1
        ).sum().backward()
        gradients.append([parameter.grad for parameter in network.parameters()])
    torch.testing.assert_close(gradients[0], gradients[1])
    assert all(gradient.any() for gradient in gradients[0])


def test_every_sentence_attends_to_something(monkeypatch):
    """Attention to nothing is NaN in some versions of torch."""
    network = make(n_layers=1)
    masks = []
    monkeypatch.setattr(
        network.layers[0],
        "forward",
        lambda x, src_key_padding_mask: masks.append(src_key_padding_mask) or x,
    )
    network(batch_of([[1, 2], [], [3]]))
    assert masks[0].tolist() == [[False, False], [False, True], [False, True]]


@pytest.mark.parametrize("n_layers", [0, 2])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_batches_without_words_are_defined(pooling, n_layers):
    network = make(pooling=pooling, n_layers=n_layers)
    for empty, columns in ([], 0), ([], 3), ([[], []], 0), ([[], []], 2):
        batch = batch_of(empty, n_distinct=0, columns=columns)
        vectors = network(batch)
        assert vectors.tolist() == [[0.0] * WIDTH] * len(empty)
        assert network.encode_words(batch).shape == (len(empty), columns, WIDTH)
        vectors.sum().backward()
    assert all(
        parameter.grad is None or not parameter.grad.any() for parameter in network.parameters()
    )


@pytest.mark.parametrize(
    ("pooling", "pooling_dim", "depths"),
    [("weighted", None, 1), ("attention", 20, 2), ("mean", None, 2)],
)
def test_identity_starts_as_a_bag_of_linear_word_vectors(pooling, pooling_dim, depths):
    options = {"pooling": pooling, "pooling_dim": pooling_dim, "depths": depths, "n_layers": 3}
    network, batch = make(shaken=False, init="identity", **options), batch_of(SENTENCES)
    vectors = network(batch).detach().numpy()
    bags = []
    for words, weights in zip(SENTENCES, batch.weights.numpy(), strict=True):
        parts = network.word_vectors(batch.projections[words]).detach().numpy()
        shares = np.ones(len(words)) if pooling == "mean" else weights[: len(words)]
        bag = sum(share * part for share, part in zip(shares, parts, strict=True))
        bags.append(bag / np.linalg.norm(bag))
    np.testing.assert_allclose(vectors @ vectors.T, np.array(bags) @ np.array(bags).T, atol=1e-6)


def test_identity_with_max_pooling_is_the_maximum_of_linear_word_vectors():
    network, batch = make(shaken=False, init="identity"), batch_of(SENTENCES)
    largest = network.word_vectors(batch.projections[SENTENCES[0]]).amax(dim=0)
    torch.testing.assert_close(network(batch)[0], largest / largest.norm())


def test_the_initial_matrix_keeps_cosines_and_has_outputs_of_about_one():
    torch.manual_seed(0)
    projections = torch.nn.functional.normalize(torch.randn(300, 1120), dim=1)
    wide = SGNNTransformer(1120, 1200, 0, 8).word_vectors(projections)
    torch.testing.assert_close(wide @ wide.T / 1200, projections @ projections.T, rtol=0, atol=1e-5)
    narrow = SGNNTransformer(1120, 512, 0, 8).word_vectors(projections)
    assert narrow.std().item() == pytest.approx(1, rel=0.02)
    # A cosine of d random columns is off by 1 / sqrt(d) or less.
    narrow = torch.nn.functional.normalize(narrow, dim=1)
    assert (narrow @ narrow.T - projections @ projections.T).std().item() < 1 / math.sqrt(512)


def test_bits_are_signs():
    network, batch = make(), batch_of(SENTENCES)
    bits = (batch.projections > 0).to(torch.uint8)
    signs = torch.where(batch.projections > 0, 1.0, -1.0).double() / math.sqrt(N_FEATURES)
    torch.testing.assert_close(
        network(batch._replace(projections=bits)), network(batch._replace(projections=signs))
    )
    assert not torch.allclose(
        network(batch._replace(projections=bits.double())),
        network(batch._replace(projections=signs)),
    )


def test_each_word_is_multiplied_once(monkeypatch):
    network = make()
    rows = []
    monkeypatch.setattr(network.linear, "forward", lambda x: rows.append(len(x)) or x[:, :WIDTH])
    network(batch_of([[0, 1, 1, 0], [1, 1, 0]], n_distinct=2))
    assert rows == [2]


def test_dropout_is_off_by_default():
    batch = batch_of(SENTENCES)
    network = make()
    assert torch.equal(network(batch), network(batch))
    network = make(dropout=0.5)
    assert not torch.equal(network(batch), network(batch))
    torch.testing.assert_close(network.eval()(batch), make()(batch))


def test_it_works_under_autocast():
    for pooling in POOLINGS:
        network, batch = make(pooling=pooling).float(), single(batch_of([*SENTENCES, []]))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            vectors = network(batch)
        assert vectors.dtype == torch.float32
        torch.testing.assert_close(vectors.norm(dim=1), torch.tensor([1.0, 1.0, 1.0, 0.0]))
        torch.testing.assert_close(vectors, network(batch), rtol=0, atol=0.05)
        vectors.sum().backward()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_layers": -1}, "n_layers must be an integer of at least 0, got -1"),
        ({"feedforward_size": 0}, "feedforward_size must be an integer of at least 1, got 0"),
        ({"pooling_dim": 0}, "pooling_dim must be None or an integer of at least 1, got 0"),
        ({"n_heads": 3}, "embedding_dim must be a multiple of n_heads=3, got 8"),
        ({"depths": 3}, "depths must be an integer from 1 to 2, got 3"),
        ({"table_bits": 0}, "table_bits must be an integer from 1 to 31, got 0"),
        ({"table_bits": 32}, "table_bits must be an integer from 1 to 31, got 32"),
        ({"table_bits": 4, "key_bits": 3}, "key_bits must be None or an integer from 4 to 62"),
        ({"depths": 2, "n_layers": 1}, "depths=2 needs n_layers of 2 or more, got 1"),
        ({"init": "zero"}, "init must be one of .* got 'zero'"),
        ({"pooling": "sum"}, "pooling must be one of .* got 'sum'"),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"projections": torch.zeros(6, 11)},
            r"projections must have shape \(n_distinct, 12\), got \(6, 11\)",
        ),
        (
            {"projections": torch.zeros(5, 12)},
            "words must be indices of the 5 projections, or -1 for padding, got 5",
        ),
        ({"words": torch.zeros(3, dtype=torch.int64)}, r"words must have shape .* got \(3,\)"),
        ({"weights": torch.zeros(3, 5)}, r"weights must have shape .* got \(3, 5\)"),
    ],
)
def test_wrong_batches_are_refused(changes, message):
    with pytest.raises(ValueError, match=f"SGNNTransformer: {message}"):
        make()(batch_of(SENTENCES)._replace(**changes))


@pytest.mark.gpu
@pytest.mark.parametrize("pooling", POOLINGS)
def test_cuda_agrees_with_the_cpu(pooling):
    network, batch = make(pooling=pooling, depths=2), batch_of([*SENTENCES, []], columns=9)
    expected = network(batch)
    torch.testing.assert_close(network.cuda()(batch.to("cuda")).cpu(), expected)


@pytest.mark.parametrize(("length", "width"), [(50, 8), (3, 7), (1, 1), (0, 4)])
def test_sinusoids_follow_the_formula(length, width):
    expected = [
        [oracle.sinusoid(position, column, width) for column in range(width)]
        for position in range(length)
    ]
    waves = sinusoids(length, width)
    assert waves.dtype == torch.float32
    torch.testing.assert_close(
        waves, torch.tensor(expected).reshape(length, width), rtol=1e-4, atol=1e-5
    )


def test_a_batch_moves_to_a_device():
    words = torch.tensor([[0, 1], [1, -1]])
    batch = WordBatch(torch.zeros(2, 5, dtype=torch.uint8), words, (words >= 0).float())
    moved = batch.to("meta", non_blocking=True)
    assert isinstance(moved, WordBatch)
    assert [tensor.device.type for tensor in moved] == ["meta"] * 3
    assert [(tensor.shape, tensor.dtype) for tensor in moved] == [
        (tensor.shape, tensor.dtype) for tensor in batch
    ]
    assert torch.equal(batch.to("cpu").words, words)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_pooling_ignores_the_scale_of_weights(scale):
    vectors, weights = torch.randn(2, 4, 3), torch.rand(2, 4)
    mask = torch.ones(2, 4, dtype=torch.bool)
    for pooling in ("attention", "weighted"):
        layer = WordPooling(3, pooling)
        torch.testing.assert_close(
            layer(vectors, mask, weights * scale), layer(vectors, mask, weights)
        )


def test_initial_attention_is_the_weighted_mean():
    words = torch.randn(2, 4, 3), torch.ones(2, 4, dtype=torch.bool), torch.rand(2, 4)
    torch.testing.assert_close(
        WordPooling(3, "attention")(*words), WordPooling(3, "weighted")(*words)
    )


def test_attention_scores_of_any_size_leave_a_unit_vector():
    layer = WordPooling(3, "attention")
    layer.score.weight.data.fill_(1e3)
    mask = torch.tensor([[True, True, False]])
    # padding would win, and must not
    vectors = torch.tensor([[[-1.0, -2, -3], [-2.0, -2, -3], [9.0, 9, 9]]])
    torch.testing.assert_close(
        layer(vectors, mask, mask.float()), vectors[:, 0] / vectors[:, 0].norm()
    )
