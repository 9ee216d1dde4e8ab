from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from sklearn_hashnlp.nn import MaskedWordHead, SGNNTransformer, WordBatch

WORDS = torch.tensor([[0, 1, 2, 1], [3, 0, -1, -1], [-1, -1, -1, -1]])
HIDDEN = torch.tensor([[True, False, False, True], [False, True, True, False], [True, False, False, False]])
FOUND = [(0, 0, 0), (0, 3, 1), (1, 1, 0)]  # sentence, place and word of those that are hidden and not padding


def cosine(one, other):
    return float(one @ other) / math.sqrt(float(one @ one) * float(other @ other))


@pytest.mark.parametrize("temperature", [0.05, 2.0])
def test_the_loss_is_that_of_the_formula(temperature):
    torch.manual_seed(0)
    head, encoded, vectors = MaskedWordHead(6, temperature), torch.randn(3, 4, 6), torch.randn(4, 6)
    weight, bias = head.linear.weight.detach().numpy(), head.linear.bias.detach().numpy()
    losses = []
    for sentence, place, word in FOUND:
        guess = weight @ encoded[sentence, place].numpy() + bias
        exponentials = [math.exp(cosine(guess, vector) / temperature) for vector in vectors.numpy()]
        losses.append(-math.log(exponentials[word] / sum(exponentials)))
    assert head(encoded, vectors, WORDS, HIDDEN).item() == pytest.approx(np.mean(losses), rel=1e-4)


def test_nothing_hidden_is_nothing_lost():
    head, encoded, vectors = MaskedWordHead(6), torch.randn(3, 4, 6, requires_grad=True), torch.randn(4, 6)
    loss = head(encoded, vectors, WORDS, torch.zeros_like(HIDDEN))
    assert loss.item() == 0
    loss.backward()
    assert not encoded.grad.any()
    assert head(encoded[:, :0], vectors[:0], WORDS[:, :0], HIDDEN[:, :0]).item() == 0


def test_it_works_under_autocast():
    head, encoded, vectors = MaskedWordHead(6), torch.randn(3, 4, 6), torch.randn(4, 6)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = head(encoded, vectors, WORDS, HIDDEN)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, head(encoded, vectors, WORDS, HIDDEN), rtol=0.1, atol=0.1)


@pytest.mark.parametrize("start", ["random", "identity"])
def test_an_encoder_learns_to_guess_by_it(start):
    """The second word of each sentence follows from the first and is hidden."""
    torch.manual_seed(0)
    network = SGNNTransformer(16, 16, 2, 2, 32, start=start)
    head = MaskedWordHead(16)
    words = torch.stack([torch.arange(8), torch.arange(8) ^ 1], dim=1)
    hidden = torch.tensor([[False, True]]).expand(8, 2)
    batch = WordBatch(torch.randn(8, 16) / 4, words, torch.ones(8, 2))
    optimiser = torch.optim.Adam([*network.parameters(), *head.parameters()], lr=0.003)
    losses = []
    for _ in range(150):
        optimiser.zero_grad()
        encoded = network.encode_words(batch, hidden=hidden)
        loss = head(encoded, network.word_vectors(batch.projections), words, hidden)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[0] > 2
    assert losses[-1] < 0.1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0,), "width must be 1 or more, got 0"), ((4, 0.0), "temperature must be positive, got 0.0")],
)
def test_what_will_not_do_is_named(arguments, message):
    with pytest.raises(ValueError, match=f"MaskedWordHead: {message}"):
        MaskedWordHead(*arguments)


def test_repr_says_what_it_is():
    assert "temperature=0.05" in repr(MaskedWordHead(4))
