"""A sequence-to-sequence network with attention, one string and one symbol at a time."""

from __future__ import annotations

import torch
from torch import Tensor


def lstm(parameters: dict[str, Tensor], suffix: str, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """Take one step of an LSTM; torch orders its gates as input, forget, cell, output."""
    gates = parameters[f"weight_ih{suffix}"] @ x + parameters[f"bias_ih{suffix}"]
    gates = gates + parameters[f"weight_hh{suffix}"] @ h + parameters[f"bias_hh{suffix}"]
    i, f, g, o = gates.chunk(4)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    c = f * c + i * g
    return o * c.tanh(), c


@torch.no_grad()
def log_probs(network, source: list[int], steps: int) -> list[Tensor]:
    """Return log P(symbol) at each step, without batch, padding or mask."""
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
    result = []
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
        result.append((exponentials / exponentials.sum()).log())
    return result
