"""The network against its formulas, one string and one symbol at a time."""

import pytest
import torch

from sklearn_hashnlp.nn import AttentionSeq2Seq, FullSoftmax

from ..oracles import seq2seq as oracle

SYMBOLS = 7


def make(**options):
    torch.manual_seed(0)
    options = {"embedding_dim": 3, "encoder_size": 5, "decoder_size": 4, "dtype": torch.float64} | options
    return AttentionSeq2Seq(SYMBOLS, **options)


def padded(strings, *, columns=0):
    width = max([columns, *map(len, strings)])
    return torch.tensor([[*string, *[-1] * (width - len(string))] for string in strings], dtype=torch.int64)


STRINGS = [[0, 3, 5], [2], [], [5, 5, 1, 4]]
TARGETS = [[5, 3, 0], [2, 1, 1, 4, 0], [3], []]


@pytest.mark.parametrize("layers", [(1, 1), (2, 1), (1, 2), (3, 2)])
def test_log_probabilities_follow_the_formulas(layers):
    network = make(encoder_layers=layers[0], decoder_layers=layers[1])
    log_probs, loss = network(padded(STRINGS), padded(TARGETS))
    loss.backward()
    assert all(parameter.grad.any() for parameter in network.parameters())
    expected, n_symbols = [], 0
    for source, target in zip(STRINGS, TARGETS, strict=True):
        symbols = [*target, network.end]
        by_step = oracle.log_probs(network, source, len(symbols))
        expected.append(sum(float(step[symbol]) for step, symbol in zip(by_step, symbols, strict=True)))
        n_symbols += len(symbols)
    assert log_probs.tolist() == pytest.approx(expected)
    assert loss.item() == pytest.approx(-sum(expected) / n_symbols)


def test_generation_predicts_the_most_probable_symbol_until_the_end():
    generator = torch.Generator().manual_seed(3)
    lengths = set()
    for n_layers in (1, 1, 1, 1, 1, 2):
        network = make(end=2, decoder_layers=n_layers)
        for parameter in network.parameters():
            parameter.data.normal_(std=0.7, generator=generator)
        network.output.bias.data[network.end] += 1
        sources = [torch.randint(3, 7, (n,), generator=generator).tolist() for n in range(6)]
        generated = network.generate(padded(sources), max_length=6)
        longest = 0
        for source, row in zip(sources, generated.tolist(), strict=True):
            symbols = [int(step.argmax()) for step in oracle.log_probs(network, source, 6)]
            string = symbols[: symbols.index(network.end)] if network.end in symbols else symbols
            assert row == [*string, *[-1] * (generated.shape[1] - len(string))]
            lengths.add(len(string))
            longest = max(longest, len(string))
        assert generated.shape[1] == longest
    assert len(lengths) > 3  # else the end was never checked


def test_gradients_do_not_come_from_padding():
    gradients = []
    for columns in (0, 9):
        network = make()
        network(padded(STRINGS, columns=columns), padded(TARGETS, columns=columns))[1].backward()
        gradients.append([parameter.grad for parameter in network.parameters()])
    torch.testing.assert_close(gradients[0], gradients[1])
    assert all(gradient.any() for gradient in gradients[0])


def test_weights_of_one_layer_have_the_names_that_they_had():
    names = set(make().state_dict())
    assert {"encoder.weight_hh_l0", "decoder.weight_hh"} < names
    assert not any("upper" in name or "_l1" in name for name in names)
    with pytest.raises(RuntimeError, match="upper_decoders"):
        make(decoder_layers=2).load_state_dict(make().state_dict())


def test_generation_stops_at_the_maximum_length():
    network = make()
    network.output.bias.data[network.end] = -1e9
    assert network.generate(padded(STRINGS)).shape == (4, 2 * 5 + 1)
    assert network.generate(padded(STRINGS), max_length=0).shape == (4, 0)
    network.output.bias.data[network.end] = 1e9
    assert network.generate(padded(STRINGS)).shape == (4, 0)


class Certain(torch.nn.Module):
    """An output layer of another kind, which always predicts the same symbol."""

    def forward(self, rows, target):
        return rows.sum(dim=1) * 0, rows.sum() * 0

    def predict(self, rows):
        return torch.full((len(rows),), 3)


def test_any_output_layer_is_accepted():
    network = make(output=Certain())
    assert network(padded(STRINGS), padded(TARGETS))[0].tolist() == [0, 0, 0, 0]
    assert network.generate(padded(STRINGS), max_length=2).tolist() == [[3, 3]] * 4


def has_half_precision_lstm() -> bool:
    """Return whether torch's LSTM works in bfloat16 on this processor; without AVX-512 it does not."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        try:
            torch.nn.LSTM(2, 2)(torch.zeros(1, 1, 2))
        except RuntimeError:
            return False
    return True


def test_it_works_under_autocast():
    if not has_half_precision_lstm():
        pytest.skip("torch's LSTM does not work in bfloat16 on this processor")
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
        (lambda: AttentionSeq2Seq(7, decoder_layers=0), "decoder_layers must be 1 or more, got 0"),
        (lambda: make(output=torch.nn.Linear(4, 7)), r"must be an output layer such as FullSoftmax .*, got Linear"),
        (lambda: make().generate(padded([[1, 6]])), "source must be without the end symbol 6"),
        (lambda: make()(padded([[1]]), padded([[1, 6]])), "target must be without the end symbol 6"),
        (lambda: AttentionSeq2Seq(7, end=7), "end must be one of the symbols 0 to 6, got 7"),
        (lambda: AttentionSeq2Seq(7, output=FullSoftmax(3, 7)), "in_features=decoder_size=210, this FullSoftmax has 3"),
        (lambda: AttentionSeq2Seq(7, output=FullSoftmax(210, 6)), "n_classes=num_symbols=7, this FullSoftmax has 6"),
        (lambda: make()(padded([[7]]), padded([[1]])), "source must contain symbols 0 to 6 and negative .* got 7"),
        (lambda: make()(padded([[1]]), padded([[1, 8]])), "target must contain symbols 0 to 6 .* got 8"),
        (lambda: make()(padded([[1]]), padded([[1], [2]])), r"as many rows as source, got shapes \(2, 1\)"),
        (lambda: make().generate(torch.tensor([1, 2])), r"source must be a matrix .* got shape \(2,\)"),
        (lambda: make().generate(torch.tensor([[1, -1, 2]])), "source must be padded on the right only"),
        (lambda: make()(padded([[1]]), torch.tensor([[-1, 2]])), "target must be padded on the right only"),
        (lambda: make().generate(padded([[1]]), max_length=-1), "max_length must be 0 or more, got -1"),
        (lambda: make().hidden(padded([[1]]), 0), "steps must be 1 or more, got 0"),
    ],
)
def test_wrong_arguments_are_refused(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


@pytest.mark.gpu
def test_cuda_agrees_with_the_cpu():
    network = make()
    expected, generated = network(padded(STRINGS), padded(TARGETS))[0], network.generate(padded(STRINGS))
    network.cuda()
    log_probs, _ = network(padded(STRINGS).cuda(), padded(TARGETS).cuda())
    torch.testing.assert_close(log_probs.cpu(), expected)
    assert torch.equal(network.generate(padded(STRINGS).cuda()).cpu(), generated)
