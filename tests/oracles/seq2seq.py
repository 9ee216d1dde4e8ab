"""A sequence-to-sequence network with attention, one string and one symbol at a time."""

import torch
from torch import Tensor


def lstm(
    parameters: dict[str, Tensor], suffix: str, x: Tensor, h: Tensor, c: Tensor
) -> tuple[Tensor, Tensor]:
    """Take one step of an LSTM; torch orders its gates as input, forget, cell, output."""
    gates = parameters[f"weight_ih{suffix}"] @ x + parameters[f"bias_ih{suffix}"]
    gates = gates + parameters[f"weight_hh{suffix}"] @ h + parameters[f"bias_hh{suffix}"]
    i, f, g, o = gates.chunk(4)
    i = i.sigmoid()
    f = f.sigmoid()
    g = g.tanh()
    o = o.sigmoid()
    c = f * c + i * g
    return o * c.tanh(), c


@torch.no_grad()
def log_probs(network, source: list[int], steps: int) -> list[Tensor]:
    """Return log P(symbol) at each step, without batch, padding or mask."""
    vectors = [network.embedding.weight[symbol] for symbol in [*source, network.end]]
    encoder, encoded = dict(network.encoder.named_parameters()), vectors
    zeros = torch.zeros(network.encoder.hidden_size, dtype=torch.float64)
    for layer in range(network.encoder.num_layers):
        h = zeros
        c = zeros
        inputs = encoded
        encoded = []
        for vector in inputs:
            h, c = lstm(encoder, f"_l{layer}", vector, h, c)
            encoded.append(h)
    decoders = [dict(cell.named_parameters()) for cell in network.decoder]
    states = [
        (torch.zeros(network.decoder[0].hidden_size, dtype=torch.float64),) * 2 for _ in decoders
    ]

    def decode(x: Tensor) -> Tensor:
        for layer, decoder in enumerate(decoders):
            states[layer] = lstm(decoder, "", x, *states[layer])
            x = states[layer][0]
        return x

    h = decode(zeros)
    result = []
    for _ in range(steps):
        query = network.attend_decoder.weight @ h
        scores = [
            (
                network.attend_score.weight[0]
                @ torch.tanh(network.attend_encoder.weight @ state + query)
            ).exp()
            for state in encoded
        ]
        attended = sum(
            (score / sum(scores) * state for score, state in zip(scores, encoded, strict=True)),
            torch.tensor(0.0),
        )
        h = decode(attended)
        exponentials = (network.output.weight @ h + network.output.bias).exp()
        result.append((exponentials / exponentials.sum()).log())
    return result
