"""The network against its formulas, one string and one symbol at a time, written as plain loops."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from sklearn_hashnlp.nn import AttentionSeq2Seq, FullSoftmax

SYMBOLS = 7


def make(**options: Any) -> AttentionSeq2Seq:
    torch.manual_seed(0)
    options = {"embedding_dim": 3, "encoder_size": 5, "decoder_size": 4, "dtype": torch.float64} | options
    return AttentionSeq2Seq(SYMBOLS, **options)


def padded(strings: list[list[int]], *, columns: int = 0) -> Tensor:
    width = max([columns, *map(len, strings)])
    return torch.tensor([[*string, *[-1] * (width - len(string))] for string in strings], dtype=torch.int64)


def lstm(parameters: dict[str, Tensor], suffix: str, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """One step of an LSTM by the book; torch keeps its gates in the order input, forget, cell, output."""
    gates = parameters[f"weight_ih{suffix}"] @ x + parameters[f"bias_ih{suffix}"]
    gates = gates + parameters[f"weight_hh{suffix}"] @ h + parameters[f"bias_hh{suffix}"]
    i, f, g, o = gates.chunk(4)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    c = f * c + i * g
    return o * c.tanh(), c


@torch.no_grad()
def plain_log_probs(network: AttentionSeq2Seq, source: list[int], steps: int) -> list[Tensor]:
    """log P(symbol) at each step, by the loop of the source: no batch, no padding, no mask."""
    vectors = [network.embedding.weight[symbol] for symbol in [*source, network.end]]
    encoder = dict(network.encoder.named_parameters())
    zeros = torch.zeros(network.encoder.hidden_size, dtype=torch.float64)
    h, c, encoded = zeros, zeros, []
    for vector in vectors:
        h, c = lstm(encoder, "_l0", vector, h, c)
        encoded.append(h)
    decoder = dict(network.decoder.named_parameters())
    start = torch.zeros(network.decoder.hidden_size, dtype=torch.float64)
    h, c = lstm(decoder, "", zeros, start, start)
    found = []
    for _ in range(steps):
        query = network.attend_decoder.weight @ h
        scores = [
            (network.attend_score.weight[0] @ torch.tanh(network.attend_encoder.weight @ state + query)).exp()
            for state in encoded
        ]
        attended = sum(
            (score / sum(scores) * state for score, state in zip(scores, encoded, strict=True)), torch.tensor(0.0)
        )
        h, c = lstm(decoder, "", attended, h, c)
        exponentials = (network.output.weight @ h + network.output.bias).exp()
        found.append((exponentials / exponentials.sum()).log())
    return found


STRINGS = [[0, 3, 5], [2], [], [5, 5, 1, 4]]
TARGETS = [[5, 3, 0], [2, 1, 1, 4, 0], [3], []]


def test_log_probabilities_are_those_of_the_formulas() -> None:
    network = make()
    log_probs, loss = network(padded(STRINGS), padded(TARGETS))
    expected, n_symbols = [], 0
    for source, target in zip(STRINGS, TARGETS, strict=True):
        symbols = [*target, network.end]
        by_step = plain_log_probs(network, source, len(symbols))
        expected.append(sum(float(step[symbol]) for step, symbol in zip(by_step, symbols, strict=True)))
        n_symbols += len(symbols)
    assert log_probs.tolist() == pytest.approx(expected)
    assert loss.item() == pytest.approx(-sum(expected) / n_symbols)


def test_generation_takes_the_most_probable_symbol_until_the_end() -> None:
    generator = torch.Generator().manual_seed(3)
    lengths = set()
    for _ in range(6):
        network = make(end=2)
        for parameter in network.parameters():
            parameter.data.normal_(std=0.7, generator=generator)
        network.output.bias.data[network.end] += 1
        sources = [torch.randint(3, 7, (n,), generator=generator).tolist() for n in range(6)]
        found = network.generate(padded(sources), max_length=6)
        longest = 0
        for source, row in zip(sources, found.tolist(), strict=True):
            symbols = [int(step.argmax()) for step in plain_log_probs(network, source, 6)]
            string = symbols[: symbols.index(network.end)] if network.end in symbols else symbols
            assert row == [*string, *[-1] * (found.shape[1] - len(string))]
            lengths.add(len(string))
            longest = max(longest, len(string))
        assert found.shape[1] == longest
    assert len(lengths) > 3  # else the end was never looked for


strings = st.lists(st.integers(0, SYMBOLS - 2), max_size=4)


@given(st.lists(st.tuples(strings, strings), min_size=1, max_size=4), st.integers(0, 3))
def test_neither_padding_nor_neighbours_change_a_string(pairs: list[tuple[list[int], list[int]]], more: int) -> None:
    network = make()
    source, target = padded([pair[0] for pair in pairs], columns=more), padded([pair[1] for pair in pairs])
    together, _ = network(source, target)
    alone = [network(padded([one]), padded([other]))[0] for one, other in pairs]
    torch.testing.assert_close(together, torch.cat(alone))
    generated = network.generate(source, max_length=5)
    for row, (one, _) in zip(generated.tolist(), pairs, strict=True):
        by_itself = network.generate(padded([one]), max_length=5).flatten().tolist()
        assert [symbol for symbol in row if symbol >= 0] == by_itself


def test_gradients_do_not_come_from_padding() -> None:
    gradients = []
    for columns in (0, 9):
        network = make()
        network(padded(STRINGS, columns=columns), padded(TARGETS, columns=columns))[1].backward()
        gradients.append([parameter.grad for parameter in network.parameters()])
    torch.testing.assert_close(gradients[0], gradients[1])
    assert all(gradient.any() for gradient in gradients[0])


def test_it_learns_to_reverse_strings() -> None:
    torch.manual_seed(0)
    network = AttentionSeq2Seq(SYMBOLS, 16, 24, 24)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.02)
    source = torch.randint(0, SYMBOLS - 1, (64, 3))
    for _ in range(120):
        optimiser.zero_grad()
        network(source, source.flip(1))[1].backward()
        optimiser.step()
    assert torch.equal(network.generate(source), source.flip(1))


def test_vectors_of_symbols_begin_small() -> None:
    weight = AttentionSeq2Seq(100, 100).embedding.weight
    assert 0.095 < weight.detach().std() < 0.105


def test_generation_stops_where_no_end_comes() -> None:
    network = make()
    network.output.bias.data[network.end] = -1e9
    assert network.generate(padded(STRINGS)).shape == (4, 2 * 5 + 1)
    assert network.generate(padded(STRINGS), max_length=0).shape == (4, 0)
    network.output.bias.data[network.end] = 1e9
    assert network.generate(padded(STRINGS)).shape == (4, 0)


class Certain(torch.nn.Module):
    """An output layer of another kind: it always says the same symbol."""

    def forward(self, rows: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        return rows.sum(dim=1) * 0, rows.sum() * 0

    def predict(self, rows: Tensor) -> Tensor:
        return torch.full((len(rows),), 3)


def test_any_output_layer_will_do() -> None:
    network = make(output=Certain())
    assert network(padded(STRINGS), padded(TARGETS))[0].tolist() == [0, 0, 0, 0]
    assert network.generate(padded(STRINGS), max_length=2).tolist() == [[3, 3]] * 4


def test_it_works_under_autocast() -> None:
    network = make(dtype=None)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        log_probs, loss = network(padded(STRINGS), padded(TARGETS))
    assert loss.dtype == log_probs.dtype == torch.float32
    torch.testing.assert_close(log_probs, network(padded(STRINGS), padded(TARGETS))[0], rtol=0.05, atol=0.05)
    loss.backward()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: AttentionSeq2Seq(7, 0), "embedding_dim must be 1 or more, got 0"),
        (lambda: AttentionSeq2Seq(7, end=7), "end must be one of the symbols 0 to 6, got 7"),
        (lambda: AttentionSeq2Seq(7, output=FullSoftmax(3, 7)), "in_features=decoder_size=210, this FullSoftmax has 3"),
        (lambda: AttentionSeq2Seq(7, output=FullSoftmax(210, 6)), "n_classes=num_symbols=7, this FullSoftmax has 6"),
        (
            lambda: make()(padded([[7]]), padded([[1]])),
            "source must contain symbols 0 to 6 and negative .* got 7",
        ),
        (lambda: make()(padded([[1]]), padded([[1, 8]])), "target must contain symbols 0 to 6 .* got 8"),
        (lambda: make()(padded([[1]]), padded([[1], [2]])), r"as many rows as source, got shapes \(2, 1\)"),
        (lambda: make().generate(torch.tensor([1, 2])), r"source must be a matrix .* got shape \(2,\)"),
        (lambda: make().generate(torch.tensor([[1, -1, 2]])), "source must be padded on the right only"),
        (lambda: make()(padded([[1]]), torch.tensor([[-1, 2]])), "target must be padded on the right only"),
        (lambda: make().generate(padded([[1]]), max_length=-1), "max_length must be 0 or more, got -1"),
        (lambda: make().hidden(padded([[1]]), 0), "steps must be 1 or more, got 0"),
    ],
)
def test_what_will_not_do_is_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_repr_says_what_it_is() -> None:
    assert "7, end=2" in repr(make(end=2))


@pytest.mark.gpu
def test_cuda_agrees_with_the_cpu() -> None:
    network = make()
    expected, generated = network(padded(STRINGS), padded(TARGETS))[0], network.generate(padded(STRINGS))
    network.cuda()
    log_probs, _ = network(padded(STRINGS).cuda(), padded(TARGETS).cuda())
    torch.testing.assert_close(log_probs.cpu(), expected)
    assert torch.equal(network.generate(padded(STRINGS).cuda()).cpu(), generated)
