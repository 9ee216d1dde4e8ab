"""NgramHashEmbedding: a vector for each token of a sequence, from the n-grams that end there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from sklearn_hashnlp._constraints import check_parameters, integer, one_of
from sklearn_hashnlp.kernels.embeddings._bags import NO_BAG_NORM, BagLayout
from sklearn_hashnlp.kernels.embeddings._hash_ids import IMPROVED, STANDARD
from sklearn_hashnlp.kernels.embeddings._ngram_rows import NgramRows, locate_ngrams
from sklearn_hashnlp.nn._compiled_bag import CompiledBag
from sklearn_hashnlp.nn._tensors import CheckedState, is_readable, kernels_apply, lazy_zeros
from sklearn_hashnlp.nn.ngrams._scheme import NgramScheme, Scheme

Mode: TypeAlias = Literal["sum", "concat"]


class History(NamedTuple):
    """The tokens before the next one."""

    ids: Tensor  # (batch, n): up to one less than the largest order
    starts: Tensor  # (batch, n): where a history starts


class NgramHashEmbedding(CheckedState):
    """Embed each token of a sequence by the n-grams that end there, hashed to rows of tables.

    For each order n and head, the last n tokens are hashed to a row of a table, and the vector of
    the token is the sum of these rows, or a projection of their concatenation. There is no
    vocabulary of n-grams: n-grams that collide share a row. Added to token embeddings, it gives a
    language model a memory of local patterns [1]_ [2]_ [3]_. Its cost does not depend on the number
    of rows.

    An n-gram that would start before the sequence, reach over a boundary or contain padding does
    not exist and adds nothing. All tables are initially zero, so that adding the layer to a trained
    model does not change it.

    Parameters
    ----------
    num_embeddings : int or sequence of int
        Rows of each table, or of all tables, for each order its heads. With a published ``scheme``
        an int gives the first prime numbers from there on, as heads then differ by the number of
        rows alone.
    embedding_dim : int
        Size of the vectors.
    orders : sequence of int, default=(2, 3)
        Lengths n of the n-grams, ascending. 1 is the token itself.
    num_heads : int, default=1
        Tables of each order.
    num_hashes : int, default=1
        Rows of an n-gram in a table, which are summed; k of hash embeddings.
    importance : bool, default=False
        Whether each of the ``num_hashes`` rows is multiplied by a trainable importance weight of
        the n-gram, as in :class:`HashEmbedding`; there are as many rows of weights as rows of
        vectors.
    signs : bool, default=False
        Whether the rows of an n-gram are multiplied by a hashed sign, so that collisions cancel on
        average.
    mode : {"sum", "concat"}, default="sum"
        ``"sum"``: the rows have ``embedding_dim`` columns and are summed. ``"concat"``: the rows of
        the tables share ``embedding_dim`` columns; they are concatenated and multiplied by a square
        matrix.
    scheme : {"multiply_shift", "multiplicative_xor"} or ("polynomial", int), \
            default="multiply_shift"
        The hash functions. ``"multiply_shift"``: the tokens are mixed to 64 bits by SplitMix64, and
        each row is selected by a separate function of the universal family of
        :class:`HashEmbedding`. ``"multiplicative_xor"`` [1]_: the exclusive or of the products of
        tokens and odd numbers, one for each distance, modulo the rows. ``("polynomial", base)``
        [2]_: the sum of token times base to the power of its distance, modulo the rows; the base is
        the size of the vocabulary, which ids must not reach.
    boundary : int, default=None
        The id of a start token: n-grams may start with it, but do not reach over it. Where
        documents have no such token, ``forward`` accepts a boolean mask.
    padding_idx : int, default=None
        The id whose vector is zero and that is in no n-gram. If it is also the boundary, it is
        padding.
    seed : int, default=0
        Seed of the hash functions.
    sparse : bool, default=True
        Whether gradients of the tables are sparse tensors: compiled kernels compute them on the
        CPU, and the cost of a step with the optimizers of :mod:`sklearn_hashnlp.optim` does not
        depend on the size of the tables.
    device, dtype : default=None
        Device and dtype of the tables.

    Attributes
    ----------
    weight : Parameter of shape (n_rows, n_columns)
        The rows of all tables, by order and head. Zeros on the CPU take no memory until they are
        trained.
    importance : Parameter of shape (n_rows, num_hashes) or None
        The importance weights, initially 1.
    projection : torch.nn.Linear or None
        The matrix of ``mode="concat"``.

    See Also
    --------
    HashEmbedding : Embed single ids.

    References
    ----------
    .. [1] Cheng et al. (2026). Conditional memory via scalable lookup: a new axis of sparsity for
           large language models. arXiv:2601.07372.
    .. [2] LongCat-Flash-Lite, technical report (2026). arXiv:2601.21204, equation 2.
    .. [3] Svenstrup, Hansen & Winther (2017). Hash embeddings for efficient word representations.
           NIPS.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import NgramHashEmbedding
    >>> memory = NgramHashEmbedding(100_003, 32, orders=(2, 3), num_heads=2)
    >>> ids = torch.tensor([[5, 8, 5, 8, 1]])
    >>> memory(ids).shape
    torch.Size([1, 5, 32])

    In generation, one token at a time gives the same vectors:

    >>> state = None
    >>> for token in ids.T:
    ...     vectors, state = memory.step(token, state)
    >>> vectors.shape
    torch.Size([1, 32])
    """

    importance: nn.Parameter | None

    def __init__(
        self,
        num_embeddings: int | Sequence[int],
        embedding_dim: int,
        *,
        orders: Sequence[int] = (2, 3),
        num_heads: int = 1,
        num_hashes: int = 1,
        importance: bool = False,
        signs: bool = False,
        mode: Mode = "sum",
        scheme: Scheme = "multiply_shift",
        boundary: int | None = None,
        padding_idx: int | None = None,
        seed: int = 0,
        sparse: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        spec = NgramScheme.of(
            num_embeddings,
            scheme,
            orders=orders,
            num_heads=num_heads,
            num_hashes=num_hashes,
            importance=importance,
            signs=signs,
            boundary=boundary,
            padding_idx=padding_idx,
            seed=seed,
        )
        constraints = {"embedding_dim": integer(), "mode": one_of("sum", "concat")}
        check_parameters("NgramHashEmbedding", constraints, locals())
        if mode == "concat" and embedding_dim % spec.n_tables:
            raise ValueError(
                "NgramHashEmbedding(mode='concat'): embedding_dim must be a multiple of "
                f"{spec.n_tables}, the number of tables, got {embedding_dim}."
            )
        self.spec = spec
        self.embedding_dim = int(embedding_dim)
        self.mode = mode
        self.sparse = sparse
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        shape = sum(spec.sizes), self.n_columns
        self.weight = nn.Parameter(lazy_zeros(shape, **place))
        self.importance = (
            nn.Parameter(torch.ones(shape[0], num_hashes, **place)) if importance else None
        )
        dim = self.embedding_dim
        self.projection = nn.Linear(dim, dim, bias=False, **place) if mode == "concat" else None

    @property
    def n_columns(self) -> int:
        """Columns of a row."""
        return self.embedding_dim // (self.spec.n_tables if self.mode == "concat" else 1)

    def reset_parameters(self) -> None:
        """Initialize the tables, and the matrix of ``mode="concat"``."""
        nn.init.zeros_(self.weight)
        if self.importance is not None:
            nn.init.ones_(self.importance)
        if self.projection is not None:
            self.projection.reset_parameters()

    def forward(self, ids: Tensor, starts: Tensor | None = None) -> Tensor:
        """Return the vector of each token, of shape (batch, time, embedding_dim).

        Parameters
        ----------
        ids : Tensor of shape (batch, time), dtype int64 or int32
            Token ids, which must not be negative.
        starts : Tensor of shape (batch, time), dtype bool, default=None
            True for tokens that start a new history, such as the first token of a document in a
            packed sequence.
        """
        self._check(ids, starts, 2)
        return self._embed(ids, starts, 0)

    def step(
        self, ids: Tensor, state: History | None = None, starts: Tensor | None = None
    ) -> tuple[Tensor, History]:
        """Return the vectors of the next tokens, and the state for the tokens after them.

        Parameters
        ----------
        ids : Tensor of shape (batch,) or (batch, time), dtype int64 or int32
            The next token of each sequence, or several.
        state : tuple, default=None
            The state that the last call returned; None at the start of sequences.
        starts : Tensor of the shape of ``ids``, dtype bool, default=None
            As in :meth:`forward`.

        Returns
        -------
        vectors : Tensor of shape (batch, embedding_dim) or (batch, time, embedding_dim)
            The vectors that :meth:`forward` returns for these tokens of the whole sequences.
        state : tuple of Tensor
            The last tokens, for the next call: tensors with a row per sequence.
        """
        self._check(ids, starts, 1, 2)
        new_ids = ids.unsqueeze(1) if ids.dim() == 1 else ids
        new_starts = (
            torch.zeros_like(new_ids, dtype=torch.bool)
            if starts is None
            else starts.view_as(new_ids)
        )
        if state is None:
            state = History(new_ids[:, :0], new_starts[:, :0])
        if state[0].shape[0] != len(new_ids):
            raise ValueError(
                f"NgramHashEmbedding: state has {state[0].shape[0]} sequences, but ids has "
                f"{len(new_ids)}. Pass None at the start of sequences, and select the same rows of "
                "both."
            )
        window = History(
            torch.cat([state[0], new_ids], dim=1), torch.cat([state[1], new_starts], dim=1)
        )
        vectors = self._embed(*window, state[0].shape[1])
        kept = self.spec.max_order - 1
        first = max(window.ids.shape[1] - kept, 0)
        state = History(window.ids[:, first:], window.starts[:, first:])
        return vectors.squeeze(1) if ids.dim() == 1 else vectors, state

    def _check(self, ids: Tensor, starts: Tensor | None, *n_axes: int) -> None:
        if not isinstance(ids, Tensor) or ids.dtype not in (torch.int32, torch.int64):
            got = ids.dtype if isinstance(ids, Tensor) else f"{ids!r:.60}"
            raise TypeError(
                f"NgramHashEmbedding: ids must be a tensor of dtype int64 or int32, got {got}."
            )
        if ids.dim() not in n_axes:
            shape = "(batch, time)" if 1 not in n_axes else "(batch,) or (batch, time)"
            raise ValueError(
                f"NgramHashEmbedding: ids must have shape {shape}, got {tuple(ids.shape)}."
            )
        if starts is not None and (starts.shape != ids.shape or starts.dtype != torch.bool):
            raise ValueError(
                "NgramHashEmbedding: starts must have dtype bool and the shape of ids, "
                f"{tuple(ids.shape)}, got {starts.dtype} and {tuple(starts.shape)}."
            )
        if ids.numel() and is_readable(ids):  # on other devices the check would wait for the device
            smallest, largest = (int(end) for end in torch.aminmax(ids))
            if smallest < 0 or largest > self.spec.max_id:
                raise ValueError(
                    f"NgramHashEmbedding: ids must be from 0 to {self.spec.max_id} with "
                    f"scheme={self.spec.scheme!r}, got {smallest} to {largest}."
                )

    def _embed(self, ids: Tensor, starts: Tensor | None, first: int) -> Tensor:
        if self._is_compiled(ids):
            vectors = sum_rows_of(self.weight, self.importance, self._rows_of(ids, starts, first))
        else:
            vectors = self._embed_by_torch(ids, starts, first)
        vectors = vectors.view(len(ids), ids.shape[1] - first, self.embedding_dim)
        return vectors if self.projection is None else self.projection(vectors)

    def _is_compiled(self, ids: Tensor) -> bool:
        # Compiled kernels have sparse gradients, and first derivatives only.
        return (
            (self.sparse or not torch.is_grad_enabled())
            and kernels_apply(self.weight)
            and is_readable(ids)
        )

    def _embed_by_torch(self, ids: Tensor, starts: Tensor | None, first: int) -> Tensor:
        slots, exists, rows, signs = self.spec.locate(ids, starts, first)
        # (batch, time, n_tables, k, n_columns)
        parts = functional.embedding(slots, self.weight, sparse=self.sparse)
        factors = exists.to(parts.dtype)
        if signs is not None:
            factors = factors * signs
        if self.importance is None:
            vectors = parts.sum(dim=3) * factors.unsqueeze(-1)
        else:
            weights = functional.embedding(
                rows, self.importance, sparse=self.sparse
            ) * factors.unsqueeze(-1)
            vectors = (parts * weights.unsqueeze(-1)).sum(dim=3)
        return vectors.sum(dim=2) if self.mode == "sum" else vectors.flatten(2)

    def _rows_of(self, ids: Tensor, starts: Tensor | None, first: int) -> NgramRows:
        mask = np.empty((0, 0), dtype=np.bool_) if starts is None else starts.contiguous().numpy()
        array = ids.to(torch.int64).contiguous().numpy()
        ngrams = locate_ngrams(array, mask, first, self.mode == "concat", self.spec.tables)
        n_hashes = self.spec.num_hashes
        if self.spec.importance or n_hashes == 1:
            return ngrams
        # Each row that an n-gram is hashed to becomes a value of its own.
        signs, slots = np.repeat(ngrams.signs, n_hashes), ngrams.slots.reshape(-1, 1)
        return NgramRows(signs, ngrams.rows, slots, ngrams.offsets * n_hashes)

    def get_extra_state(self) -> Tensor:
        """Return the tables and hash functions, for ``state_dict``."""
        return torch.frombuffer(bytearray(self.spec.to_json(), "utf-8"), dtype=torch.uint8)

    def set_extra_state(self, state: Tensor) -> None:
        """Check that a state was saved with these tables and hash functions."""
        self.spec.check_saved(bytes(state.tolist()).decode())

    def extra_repr(self) -> str:
        """Describe the module in ``repr``."""
        spec = self.spec
        scheme = repr(spec.scheme) if not spec.base else f"({spec.scheme!r}, {spec.base})"
        text = (
            f"{spec.n_tables} tables with {sum(spec.sizes)} rows together, {self.embedding_dim}, "
        )
        text += f"orders={spec.orders}, num_heads={spec.num_heads}, num_hashes={spec.num_hashes}, "
        text += f"importance={spec.importance}, signs={spec.signs}, mode={self.mode!r}, "
        text += f"scheme={scheme}, "
        return f"{text}boundary={spec.boundary}, padding_idx={spec.padding_idx}, seed={spec.seed}"


def sum_rows_of(table: Tensor, importance: Tensor | None, ngrams: NgramRows) -> Tensor:
    """Sum the rows of the n-grams in each bag, by compiled kernels."""
    layout = BagLayout(STANDARD if importance is None else IMPROVED, False, False, NO_BAG_NORM)
    needs_backward = torch.is_grad_enabled() and (
        table.requires_grad or (importance is not None and importance.requires_grad)
    )
    signs = torch.from_numpy(ngrams.signs).to(table.dtype)
    arguments = signs, ngrams.rows, ngrams.slots, ngrams.offsets, layout
    return CompiledBag.apply(table, importance, *arguments, needs_backward)  # type: ignore[no-any-return, no-untyped-call]
