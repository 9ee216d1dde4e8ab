"""NgramMemory: hashed n-grams added to the hidden states of a sequence model, through a gate."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from sklearn_hashnlp.nn._tensors import check_minimum
from sklearn_hashnlp.nn.ngrams._ngram_hash_embedding import History, NgramHashEmbedding
from sklearn_hashnlp.nn.ngrams._scheme import shifted


class MemoryState(NamedTuple):
    """The tokens and values before the next token."""

    history: History
    values: Tensor  # (batch, n, hidden_dim): inputs of the convolution
    starts: Tensor  # (batch, n): where a history starts


class NgramMemory(nn.Module):
    r"""Add hashed n-grams to the hidden states of a sequence model.

    With e_t the vector of :class:`NgramHashEmbedding` and h_t the hidden state of a token, the vector is both key and
    value, and the hidden state determines how much of the value is added [1]_. With d the ``hidden_dim``, the output is
    o_t:

    .. math::
        k_t = W_K e_t, \quad
        v_t = \sigma\left(\frac{\mathrm{norm}(h_t) \cdot \mathrm{norm}(k_t)}{\sqrt{d}}\right) W_V e_t

    .. math:: o_t = h_t + v_t + \mathrm{SiLU}(\mathrm{conv}(\mathrm{norm}(v))_t)

    ``conv`` is a causal convolution of each column, initially zero, and norm the RMS norm. The output is h_t until the
    tables of the embedding, which are zero at first, are trained.

    Parameters
    ----------
    embedding : NgramHashEmbedding
        The tables; several layers may share them.
    hidden_dim : int
        Size of the hidden states.
    gate : bool, default=True
        Whether values are multiplied by the gate; False adds them as they are.
    kernel_size : int, default=4
        Taps of the convolution; 0 is no convolution.
    dilation : int, default=None
        Tokens between taps; None is the largest order of the n-grams.
    device, dtype : default=None
        Device and dtype of the layer; the embedding is not moved.

    References
    ----------
    .. [1] Cheng et al. (2026). Conditional memory via scalable lookup: a new axis of sparsity for large language
           models. arXiv:2601.07372.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import NgramHashEmbedding, NgramMemory
    >>> memory = NgramMemory(NgramHashEmbedding(10_007, 16), hidden_dim=32)
    >>> ids, hidden = torch.tensor([[5, 8, 5, 8]]), torch.randn(1, 4, 32)
    >>> torch.equal(memory(hidden, ids), hidden)  # not trained yet
    True
    """

    def __init__(
        self,
        embedding: NgramHashEmbedding,
        hidden_dim: int,
        *,
        gate: bool = True,
        kernel_size: int = 4,
        dilation: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(embedding, nn.Module):
            raise TypeError(f"NgramMemory: embedding must be an NgramHashEmbedding, got {embedding!r:.60}.")
        check_minimum("NgramMemory", hidden_dim=hidden_dim)
        check_minimum("NgramMemory", 0, kernel_size=kernel_size)
        dilation = embedding.spec.max_order if dilation is None else dilation
        check_minimum("NgramMemory", dilation=dilation)
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        self.embedding = embedding
        self.hidden_dim = hidden_dim
        self.dilation = dilation
        self.value = nn.Linear(embedding.embedding_dim, hidden_dim, bias=False, **place)
        self.key = nn.Linear(embedding.embedding_dim, hidden_dim, bias=False, **place) if gate else None
        self.hidden_norm = nn.RMSNorm(hidden_dim, **place) if gate else None
        self.key_norm = nn.RMSNorm(hidden_dim, **place) if gate else None
        self.conv = nn.Parameter(torch.zeros(kernel_size, hidden_dim, **place)) if kernel_size else None
        self.conv_norm = nn.RMSNorm(hidden_dim, **place) if kernel_size else None

    def reset_parameters(self) -> None:
        """Set the convolution to zero; the other layers have initial values of torch."""
        if self.conv is not None:
            nn.init.zeros_(self.conv)

    def forward(self, hidden: Tensor, ids: Tensor, starts: Tensor | None = None) -> Tensor:
        """Return the hidden states with the values of their n-grams, of shape (batch, time, hidden_dim).

        Parameters
        ----------
        hidden : Tensor of shape (batch, time, hidden_dim)
            The hidden states.
        ids : Tensor of shape (batch, time), dtype int64 or int32
            Token ids.
        starts : Tensor of shape (batch, time), dtype bool, default=None
            True for tokens that start a new history; neither n-grams nor the convolution reach over them.
        """
        self._check_hidden(hidden, ids)
        values = self._values(hidden, self.embedding(ids, starts))
        return hidden + self._convolve(values, self._starts(ids, starts)).to(hidden.dtype)

    def step(
        self, hidden: Tensor, ids: Tensor, state: MemoryState | None = None, starts: Tensor | None = None
    ) -> tuple[Tensor, MemoryState]:
        """Return the hidden states of the next tokens with their values, and the state for the tokens after them.

        Parameters
        ----------
        hidden : Tensor of shape (batch, hidden_dim) or (batch, time, hidden_dim)
            The hidden state of the next token of each sequence, or of several.
        ids : Tensor of shape (batch,) or (batch, time), dtype int64 or int32
            The tokens.
        state : tuple, default=None
            The state that the last call returned; None at the start of sequences. It keeps the graph of the gradients,
            unless the call is in :func:`torch.no_grad`.
        starts : Tensor of the shape of ``ids``, dtype bool, default=None
            As in :meth:`forward`.
        """
        self._check_hidden(hidden, ids)
        if ids.dim() == 1:
            mask = None if starts is None else starts.unsqueeze(1)
            outputs, state = self.step(hidden.unsqueeze(1), ids.unsqueeze(1), state, mask)
            return outputs.squeeze(1), state
        vectors, history = self.embedding.step(ids, None if state is None else state[0], starts)
        values, is_start = self._values(hidden, vectors), self._starts(ids, starts)
        if state is not None:
            values, is_start = torch.cat([state[1], values], dim=1), torch.cat([state[2], is_start], dim=1)
        added = self._convolve(values, is_start)[:, values.shape[1] - ids.shape[1] :]
        kept = 0 if self.conv is None else (len(self.conv) - 1) * self.dilation
        first = max(values.shape[1] - kept, 0)
        return hidden + added.to(hidden.dtype), MemoryState(history, values[:, first:], is_start[:, first:])

    def _check_hidden(self, hidden: Tensor, ids: Tensor) -> None:
        if hidden.shape != (*ids.shape, self.hidden_dim):
            raise ValueError(
                f"NgramMemory: hidden must have shape {(*ids.shape, self.hidden_dim)}, the shape of ids and "
                f"hidden_dim, got {tuple(hidden.shape)}."
            )

    def _starts(self, ids: Tensor, starts: Tensor | None) -> Tensor:
        boundary = self.embedding.spec.boundary
        is_start = torch.zeros_like(ids, dtype=torch.bool) if boundary is None else ids == boundary
        return is_start if starts is None else is_start | starts

    def _values(self, hidden: Tensor, vectors: Tensor) -> Tensor:
        vectors = vectors.to(self.value.weight.dtype)  # the embedding may have another one
        values: Tensor = self.value(vectors)
        if self.key is None or self.hidden_norm is None or self.key_norm is None:
            return values
        products = _normalize(hidden, self.hidden_norm) * _normalize(self.key(vectors), self.key_norm)
        product = products.sum(dim=-1, keepdim=True)
        return values * torch.sigmoid(product / math.sqrt(self.hidden_dim))

    def _convolve(self, values: Tensor, starts: Tensor) -> Tensor:
        """Add the convolution of values to them; a tap does not reach over a start."""
        if self.conv is None or self.conv_norm is None:
            return values
        normed = _normalize(values, self.conv_norm)
        segments = starts.cumsum(dim=1).unsqueeze(-1)
        total = normed * self.conv[0]
        for tap in range(1, len(self.conv)):
            distance = tap * self.dilation
            same = segments == shifted(segments, distance, fill=-1)
            total = total + shifted(normed, distance) * same * self.conv[tap]
        return values + functional.silu(total)

    def extra_repr(self) -> str:
        """Describe the module in ``repr``."""
        taps = 0 if self.conv is None else len(self.conv)
        return f"{self.hidden_dim}, gate={self.key is not None}, kernel_size={taps}, dilation={self.dilation}"


def _normalize(values: Tensor, norm: nn.RMSNorm) -> Tensor:
    """Apply a norm in the dtype of its weight, also where autocast computed the values in another one."""
    normalized: Tensor = norm(values.to(norm.weight.dtype))
    return normalized
