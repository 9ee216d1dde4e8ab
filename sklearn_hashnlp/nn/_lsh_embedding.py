"""Vectors of words from tables whose rows are found by the words' own projections."""

from __future__ import annotations

import torch
from torch import Tensor, nn


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
