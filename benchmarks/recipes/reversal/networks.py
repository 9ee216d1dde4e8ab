"""The network of the notebook: an LSTM encoder, additive attention, and an LSTM decoder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

# With torch's default of 1.0 the network memorizes strings instead of learning attention.
EMBEDDING_STD = 0.1


class AttentionNetwork(nn.Module):
    """Sequence-to-sequence network with additive attention and any output layer.

    With e_i the vector of symbol i of a source string that ends with the symbol ``end``:

    1. h_1 .. h_n = LSTM(e_1 .. e_n), the encoder states;
    2. at each step t, the decoder state s_(t-1) attends to the encoder states (Bahdanau et al.,
       2015, arXiv:1409.0473): a_ti = softmax_i(v . tanh(W1 h_i + W2 s_(t-1))), c_t = sum_i a_ti
       h_i;
    3. s_t = LSTM(c_t, s_(t-1)), where s_0 is the decoder state after an input of zeros;
    4. the output layer predicts symbol t from s_t; the string ends at ``end``, the last symbol.

    As in the notebook, the decoder does not read the previously predicted symbol. Strings are rows
    of symbols without ``end``, padded on the right with -1.
    """

    def __init__(
        self,
        num_symbols: int,
        embedding_dim: int,
        encoder_size: int,
        decoder_size: int,
        output: nn.Module,
        encoder_layers: int = 1,
        decoder_layers: int = 1,
    ) -> None:
        super().__init__()
        self.end = num_symbols - 1
        self.embedding = nn.Embedding(num_symbols, embedding_dim)
        nn.init.normal_(self.embedding.weight, std=EMBEDDING_STD)
        self.encoder = nn.LSTM(
            embedding_dim, encoder_size, num_layers=encoder_layers, batch_first=True
        )
        self.attend_encoder = nn.Linear(encoder_size, encoder_size, bias=False)
        self.attend_decoder = nn.Linear(decoder_size, encoder_size, bias=False)
        self.attend_score = nn.Linear(encoder_size, 1, bias=False)
        sizes = [encoder_size, *[decoder_size] * (decoder_layers - 1)]
        self.decoder = nn.ModuleList(nn.LSTMCell(size, decoder_size) for size in sizes)
        self.output: Any = output

    def forward(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log-probability of each target string and its end, and the mean loss."""
        target = self._append_end(target)
        mask = target >= 0
        states = torch.stack(list(islice(self._decode(source), target.shape[1])), dim=1)
        symbol_log_probs, loss = self.output(states[mask], target[mask])
        log_probs = symbol_log_probs.new_zeros(target.shape).masked_scatter(mask, symbol_log_probs)
        return log_probs.sum(dim=1), loss

    @torch.no_grad()
    def generate(self, source: Tensor) -> Tensor:
        """Return the most probable strings: no symbol depends on the one before."""
        ended = torch.zeros(len(source), dtype=torch.bool)
        columns: list[Tensor] = []
        for states in islice(self._decode(source), 2 * source.shape[1] + 3):
            symbols = self.output.predict(states)
            ended = ended | (symbols == self.end)
            if bool(ended.all()):
                break
            columns.append(symbols.masked_fill(ended, -1))
        return torch.stack(columns, dim=1) if columns else source.new_empty((len(source), 0))

    def _decode(self, source: Tensor) -> Iterator[Tensor]:
        """Yield the decoder states of each step, without end, of shape (rows, decoder_size)."""
        source = self._append_end(source)
        encoded, _ = self.encoder(self.embedding(source.clamp(min=0)))
        keys = self.attend_encoder(encoded)
        state = self._step(torch.zeros_like(encoded[:, 0]), [None] * len(self.decoder))
        while True:
            query = self.attend_decoder(state[-1][0]).unsqueeze(1)
            # (rows, source_length + 1)
            scores = self.attend_score(torch.tanh(keys + query)).squeeze(2)
            attention = scores.masked_fill(source < 0, -torch.inf).softmax(dim=1)
            state = self._step(torch.bmm(attention.unsqueeze(1), encoded).squeeze(1), state)
            yield state[-1][0]

    def _step(
        self, inputs: Tensor, state: Sequence[tuple[Tensor, Tensor] | None]
    ) -> list[tuple[Tensor, Tensor]]:
        """Run one step of all decoder layers; None is a state of zeros."""
        new_state = []
        for cell, old in zip(self.decoder, state, strict=True):
            new_state.append(cell(inputs, old))
            inputs = new_state[-1][0]
        return new_state

    def _append_end(self, strings: Tensor) -> Tensor:
        lengths = (strings >= 0).sum(dim=1, keepdim=True)
        return functional.pad(strings, (0, 1), value=-1).scatter(1, lengths, self.end)
