"""Hash embeddings: a vector for each id, and a vector for each bag of ids."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional

from sklearn_hashnlp.kernels.embeddings._bags import BagLayout
from sklearn_hashnlp.kernels.embeddings._hash_ids import locate_ids
from sklearn_hashnlp.kernels.embeddings._tables import Aggregation, Norm, Variant
from sklearn_hashnlp.nn._compiled_bag import CompiledBag, check_bags, runs_compiled
from sklearn_hashnlp.nn._hash_tables import AGGREGATIONS, HashTables, segment_sum
from sklearn_hashnlp.nn._hashing import to_int64


class HashEmbedding(HashTables):
    """Embed integer ids without a dictionary, by trainable, hashed rows of two small tables.

    A feature id w selects k component vectors from a shared pool by k hash functions, and k
    trainable importance weights by one more:

    1. row h(w) of the importance table P (n x k) holds p_w;
    2. rows u_1(w) .. u_k(w) of the pool E (B x d) are the component vectors;
    3. e_w = aggregate_i(p_w,i E[u_i(w)]), and p_w is appended to it with ``append_weight=True``.

    Two ids share a vector only if they collide in h and in every u_i, so B can be far smaller than
    the number of ids. The hash functions are computed from ``seed``; no table of hash values is
    stored.

    Parameters
    ----------
    num_embeddings : int
        Rows of the importance table; n (or K) in the paper. For ``"standard"`` rows of its only
        table.
    embedding_dim : int
        Columns of a component vector; d in the paper.
    num_buckets : int
        Vectors in the shared pool; B in the paper. Ignored by ``"standard"``.
    num_hashes : int, default=2
        Component vectors of an id; k in the paper. Ignored by ``"standard"``.
    variant : {"improved", "paper", "standard"}, default="improved"
        ``"improved"`` [2]_: h and every u_i hash w itself. ``"paper"`` [1]_: w is first hashed to
        D1(w) in [0, n), and importance and components are those of D1(w), so ids that collide in D1
        share everything. ``"standard"``: the hashing trick, row h(w) of one n x d table, without
        importance weights.
    aggregation : {"sum", "concat", "median"}, default="sum"
        How the weighted components are combined. The median of an even number is the mean of the
        two middle values. Ignored by ``"standard"``.
    append_weight : bool, default=True
        Whether the k importance weights are appended to the vector. Ignored by ``"standard"``.
    hash_rows : bool, default=True
        Whether h hashes an id. With False an id is a row number of the first table, as the ids of a
        dictionary are.
    padding_idx : int or None, default=None
        The id whose vector is zero and that trains no row, as in :class:`torch.nn.Embedding`.
    seed : int, default=0
        Seed of the hash functions.
    pool_std : float, default=0.1
        Standard deviation of the initial pool. 0 is a pool of zeros, which takes no time and no
        memory until trained.
    importance_init : float, default=1.0
        Initial value of all importance weights. 0 takes no time and no memory either.
    sparse : bool, default=False
        Whether gradients of the tables are sparse tensors, as in :class:`torch.nn.Embedding`.
    device : torch.device or str, default=None
        Device of the tables.
    dtype : torch.dtype, default=None
        Dtype of the tables.

    Attributes
    ----------
    pool : Parameter of shape (num_buckets, embedding_dim)
        E in the paper; shape (num_embeddings, embedding_dim) for ``"standard"``. Frozen by
        ``module.pool.requires_grad_(False)``.
    importance : Parameter of shape (num_embeddings, num_hashes) or None
        P in the paper; None for ``"standard"``. Frozen by
        ``module.importance.requires_grad_(False)``.
    output_dim : int
        Columns of the output: d (k d for ``"concat"``), plus k when weights are appended.

    See Also
    --------
    HashEmbeddingBag : Sum the vectors of each document without computing them one by one.

    References
    ----------
    .. [1] Svenstrup, Hansen & Winther (2017). Hash embeddings for efficient word representations.
           NIPS, arXiv:1709.03933, section 2, equations 1 and 2.
    .. [2] Dubois (2017). Hash-Embeddings, https://github.com/YannDubs/Hash-Embeddings, section
           "Improvements".

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import HashEmbedding
    >>> embedding = HashEmbedding(10_000, 16, num_buckets=500)
    >>> embedding(torch.tensor([[3, 1_999_999_999], [7, 3]])).shape
    torch.Size([2, 2, 18])
    """

    def forward(self, ids: Tensor) -> Tensor:
        """Return the vector of each id, of shape (..., output_dim).

        Parameters
        ----------
        ids : Tensor of any integer dtype and any shape (...)
            Feature ids of up to 64 bits; negative ones count modulo 2**64.
        """
        if self.padding_idx is None:
            return self._embed(ids)
        kept = to_int64(ids) != self.padding_idx
        vectors = self._embed(ids[kept])
        padded = vectors.new_zeros(*ids.shape, self.output_dim)
        padded[kept] = vectors
        return padded

    def _embed(self, ids: Tensor) -> Tensor:
        rows, slots = self.locate(ids)  # (...), (..., k)
        parts = functional.embedding(slots, self.pool, sparse=self.sparse)  # (..., k, d)
        if self.importance is None:
            return parts.squeeze(-2)
        weights = self.weights_of(rows)  # (..., k)
        vectors = AGGREGATIONS[self.aggregation](parts * weights.unsqueeze(-1))
        return torch.cat([vectors, weights], dim=-1) if self.append_weight else vectors


class HashEmbeddingBag(HashTables):
    r"""Sum the hash embeddings of each document's features, weighted by their counts.

    With x_j the weight (such as the count) of feature w_j in a document and e_w the vector of
    :class:`HashEmbedding`, the vector of the document is sum_j x_j e_(w_j). Its length grows with
    the document. ``normalize`` divides the sum by the l1 or l2 norm of the document, in which a
    feature has the weight that it has in the sum, its count times its importance, with k the number
    of hashes:

    .. math::
        \ell_1: \sum_j \frac{1}{k} \sum_i |x_j\, p_{j,i}|, \qquad
        \ell_2: \sqrt{\sum_j \frac{1}{k} \sum_i (x_j\, p_{j,i})^2}

    Importance weights initialized with inverse document frequencies thus give the l2-normalized
    TF-IDF weights of information retrieval. The vector of an empty document is zero.

    Parameters
    ----------
    num_embeddings, embedding_dim, num_buckets, num_hashes, variant, aggregation, append_weight,
    hash_rows
        As in :class:`HashEmbedding`.
    normalize : {None, "l1", "l2"}, default=None
        The norm by which the vector of a document is divided.
    padding_idx : int or None, default=None
        The id that is left out of the sums, as in :class:`torch.nn.EmbeddingBag`.
    seed, pool_std, importance_init
        As in :class:`HashEmbedding`.
    sparse : bool, default=False
        Whether gradients of the tables are sparse tensors. On the CPU compiled kernels then compute
        the module, except for ``"median"``, and with the optimizers of :mod:`sklearn_hashnlp.optim`
        the cost of a training step does not depend on the size of the tables.
    device, dtype : default=None
        Device and dtype of the tables.

    Attributes
    ----------
    pool, importance, output_dim
        As in :class:`HashEmbedding`.

    See Also
    --------
    HashEmbedding : The vectors of single ids.

    References
    ----------
    .. [1] Svenstrup, Hansen & Winther (2017). Hash embeddings for efficient word representations.
           NIPS, arXiv:1709.03933, section 2 and, for the sum over a document, section 5.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import HashEmbeddingBag
    >>> bag = HashEmbeddingBag(10_000, 16, num_buckets=500)
    >>> ids = torch.tensor([3, 1_999_999_999, 3, 7])
    >>> offsets = torch.tensor([0, 2, 2, 4])
    >>> documents = bag(ids, offsets, torch.tensor([1.0, 2.0, 1.0, 1.0]))
    >>> documents.shape, documents[1].any().item()
    (torch.Size([3, 18]), False)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        *,
        num_buckets: int,
        num_hashes: int = 2,
        variant: Variant = "improved",
        aggregation: Aggregation = "sum",
        append_weight: bool = True,
        hash_rows: bool = True,
        normalize: Norm | None = None,
        padding_idx: int | None = None,
        seed: int = 0,
        pool_std: float = 0.1,
        importance_init: float = 1.0,
        sparse: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            num_embeddings,
            embedding_dim,
            num_buckets=num_buckets,
            num_hashes=num_hashes,
            variant=variant,
            aggregation=aggregation,
            append_weight=append_weight,
            hash_rows=hash_rows,
            padding_idx=padding_idx,
            seed=seed,
            pool_std=pool_std,
            importance_init=importance_init,
            sparse=sparse,
            device=device,
            dtype=dtype,
        )
        self.spec = replace(self.spec, normalize=normalize)

    def forward(
        self, ids: Tensor, offsets: Tensor, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        """Return the vector of each document, of shape (n_documents, output_dim).

        Parameters
        ----------
        ids : Tensor of shape (n_values,), any integer dtype
            Feature ids of all documents, concatenated, of up to 64 bits; negative ones count modulo
            2**64.
        offsets : Tensor of shape (n_documents + 1,), dtype int64 or int32
            Start of each document in ``ids``, and the end of the last: ``include_last_offset=True``
            of :class:`torch.nn.EmbeddingBag`, scipy's ``indptr``.
        per_sample_weights : Tensor of shape (n_values,), default=None
            Weight of each feature, of the dtype of the tables; None is all ones.
        """
        check_bags("HashEmbeddingBag", ids, offsets, per_sample_weights)
        offsets = offsets.to(torch.int64)
        if per_sample_weights is None:
            per_sample_weights = torch.ones_like(ids, dtype=self.pool.dtype)
        if self.padding_idx is not None:
            kept = to_int64(ids) != self.padding_idx
            offsets = functional.pad(kept.cumsum(0), (1, 0))[offsets]
            ids, per_sample_weights = ids[kept], per_sample_weights[kept]
        if (
            self.sparse
            and (self.aggregation != "median" or self.importance is None)
            and runs_compiled(self.pool, ids, per_sample_weights)
        ):
            self.check_rows(ids)
            array = ids.to(torch.int64).contiguous().numpy()
            sizes = len(self.pool if self.importance is None else self.importance), len(self.pool)
            located = locate_ids(array, self.spec.constant_array, *sizes, self.layout.variant)
            arguments = (
                self.pool,
                self.importance,
                per_sample_weights,
                *located,
                offsets.contiguous().numpy(),
            )
            return CompiledBag.apply(*arguments, self.layout, torch.is_grad_enabled())  # type: ignore[no-any-return, no-untyped-call]
        rows, slots = self.locate(ids)  # (values,), (values, k)
        importance = self.weights_of(rows)  # (values, k)
        counts = per_sample_weights.unsqueeze(-1)  # (values, 1)
        weights = importance * counts  # (values, k)
        if self.aggregation == "median" and self.importance is not None:
            parts = functional.embedding(
                slots, self.pool, sparse=self.sparse
            ) * importance.unsqueeze(-1)
            documents = segment_sum(AGGREGATIONS["median"](parts) * counts, offsets)
        elif self.aggregation == "concat" and self.importance is not None:
            columns = zip(slots.unbind(dim=1), weights.unbind(dim=1), strict=True)
            documents = torch.cat(
                [self._gather(slot, offsets, weight) for slot, weight in columns], dim=1
            )
        else:
            documents = self._gather(slots.flatten(), offsets * slots.shape[1], weights.flatten())
        if self.importance is not None and self.append_weight:
            documents = torch.cat([documents, segment_sum(weights, offsets)], dim=1)
        if self.normalize is None:
            return documents
        return documents / self._norms(weights, offsets).unsqueeze(-1)

    @property
    def normalize(self) -> Norm | None:
        """The norm by which the vector of a document is divided."""
        return self.spec.normalize

    @property
    def layout(self) -> BagLayout:
        """The options that the compiled kernels read."""
        return self.spec.layout

    def _gather(self, slots: Tensor, offsets: Tensor, weights: Tensor) -> Tensor:
        # One fused pass: the (values, d) components are never written to memory.
        return functional.embedding_bag(
            slots.contiguous(),
            self.pool,
            offsets,
            mode="sum",
            sparse=self.sparse,
            per_sample_weights=weights.contiguous(),
            include_last_offset=True,
        )

    def _norms(self, weights: Tensor, offsets: Tensor) -> Tensor:
        size = weights.abs() if self.normalize == "l1" else weights.square()
        total = segment_sum(size.mean(dim=1), offsets)
        # Replaced before the root is taken: its gradient at 0 is infinite.
        total = torch.where(total > 0, total, torch.ones_like(total))
        return total if self.normalize == "l1" else total.sqrt()

    def extra_repr(self) -> str:
        """Describe the module in ``repr``."""
        return f"{super().extra_repr()}, normalize={self.normalize!r}"
