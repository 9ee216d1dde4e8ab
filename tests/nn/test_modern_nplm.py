"""The modern language model: residual blocks, averages of a far context, dropout of words."""

import copy

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from sklearn_hashnlp.nn import NPLM, HashEmbedding
from sklearn_hashnlp.nn._word_embeddings import WordAverages, WordTable, _average
from tests.oracles.modern_nplm import averages_of, hidden_state

WORDS, PADDING = 20, 20
RNG = np.random.default_rng(0)
CONTEXTS = torch.from_numpy(
    np.where(RNG.random((9, 8)) < 0.3, PADDING, RNG.integers(0, WORDS, (9, 8)))
)
CONTEXTS[0] = PADDING
TARGETS = torch.from_numpy(RNG.integers(0, WORDS, 9))


def make(seed=0, **options):
    torch.manual_seed(seed)
    options = {
        "order": 4,
        "embedding_dim": 5,
        "hidden_size": 7,
        "num_classes": WORDS,
        "output": "softmax",
    } | options
    model = NPLM(WORDS + 1, padding_id=PADDING, **options).double().eval()
    for parameter in model.parameters():  # blocks begin as zeros
        parameter.data.add_(torch.randn_like(parameter), alpha=0.3)
    return model


@pytest.mark.parametrize(
    "options",
    [
        {"hidden_layer": ("residual", 2)},
        {"far_context": 5},
        {"hidden_layer": "residual", "far_context": 5, "sparse": True},
    ],
    ids=str,
)
def test_hidden_states(options):
    model = make(**options)
    n_far = options.get("far_context", 0)
    contexts = CONTEXTS[:, 5 - n_far :]
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    expected = [hidden_state(weights, context, n_far, PADDING) for context in contexts.tolist()]
    hidden = model.hidden(contexts).detach().numpy()
    np.testing.assert_allclose(hidden, expected, rtol=1e-5, atol=1e-6)  # float32 weights
    log_probs, loss = model(contexts, TARGETS)
    torch.testing.assert_close(log_probs, model.log_prob(contexts)[range(9), TARGETS])
    torch.testing.assert_close(loss, -log_probs.mean())


def test_averages_of_hash_embeddings():
    embedding = HashEmbedding(50, 4, num_buckets=9, seed=1, append_weight=False)
    words = torch.tensor([[3, 10**9, PADDING, 3], [PADDING] * 4])
    table = {word: embedding(torch.tensor(word)).detach().numpy() for word in (3, 10**9)}
    rows = np.stack([table[3], table[10**9]])
    expected = np.concatenate(averages_of(rows, [0, 1, PADDING, 0], PADDING))  # words are rows here
    averages = WordAverages(4, PADDING)(embedding, words).detach().numpy()
    np.testing.assert_allclose(averages, [expected, np.zeros(8)], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("sparse", [False, True])
def test_gradients_of_averages(sparse):
    torch.manual_seed(0)
    layer, table = (
        WordAverages(8, PADDING).double(),
        WordTable(WORDS + 1, 3, sparse=sparse).double(),
    )
    weights = torch.randn(9, 6, dtype=torch.float64)
    (layer(table, CONTEXTS) * weights).sum().backward()
    found = table.weight.grad.to_dense() if sparse else table.weight.grad
    plain = table.weight.detach().clone().requires_grad_()
    rows = CONTEXTS.masked_fill(CONTEXTS == PADDING, -1)
    (4 * _average(plain, rows, layer.weights).flatten(1) * weights).sum().backward()
    torch.testing.assert_close(found, plain.grad)
    assert table.weight.grad.is_sparse == sparse


def test_averages_are_differentiable_twice():
    layer, table = WordAverages(3, None), WordTable(4, 2).double()
    words = torch.tensor([[0, 1, 1], [3, 2, 0]])

    def averages(weight):
        table.weight = torch.nn.Parameter(weight.detach())
        return torch.func.functional_call(layer, {}, (_Table(weight), words))

    class _Table(torch.nn.Module):
        def __init__(self, weight):
            super().__init__()
            self.table = weight

        def forward(self, ids):
            return self.table[ids]

    weight = torch.randn(4, 2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(averages, weight)
    assert gradgradcheck(averages, weight)


def test_dropped_words_are_whole_words():
    model = make(dropout=(0.0, 0.0, 0.5)).train()
    x = model._input(torch.ones(1000, 3, dtype=torch.int64)).reshape(1000, 3, 5)
    is_dropped = (x == 0).all(dim=2)
    assert torch.equal(is_dropped, (x == 0).any(dim=2))
    assert 0.4 < is_dropped.double().mean() < 0.6
    torch.testing.assert_close(x[~is_dropped][0], 2 * model.embedding.weight[1])
    assert (model.eval()._input(torch.ones(9, 3, dtype=torch.int64)) != 0).all()


def test_tied_weights():
    model = make(output="tied_softmax", sparse=True)
    assert "output_layer.weight" not in dict(model.named_parameters())
    table, projection = model.embedding.weight, model.projection
    hidden = torch.tanh(model.hidden_layer(table[CONTEXTS[:, 5:]].flatten(1)))
    scores = (hidden @ projection.weight.T + projection.bias) @ table[
        :WORDS
    ].T + model.output_layer.bias
    torch.testing.assert_close(model.log_prob(CONTEXTS[:, 5:]), scores.log_softmax(dim=1))
    model(CONTEXTS[:, 5:], TARGETS)[1].backward()
    found, table.grad = table.grad, None
    torch.nn.functional.cross_entropy(scores, TARGETS).backward()
    torch.testing.assert_close(found, table.grad)
    copied = copy.deepcopy(model)
    assert copied.output_layer.weight is copied.embedding.weight
