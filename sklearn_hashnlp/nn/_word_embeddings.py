"""Word embeddings: a table, a projected table, and locality-sensitive hashing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from sklearn_hashnlp.kernels._rows import sum_rows


class WordTable(nn.Embedding):
    """:class:`torch.nn.Embedding`, but for its sparse gradient on the CPU."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        *,
        sparse: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, sparse=sparse, device=device, dtype=dtype)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name for it
        """Look up vectors."""
        if (
            self.sparse
            and not torch.compiler.is_compiling()
            and not torch._C._are_functorch_transforms_active()
            and self.weight.device.type == "cpu"
            and self.weight.dtype in (torch.float32, torch.float64)
        ):
            vectors: Tensor = _Lookup.apply(self.weight, input)  # type: ignore[no-untyped-call]  # torch's, without types
            return vectors
        return functional.embedding(input, self.weight, sparse=self.sparse)


class _Lookup(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor) -> Tensor:
        ctx.save_for_backward(ids)  # torch notices when they are changed before the way back
        ctx.shape = table.shape
        return functional.embedding(ids, table)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        ids, values = ctx.saved_tensors[0].reshape(-1), gradient.reshape(-1, ctx.shape[1])
        if torch.is_grad_enabled():  # the gradient is to be differentiated itself
            return gradient.new_zeros(ctx.shape).index_add(0, ids, values), None
        rows, sums = sum_rows(ids.numpy().astype(np.int32), values.detach().contiguous().numpy(), ctx.shape[0])
        indices = torch.from_numpy(rows).unsqueeze(0)
        return torch.sparse_coo_tensor(
            indices, torch.from_numpy(sums), ctx.shape, device="cpu", is_coalesced=True, check_invariants=False
        ), None


_STD = 0.1  # of a fresh vector's elements, as of a table's


class ProjectedEmbedding(nn.Module):
    """Return a word the vector that a learned linear layer makes of its bits, taken as signs."""

    signs_of_byte: Tensor

    def __init__(self, n_bits: int, embedding_dim: int) -> None:
        super().__init__()
        for name, value in (("n_bits", n_bits), ("embedding_dim", embedding_dim)):
            if value < 1:
                raise ValueError(f"ProjectedEmbedding: {name} must be 1 or more, got {value}.")
        self.n_bits = n_bits
        self.linear = nn.Linear(n_bits, embedding_dim, bias=False)
        nn.init.normal_(self.linear.weight, std=_STD)
        bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1)
        signs = (2 * bits.astype(np.float32) - 1) / np.float32(math.sqrt(n_bits))
        self.register_buffer("signs_of_byte", torch.from_numpy(signs), persistent=False)

    def forward(
        self,
        words: Tensor,  # (..., 1 + ceil(n_bits / 64)
    ) -> Tensor:  # (..., embedding_dim)
        """Make vectors; on the CPU, of each word once."""
        width = 1 + -(-self.n_bits // 64)
        if words.shape[-1] != width:
            raise ValueError(
                f"ProjectedEmbedding: words must have an id and {self.n_bits} bits in {width} numbers of 64 bits each, "
                f"got {words.shape[-1]}."
            )
        rows = words.reshape(-1, width)
        different, places = (rows, None) if rows.device.type != "cpu" else _distinct(rows)
        packed = different[:, 1:].contiguous().view(torch.uint8)
        signs = functional.embedding(packed.int(), self.signs_of_byte).flatten(1)[:, : self.n_bits]
        vectors: Tensor = self.linear(signs)
        if places is not None:
            vectors = functional.embedding(places, vectors)
        return vectors.view(*words.shape[:-1], -1)


def _distinct(rows: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return rows with different ids, and where each row is among them; all, if two words share an id."""
    array = rows.numpy()
    _, firsts, places = np.unique(array[:, 0], return_index=True, return_inverse=True)
    different = array[firsts]
    if not np.array_equal(different[places], array):
        return rows, None
    return torch.from_numpy(different), torch.from_numpy(places)


class LSHEmbedding(nn.Module):
    """Give a word the sum of the rows that the bits of its projection point to.

    The first ``n_tables * table_bits`` bits of a projection are read as ``n_tables`` numbers. Each is a bucket of
    locality-sensitive hashing [1]_, and a row of one table. Two words of angle a share a bucket with probability
    (1 - a / pi)^table_bits: words that are spelled nearly alike share most rows, and words that are not share none, so
    that each can have a vector of its own although there is no list of words. A linear layer over the same bits has too
    few numbers for that.

    Parameters
    ----------
    n_tables : int
        Rows of a word.
    table_bits : int
        Bits that point to a row; a table has ``2 ** table_bits`` rows.
    embedding_dim : int
        Length of a vector.

    Attributes
    ----------
    tables : torch.nn.EmbeddingBag
        All tables, one below the other, with sparse gradients. They start as zeros.

    Raises
    ------
    ValueError
        If a number is not positive, or a table would have more than 2^31 rows.

    References
    ----------
    .. [1] Charikar (2002). Similarity estimation techniques from rounding algorithms. STOC, section 3.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import LSHEmbedding
    >>> LSHEmbedding(n_tables=2, table_bits=3, embedding_dim=16)(torch.randn(5, 40)).shape
    torch.Size([5, 16])
    """

    def __init__(self, n_tables: int, table_bits: int, embedding_dim: int) -> None:
        super().__init__()
        for name, value in (("n_tables", n_tables), ("table_bits", table_bits), ("embedding_dim", embedding_dim)):
            if value < 1:
                raise ValueError(f"LSHEmbedding: {name} must be 1 or more, got {value}.")
        if table_bits > 31:
            raise ValueError(f"LSHEmbedding: table_bits must be 31 or less, got {table_bits}.")
        self.n_tables, self.table_bits = n_tables, table_bits
        self.tables = nn.EmbeddingBag(n_tables << table_bits, embedding_dim, mode="sum", sparse=True)
        nn.init.zeros_(self.tables.weight)

    def forward(self, projections: Tensor) -> Tensor:
        """Sum up rows.

        Parameters
        ----------
        projections : Tensor of shape (n_words, n_features), dtype uint8 or floating
            Bits, 0 and 1, or sums, whose bit is whether they are positive.

        Returns
        -------
        Tensor of shape (n_words, embedding_dim)
            The vectors.

        Raises
        ------
        ValueError
            If there are fewer than ``n_tables * table_bits`` columns.
        """
        vectors: Tensor = self.tables(self.buckets(projections))
        return vectors

    def buckets(self, projections: Tensor) -> Tensor:
        """Tell which rows a word has.

        Parameters
        ----------
        projections : Tensor of shape (n_words, n_features)
            As :meth:`forward` takes them.

        Returns
        -------
        Tensor of shape (n_words, n_tables), dtype int64
            Row numbers. The first bit of a table counts most.

        Raises
        ------
        ValueError
            As there.
        """
        n_bits = self.n_tables * self.table_bits
        if projections.shape[1] < n_bits:
            raise ValueError(
                f"LSHEmbedding: {self.n_tables} tables of {self.table_bits} bits need projections of {n_bits} columns "
                f"or more, got {projections.shape[1]}. Take fewer or smaller tables."
            )
        bits = (projections[:, :n_bits] > 0).reshape(-1, self.n_tables, self.table_bits)
        places = torch.arange(self.table_bits - 1, -1, -1, device=bits.device)
        first = torch.arange(self.n_tables, device=bits.device) << self.table_bits
        return (bits << places).sum(dim=2) + first

    def extra_repr(self) -> str:
        """Describe the module in ``repr``.

        Returns
        -------
        str
            Its numbers.
        """
        return f"n_tables={self.n_tables}, table_bits={self.table_bits}"
