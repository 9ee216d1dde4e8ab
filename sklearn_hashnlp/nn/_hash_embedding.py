"""Feature ids to vectors, without a dictionary."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from sklearn_hashnlp.nn._aggregations import AGGREGATIONS
from sklearn_hashnlp.nn._hash_tables import HashTables


class HashEmbedding(HashTables):
    """Give any integer a trainable vector, from tables whose size does not depend on how many integers there are.

    A feature id w picks k component vectors from a shared pool by k hash functions and weighs them by k trainable
    importance weights that a further hash function finds:

    1. row h(w) of the importance table P (n x k) holds p_w;
    2. rows u_1(w) .. u_k(w) of the pool E (B x d) are the components;
    3. e_w = aggregate_i(p_w,i E[u_i(w)]), and p_w appended to it if asked for.

    Two ids share a vector only when they collide in h and in every u_i, so B can be far smaller than the number of
    ids. No table of slots exists: hash functions are rebuilt from ``seed``.

    Parameters
    ----------
    num_embeddings : int
        Rows of the importance table; n (or K) in the paper. Of the table itself for ``"standard"``.
    num_buckets : int
        Vectors in the shared pool; B in the paper. Ignored by ``"standard"``.
    embedding_dim : int
        Columns of a vector; d in the paper.
    num_hashes : int, default=2
        Component vectors of a feature; k in the paper. Ignored by ``"standard"``.
    variant : {"improved", "paper", "standard"}, default="improved"
        ``"improved"`` [2]_: h and every u_i hash w itself. ``"paper"`` [1]_: w is first hashed to D1(w) in [0, n), and
        importance and components are those of D1(w), so ids that share D1 share everything. ``"standard"``: the
        hashing trick, row h(w) of one table n x d, no importance.
    aggregation : {"sum", "concat", "median"}, default="sum"
        How components are joined. The median of an even number is the mean of the two middle values. Ignored by
        ``"standard"``.
    append_weight : bool, default=True
        Whether the k importance weights are appended to the vector. Ignored by ``"standard"``.
    hash_rows : bool, default=True
        Whether h hashes an id; False makes it its own row of the first table, as a dictionary's numbers are.
    seed : int, default=0
        Of the hash functions.
    pool_std : float, default=0.1
        Standard deviation of a fresh pool; 0 makes a pool of zeros, which costs no time and no memory.
    importance_init : float, default=1.0
        Every importance weight of a fresh table; 0 costs nothing either.
    sparse : bool, default=False
        Whether gradients of the tables are sparse tensors, as in :class:`torch.nn.Embedding`.
    device : torch.device or str, default=None
        Where the tables are made.
    dtype : torch.dtype, default=None
        Of the tables.

    Attributes
    ----------
    pool : Parameter of shape (num_buckets, embedding_dim)
        E in the paper; shape (num_embeddings, embedding_dim) for ``"standard"``.
    importance : Parameter of shape (num_embeddings, num_hashes) or None
        P in the paper; None for ``"standard"``.
    output_dim : int
        Columns of the result: d (k d for ``"concat"``), plus k when weights are appended.

    See Also
    --------
    HashEmbeddingBag : Sums the vectors of each document without making them one by one.

    References
    ----------
    .. [1] Svenstrup, Hansen & Winther (2017). Hash embeddings for efficient word representations. NIPS,
           arXiv:1709.03933, section 2, equations 1 and 2.
    .. [2] Dubois (2017). Hash-Embeddings, https://github.com/YannDubs/Hash-Embeddings, section "Improvements".

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import HashEmbedding
    >>> embedding = HashEmbedding(10_000, 500, 16)
    >>> embedding(torch.tensor([[3, 1_999_999_999], [7, 3]])).shape
    torch.Size([2, 2, 18])
    """

    def forward(self, ids: Tensor) -> Tensor:
        """Look up vectors.

        Parameters
        ----------
        ids : Tensor of any integer dtype and any shape (...)
            Feature ids; only the low 32 bits count.

        Returns
        -------
        Tensor of shape (..., output_dim)
            e_w for each id.

        Raises
        ------
        TypeError
            If the ids are no integers.
        ValueError
            If without ``hash_rows`` an id is no row of the first table.
        """
        rows, slots = self.locate(ids)  # (...), (..., k)
        parts = functional.embedding(slots, self.pool, sparse=self.sparse)  # (..., k, d)
        if self.importance is None:
            return parts.squeeze(-2)
        weights = self.weights_of(rows)  # (..., k)
        vectors = AGGREGATIONS[self.aggregation](parts * weights.unsqueeze(-1))
        return torch.cat([vectors, weights], dim=-1) if self.append_weight else vectors
