"""Sequence to sequence: an LSTM encoder, additive attention, and an LSTM decoder."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

from sklearn_hashnlp.nn._softmax_layers import FullSoftmax
from sklearn_hashnlp.nn._tensors import check_minimum

# With torch's default of 1.0 the network memorizes strings before, or instead of, learning attention.
_EMBEDDING_STD = 0.1


State: TypeAlias = list[tuple[Tensor, Tensor]]  # hidden and cell state of each layer of the decoder


class AttentionSeq2Seq(nn.Module):
    """Sequence-to-sequence network with additive attention and any output layer.

    With e_i the vector of symbol i of a source string that ends with the symbol ``end``:

    1. h_1 .. h_n = LSTM(e_1 .. e_n), the encoder states;
    2. at each step t, the decoder state s_(t-1) attends to the encoder states by additive attention [1]_:
       a_ti = softmax_i(v . tanh(W1 h_i + W2 s_(t-1))), c_t = sum_i a_ti h_i;
    3. s_t = LSTM(c_t, s_(t-1)), where s_0 is the decoder state after an input of zeros;
    4. the output layer predicts symbol t from s_t; the string ends at ``end``.

    Encoder and decoder may have several LSTM layers; h_i and s_t are then the states of the last layer.

    As in the reference implementation [2]_, the only input of the decoder is c_t. It does not read the previously
    predicted symbol, so training and generation see the same states. Unlike the reference implementation, this network
    trains on padded batches of strings, and uses torch's LSTM, which has no peephole connections.

    Parameters
    ----------
    num_symbols : int
        Number of symbols, including ``end``.
    embedding_dim : int, default=200
        Dimension of the vector of a symbol.
    encoder_size : int, default=210
        Dimension of the encoder state.
    decoder_size : int, default=210
        Dimension of the decoder state, the input of the output layer.
    encoder_layers : int, default=1
        Number of LSTM layers of the encoder.
    decoder_layers : int, default=1
        Number of LSTM layers of the decoder.
    output : Module, default=None
        The output layer over ``num_symbols`` classes, such as a :class:`HierarchicalSoftmax` with ``decoder_size``
        input columns; None is a new :class:`FullSoftmax`.
    end : int, default=None
        The symbol that ends a string; None is the last, ``num_symbols - 1``.
    device, dtype : default=None
        Device and dtype of the parameters; a given ``output`` is not moved.

    Attributes
    ----------
    embedding : torch.nn.Embedding
        The vectors of the source symbols, of shape (num_symbols, embedding_dim), initialized with standard deviation
        0.1, a tenth of torch's default.
    encoder : torch.nn.LSTM
        The encoder, left to right.
    attend_encoder, attend_decoder, attend_score : torch.nn.Linear
        W1, W2 and v of the attention, without bias.
    decoder : torch.nn.LSTMCell
        The first layer of the decoder.
    upper_decoders : torch.nn.ModuleList of torch.nn.LSTMCell
        The other layers of the decoder.
    output : Module
        The output layer.

    See Also
    --------
    HierarchicalSoftmax : An output layer with a cost logarithmic in the number of symbols.
    FullSoftmax : The output layer over all symbols.

    References
    ----------
    .. [1] Bahdanau, Cho & Bengio (2015). Neural machine translation by jointly learning to align and translate. ICLR,
           arXiv:1409.0473, appendix A.1.2.
    .. [2] Baumel (2016). RNN_tutorial, https://github.com/talbaumel/RNN_tutorial, sections "Attention" and
           "Scaling-Up Neural Networks".

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import AttentionSeq2Seq
    >>> network = AttentionSeq2Seq(
    ...     num_symbols=11, embedding_dim=8, encoder_size=12, decoder_size=12
    ... )
    >>> # strings of three and of two symbols
    >>> source = torch.tensor([[3, 1, 4], [1, 5, -1]])
    >>> target = torch.tensor([[4, 1, 3], [5, 1, -1]])
    >>> log_probs, loss = network(source, target)
    >>> log_probs.shape
    torch.Size([2])
    >>> network.generate(source, max_length=5).shape[0]
    2
    """

    def __init__(
        self,
        num_symbols: int,
        embedding_dim: int = 200,
        encoder_size: int = 210,
        decoder_size: int = 210,
        *,
        encoder_layers: int = 1,
        decoder_layers: int = 1,
        output: nn.Module | None = None,
        end: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_minimum("AttentionSeq2Seq", num_symbols=num_symbols, embedding_dim=embedding_dim)
        check_minimum("AttentionSeq2Seq", encoder_size=encoder_size, decoder_size=decoder_size)
        check_minimum("AttentionSeq2Seq", encoder_layers=encoder_layers, decoder_layers=decoder_layers)
        end = num_symbols - 1 if end is None else end
        if not 0 <= end < num_symbols:
            raise ValueError(f"AttentionSeq2Seq: end must be one of the symbols 0 to {num_symbols - 1}, got {end}.")
        if output is not None and not callable(getattr(output, "predict", None)):
            raise TypeError(
                "AttentionSeq2Seq: output must be an output layer such as FullSoftmax or HierarchicalSoftmax, which is "
                f"called with inputs and targets and has a method predict, got {type(output).__name__}."
            )
        in_features = getattr(output, "in_features", decoder_size)
        if in_features != decoder_size:
            raise ValueError(
                f"AttentionSeq2Seq: output must have in_features=decoder_size={decoder_size}, this "
                f"{type(output).__name__} has {in_features}."
            )
        n_classes = getattr(output, "n_classes", num_symbols)
        if n_classes != num_symbols:
            raise ValueError(
                f"AttentionSeq2Seq: output must have n_classes=num_symbols={num_symbols}, this "
                f"{type(output).__name__} has {n_classes}."
            )
        self.num_symbols = num_symbols
        self.end = end
        self.embedding = nn.Embedding(num_symbols, embedding_dim, device=device, dtype=dtype)
        nn.init.normal_(self.embedding.weight, std=_EMBEDDING_STD)
        self.encoder = nn.LSTM(
            embedding_dim, encoder_size, num_layers=encoder_layers, batch_first=True, device=device, dtype=dtype
        )
        self.attend_encoder = nn.Linear(encoder_size, encoder_size, bias=False, device=device, dtype=dtype)
        self.attend_decoder = nn.Linear(decoder_size, encoder_size, bias=False, device=device, dtype=dtype)
        self.attend_score = nn.Linear(encoder_size, 1, bias=False, device=device, dtype=dtype)
        self.decoder = nn.LSTMCell(encoder_size, decoder_size, device=device, dtype=dtype)
        self.upper_decoders = nn.ModuleList(
            nn.LSTMCell(decoder_size, decoder_size, device=device, dtype=dtype) for _ in range(decoder_layers - 1)
        )
        self.output = FullSoftmax(decoder_size, num_symbols, device=device, dtype=dtype) if output is None else output

    def forward(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the log-probabilities of target strings, and the loss.

        Parameters
        ----------
        source : Tensor of shape (rows, source_length), dtype int64
            One string in each row, without ``end``, padded on the right with negative numbers.
        target : Tensor of shape (rows, target_length), dtype int64
            The target string of each row, in the same form.

        Returns
        -------
        log_probs : Tensor of shape (rows,)
            log P(target and its end | source).
        loss : Tensor of shape ()
            Mean negative log-likelihood per symbol, including ends.
        """
        if target.shape[:1] != source.shape[:1]:
            raise ValueError(
                "AttentionSeq2Seq: target must have as many rows as source, "
                f"got shapes {tuple(target.shape)} and {tuple(source.shape)}."
            )
        target = self._append_end(target, "target")
        mask = target >= 0
        states = self.hidden(source, target.shape[1])
        symbol_log_probs, loss = self.output(states[mask], target[mask])
        log_probs = symbol_log_probs.new_zeros(target.shape).masked_scatter(mask, symbol_log_probs).sum(dim=1)
        return log_probs, loss

    def hidden(self, source: Tensor, steps: int) -> Tensor:
        """Compute the input of the output layer: the decoder states, of shape (rows, steps, decoder_size).

        Parameters
        ----------
        source : Tensor of shape (rows, source_length), dtype int64
            As for :meth:`forward`.
        steps : int
            Number of symbols to decode, including ends; 1 or more.
        """
        check_minimum("AttentionSeq2Seq", steps=steps)
        encoded, keys, padding = self._encode(source)
        state = self._first_state(encoded)
        states = []
        for _ in range(steps):
            state = self._step(encoded, keys, padding, state)
            states.append(state[-1][0])
        return torch.stack(states, dim=1)

    def generate(self, source: Tensor, *, max_length: int | None = None) -> Tensor:
        """Generate the most probable string.

        Since no symbol depends on the previously predicted ones, greedy decoding finds the most probable string.

        Parameters
        ----------
        source : Tensor of shape (rows, source_length), dtype int64
            As for :meth:`forward`.
        max_length : int, default=None
            Maximum length; None is twice the length of the longest source, including its end, plus one.

        Returns
        -------
        Tensor of shape (rows, length), dtype int64
            Strings without ``end``, padded with -1 to the longest, at most ``max_length``.
        """
        if max_length is not None:
            check_minimum("AttentionSeq2Seq", 0, max_length=max_length)
        with torch.no_grad():
            encoded, keys, padding = self._encode(source)
            limit = 2 * encoded.shape[1] + 1 if max_length is None else max_length
            state = self._first_state(encoded)
            ended = torch.zeros(len(source), dtype=torch.bool, device=source.device)
            columns: list[Tensor] = []
            while len(columns) < limit:
                state = self._step(encoded, keys, padding, state)
                symbols = self.output.predict(state[-1][0])  # type: ignore[operator]  # mypy takes the method for a tensor
                ended = ended | (symbols == self.end)
                if bool(ended.all()):
                    break
                columns.append(symbols.masked_fill(ended, -1))
        return torch.stack(columns, dim=1) if columns else source.new_empty((len(source), 0))

    def _encode(self, source: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return encoder states, attention keys and the padding mask."""
        source = self._append_end(source, "source")
        padding = source < 0
        encoded, _ = self.encoder(self.embedding(source.clamp(min=0)))
        return encoded, self.attend_encoder(encoded), padding

    def _first_state(self, encoded: Tensor) -> State:
        zeros = encoded.new_zeros((len(encoded), encoded.shape[2]))
        return self._decode(zeros, [None] * (1 + len(self.upper_decoders)))

    def _step(self, encoded: Tensor, keys: Tensor, padding: Tensor, state: State) -> State:
        query = self.attend_decoder(state[-1][0]).unsqueeze(1)
        scores = self.attend_score(torch.tanh(keys + query)).squeeze(2)  # (rows, source_length + 1)
        attention = scores.masked_fill(padding, -torch.inf).softmax(dim=1)
        attended = torch.bmm(attention.unsqueeze(1).to(encoded.dtype), encoded).squeeze(1)
        return self._decode(attended, state)

    def _decode(self, inputs: Tensor, state: Iterable[tuple[Tensor, Tensor] | None]) -> State:
        """Run one step of all decoder layers; None is a state of zeros."""
        new_state: State = []
        for cell, old in zip((self.decoder, *self.upper_decoders), state, strict=True):
            new_state.append(cell(inputs, old))
            inputs = new_state[-1][0]
        return new_state

    def _append_end(self, strings: Tensor, name: str) -> Tensor:
        """Check strings and append the end to each, in a matrix with an additional column."""
        if strings.ndim != 2:
            raise ValueError(
                f"AttentionSeq2Seq: {name} must be a matrix with one string in each row, got shape "
                f"{tuple(strings.shape)}."
            )
        mask = strings >= 0
        if bool((mask[:, 1:] & ~mask[:, :-1]).any()):
            raise ValueError(f"AttentionSeq2Seq: {name} must be padded on the right only, got padding before a symbol.")
        if strings.device.type == "cpu" and strings.numel() and int(strings.max()) >= self.num_symbols:
            raise ValueError(
                f"AttentionSeq2Seq: {name} must contain symbols 0 to {self.num_symbols - 1} and negative padding, "
                f"got {int(strings.max())}."
            )
        if strings.device.type == "cpu" and bool((strings == self.end).any()):
            raise ValueError(
                f"AttentionSeq2Seq: {name} must be without the end symbol {self.end}, which is appended to each string."
            )
        lengths = mask.sum(dim=1, keepdim=True)
        padded = functional.pad(strings.masked_fill(~mask, -1), (0, 1), value=-1)
        return padded.scatter(1, lengths, self.end)

    def extra_repr(self) -> str:
        """Describe the module in ``repr``."""
        return f"{self.num_symbols}, end={self.end}"
