"""NgramHashEmbedding: a vector for each token of a sequence, from the n-grams that end there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from sklearn_hashnlp._threads import run_in_background
from sklearn_hashnlp.kernels.embeddings._bags import NO_BAG_NORM, BagLayout
from sklearn_hashnlp.kernels.embeddings._hash_ids import IMPROVED, STANDARD
from sklearn_hashnlp.kernels.embeddings._ngram_rows import locate_ngrams
from sklearn_hashnlp.nn._compiled_bag import CompiledBag
from sklearn_hashnlp.nn._tensors import check_minimum, is_readable, kernels_apply, lazy_zeros
from sklearn_hashnlp.nn.ngrams._scheme import NgramScheme, Scheme, counts_to_offsets
from sklearn_hashnlp.nn.ngrams._table_file import TableFile, TableRows, write_table

Mode: TypeAlias = Literal["sum", "concat"]


class History(NamedTuple):
    """The tokens before the next one."""

    ids: Tensor  # (batch, n): up to one less than the largest order
    starts: Tensor  # (batch, n): where a history starts


class NgramHashEmbedding(nn.Module):
    """Embed each token of a sequence by the n-grams that end there, hashed to rows of tables.

    For each order n and head, the last n tokens are hashed to a row of a table, and the vector of the token is the sum
    of these rows, or a projection of their concatenation. There is no vocabulary of n-grams: n-grams that collide share
    a row. Added to token embeddings, or to hidden states by :class:`NgramMemory`, it gives a language model a memory of
    local patterns [1]_ [2]_ [3]_. Its cost does not depend on the number of rows.

    An n-gram that would begin before the sequence, reach over a boundary or contain padding does not exist and adds
    nothing. All tables are zero at first, so that adding the layer to a trained model does not change it.

    Parameters
    ----------
    num_embeddings : int or sequence of int
        Rows of each table, or of all tables, for each order its heads. With a published ``scheme`` an int gives the
        first prime numbers from there on, as heads then differ by the number of rows alone.
    embedding_dim : int
        Size of the vectors.
    orders : sequence of int, default=(2, 3)
        Lengths n of the n-grams, ascending. 1 is the token itself.
    num_heads : int, default=1
        Tables of each order.
    num_hashes : int, default=1
        Rows of an n-gram in a table, which are summed; k of hash embeddings.
    importance : bool, default=False
        Whether each of the ``num_hashes`` rows is multiplied by a trainable importance weight of the n-gram, as in
        :class:`HashEmbedding`; there are as many rows of weights as rows of vectors.
    signs : bool, default=False
        Whether the rows of an n-gram are multiplied by a hashed sign, so that collisions cancel on average.
    mode : {"sum", "concat"}, default="sum"
        ``"sum"``: the rows have ``embedding_dim`` columns and are summed. ``"concat"``: the rows of the tables share
        ``embedding_dim`` columns; they are concatenated and multiplied by a square matrix.
    scheme : {"multiply_shift", "multiplicative_xor"} or ("polynomial", int), default="multiply_shift"
        The hash functions. ``"multiply_shift"``: the tokens are mixed to 64 bits by SplitMix64, and each row is
        selected by a separate function of the universal family of :class:`HashEmbedding`. ``"multiplicative_xor"``
        [1]_: the exclusive or of the products of tokens and odd numbers, one for each distance, modulo the rows.
        ``("polynomial", base)`` [2]_: the sum of token times base to the power of its distance, modulo the rows; the
        base is the size of the vocabulary, which ids must not reach.
    boundary : int, default=None
        The id that starts a new history, such as that of a start token: n-grams may begin with it.
    padding_idx : int, default=None
        The id whose vector is zero and that is in no n-gram. If it is also the boundary, it is padding.
    seed : int, default=0
        Seed of the hash functions.
    sparse : bool, default=True
        Whether gradients of the tables are sparse tensors: the cost of a step with the optimizers of
        :mod:`sklearn_hashnlp.optim` then does not depend on the size of the tables.
    device, dtype : default=None
        Device and dtype of the tables.

    Attributes
    ----------
    weight : Parameter of shape (n_rows, n_columns)
        The rows of all tables, by order and head. Zeros on the CPU take no memory until they are trained.
    importance : Parameter of shape (n_rows, num_hashes) or None
        The importance weights, initially 1.
    projection : torch.nn.Linear or None
        The matrix of ``mode="concat"``.

    See Also
    --------
    NgramMemory : Add the vectors to hidden states, through a gate.
    HashEmbedding : Embed single ids.

    References
    ----------
    .. [1] Cheng et al. (2026). Conditional memory via scalable lookup: a new axis of sparsity for large language
           models. arXiv:2601.07372.
    .. [2] Liu et al. (2026). Scaling embeddings outperforms scaling experts in language models. arXiv:2601.21204,
           equation 2.
    .. [3] Svenstrup, Hansen & Winther (2017). Hash embeddings for efficient word representations. NIPS.

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

    weight: nn.Parameter  # None if the rows are in a file
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
        check_minimum("NgramHashEmbedding", embedding_dim=embedding_dim)
        self._set(spec, embedding_dim, mode, sparse)
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        shape = sum(spec.sizes), self.n_columns
        self.weight = nn.Parameter(lazy_zeros(shape, **place))
        self.importance = nn.Parameter(torch.ones(shape[0], num_hashes, **place)) if importance else None
        self.projection = nn.Linear(embedding_dim, embedding_dim, bias=False, **place) if mode == "concat" else None

    def _set(self, spec: NgramScheme, embedding_dim: int, mode: Mode, sparse: bool) -> None:
        if mode not in ("sum", "concat"):
            raise ValueError(f"NgramHashEmbedding: mode must be 'sum' or 'concat', got {mode!r}.")
        if mode == "concat" and embedding_dim % spec.n_tables:
            raise ValueError(
                f"NgramHashEmbedding(mode='concat'): embedding_dim must be a multiple of {spec.n_tables}, the number "
                f"of tables, got {embedding_dim}."
            )
        self.spec = spec
        self.embedding_dim = embedding_dim
        self.mode = mode
        self.sparse = sparse
        self.file: TableFile | None = None
        self._prefetched: tuple[Tensor, Tensor | None, Future[TableRows]] | None = None

    @property
    def n_columns(self) -> int:
        """Columns of a row."""
        return self.embedding_dim // (self.spec.n_tables if self.mode == "concat" else 1)

    def forward(self, ids: Tensor, starts: Tensor | None = None) -> Tensor:
        """Return the vector of each token, of shape (batch, time, embedding_dim).

        Parameters
        ----------
        ids : Tensor of shape (batch, time), dtype int64 or int32
            Token ids, which must not be negative.
        starts : Tensor of shape (batch, time), dtype bool, default=None
            True for tokens that start a new history, such as the first token of a document in a packed sequence.
        """
        self._check(ids, starts, 2)
        return self._embed(ids, starts, 0)

    def step(self, ids: Tensor, state: History | None = None, starts: Tensor | None = None) -> tuple[Tensor, History]:
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
            The last tokens, for the next call.
        """
        self._check(ids, starts, 1, 2)
        new_ids = ids.unsqueeze(1) if ids.dim() == 1 else ids
        new_starts = torch.zeros_like(new_ids, dtype=torch.bool) if starts is None else starts.view_as(new_ids)
        if state is None:
            state = History(new_ids[:, :0], new_starts[:, :0])
        if state[0].shape[0] != len(new_ids):
            raise ValueError(
                f"NgramHashEmbedding: state has {state[0].shape[0]} sequences, but ids has {len(new_ids)}. Pass None "
                "at the start of sequences, and select the same rows of both."
            )
        window = History(torch.cat([state[0], new_ids], dim=1), torch.cat([state[1], new_starts], dim=1))
        vectors = self._embed(*window, state[0].shape[1])
        kept = self.spec.max_order - 1
        first = max(window.ids.shape[1] - kept, 0)
        state = History(window.ids[:, first:], window.starts[:, first:])
        return vectors.squeeze(1) if ids.dim() == 1 else vectors, state

    def _check(self, ids: Tensor, starts: Tensor | None, *n_axes: int) -> None:
        if ids.dtype not in (torch.int32, torch.int64):
            raise TypeError(f"NgramHashEmbedding: ids must have dtype int64 or int32, got {ids.dtype}.")
        if ids.dim() not in n_axes:
            shape = "(batch, time)" if 1 not in n_axes else "(batch,) or (batch, time)"
            raise ValueError(f"NgramHashEmbedding: ids must have shape {shape}, got {tuple(ids.shape)}.")
        if starts is not None and (starts.shape != ids.shape or starts.dtype != torch.bool):
            raise ValueError(
                f"NgramHashEmbedding: starts must have dtype bool and the shape of ids, {tuple(ids.shape)}, got "
                f"{starts.dtype} and {tuple(starts.shape)}."
            )
        if ids.numel() and is_readable(ids):  # on other devices the check would wait for the device
            smallest, largest = (int(end) for end in torch.aminmax(ids))
            if smallest < 0 or largest > self.spec.max_id:
                raise ValueError(
                    f"NgramHashEmbedding: ids must be from 0 to {self.spec.max_id} with scheme={self.spec.scheme!r}, "
                    f"got {smallest} to {largest}."
                )

    def _embed(self, ids: Tensor, starts: Tensor | None, first: int) -> Tensor:
        if self.file is not None:
            vectors = self._embed_from_file(ids, starts, first)
        elif kernels_apply(self.weight) and is_readable(ids):
            bags = self._bags(ids, starts, first)
            vectors = self._sum(self.weight, *bags)
        else:
            vectors = self._embed_by_torch(ids, starts, first)
        vectors = vectors.view(len(ids), ids.shape[1] - first, self.embedding_dim)
        return vectors if self.projection is None else self.projection(vectors)

    def _embed_by_torch(self, ids: Tensor, starts: Tensor | None, first: int) -> Tensor:
        slots, exists, rows, signs = self.spec.locate(ids, starts, first)
        parts = functional.embedding(slots, self.weight, sparse=self.sparse)  # (batch, time, n_tables, k, n_columns)
        factors = exists.to(parts.dtype)
        if signs is not None:
            factors = factors * signs
        if self.importance is None:
            vectors = parts.sum(dim=3) * factors.unsqueeze(-1)
        else:
            weights = functional.embedding(rows, self.importance, sparse=self.sparse) * factors.unsqueeze(-1)
            vectors = (parts * weights.unsqueeze(-1)).sum(dim=3)
        return vectors.sum(dim=2) if self.mode == "sum" else vectors.flatten(2)

    def _bags(self, ids: Tensor, starts: Tensor | None, first: int) -> tuple[Any, ...]:
        """Return the arguments of the compiled sum: signs, rows, slots and offsets."""
        mask = np.empty((0, 0), dtype=np.bool_) if starts is None else starts.contiguous().numpy()
        ngrams = locate_ngrams(ids.to(torch.int64).contiguous().numpy(), mask, first, self.spec.tables)
        offsets = counts_to_offsets(ngrams.counts, self.spec.n_tables if self.mode == "sum" else 1)
        signs, slots = ngrams.signs, ngrams.slots
        if self.importance is None and slots.shape[1] > 1:  # each row of an n-gram is a value
            signs, offsets = np.repeat(signs, slots.shape[1]), offsets * slots.shape[1]
            slots = slots.reshape(-1, 1)
        return signs, ngrams.rows, slots, offsets

    def _sum(self, table: Tensor, signs: Any, rows: Any, slots: Any, offsets: Any) -> Tensor:
        layout = BagLayout(STANDARD if self.importance is None else IMPROVED, False, False, NO_BAG_NORM)
        arguments = torch.from_numpy(signs).to(table.dtype), rows, slots, offsets, layout
        options = self.sparse, torch.is_grad_enabled()
        return CompiledBag.apply(table, self.importance, *arguments, options)  # type: ignore[no-any-return, no-untyped-call]

    def get_extra_state(self) -> Tensor:
        """Return the tables and hash functions, for ``state_dict``."""
        return torch.frombuffer(bytearray(self.spec.to_json(), "utf-8"), dtype=torch.uint8)

    def set_extra_state(self, state: Tensor) -> None:
        """Check that a state was saved with these tables and hash functions."""
        self.spec.check_saved(bytes(state.tolist()).decode())

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        # torch sets the extra state last, after overwriting the tables.
        if (state := state_dict.get(f"{prefix}_extra_state")) is not None:
            self.set_extra_state(state)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def save_table(
        self, path: str | os.PathLike[str], dtype: Literal["float32", "float16", "int8"] = "float32"
    ) -> None:
        """Write the layer to a safetensors file, for :meth:`from_file`.

        Parameters
        ----------
        path : str or path-like
            The file, which is replaced as a whole once it is written.
        dtype : {"float32", "float16", "int8"}, default="float32"
            Dtype of the rows; int8 rows begin with the float32 number by which they are multiplied.
        """
        if self.file is not None:
            raise ValueError("NgramHashEmbedding: the rows are in a file already; copy the file.")
        others = {name: value for name, value in self.state_dict().items() if name not in ("weight", "_extra_state")}
        description = {"scheme": self.spec.to_json(), "embedding_dim": str(self.embedding_dim), "mode": self.mode}
        write_table(
            path, self.weight, {name: value.cpu().float() for name, value in others.items()}, description, dtype
        )

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Return a layer with rows that stay in a file and are read when they are needed.

        The file is mapped into memory, and its pages are shared by processes. The rows are not trained.

        Parameters
        ----------
        path : str or path-like
            A file that :meth:`save_table` wrote.
        """
        file = TableFile(path)
        layer = cls.__new__(cls)
        nn.Module.__init__(layer)
        spec = NgramScheme.from_json(file.description["scheme"])
        layer._set(spec, int(file.description["embedding_dim"]), file.description["mode"], False)
        layer.file = file
        layer.register_parameter("weight", None)
        others = {name: nn.Parameter(torch.from_numpy(array)) for name, array in file.others.items()}
        layer.importance = others.get("importance")
        layer.projection = None
        if layer.mode == "concat":
            layer.projection = nn.Linear(layer.embedding_dim, layer.embedding_dim, bias=False)
            layer.projection.weight = others["projection.weight"]
        return layer

    def prefetch(self, ids: Tensor, starts: Tensor | None = None) -> None:
        """Read the rows of the next call of :meth:`forward` on another thread; only of a layer from a file."""
        self._check(ids, starts, 2)
        if self.file is not None:
            own = ids.clone(), None if starts is None else starts.clone()  # the caller may fill them with other ids
            self._prefetched = *own, run_in_background(self._read, *own, 0)

    def _read(self, ids: Tensor, starts: Tensor | None, first: int) -> TableRows:
        assert self.file is not None
        bags = self._bags(ids.cpu(), None if starts is None else starts.cpu(), first)
        return self.file.read(*bags)

    def _embed_from_file(self, ids: Tensor, starts: Tensor | None, first: int) -> Tensor:
        prefetched, self._prefetched = self._prefetched, None
        if prefetched is not None and first == 0 and _are_equal(prefetched[:2], (ids, starts)):
            read = prefetched[2].result()
        else:
            read = self._read(ids, starts, first)
        return self._sum(torch.from_numpy(read.table), read.signs, read.rows, read.slots, read.offsets).to(ids.device)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and other processes, without rows that are being read."""
        return self.__dict__ | {"_prefetched": None}

    def extra_repr(self) -> str:
        """Describe the module in ``repr``."""
        spec = self.spec
        text = f"{len(spec.sizes)} tables of {sum(spec.sizes)} rows, {self.embedding_dim}, orders={spec.orders}"
        text += f", num_heads={spec.num_heads}, num_hashes={spec.num_hashes}, importance={spec.importance}"
        text += f", signs={spec.signs}, mode={self.mode!r}, scheme={spec.scheme!r}, seed={spec.seed}"
        return text if self.file is None else f"{text}, file={str(self.file.path)!r}"


def _are_equal(tensors: tuple[Tensor | None, ...], others: tuple[Tensor | None, ...]) -> bool:
    pairs = zip(tensors, others, strict=True)
    return all(a is b is None or (a is not None and b is not None and torch.equal(a, b)) for a, b in pairs)
