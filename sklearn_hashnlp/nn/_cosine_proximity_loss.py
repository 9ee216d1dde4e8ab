"""Cosines themselves as a loss."""

from __future__ import annotations

from torch import Tensor

from sklearn_hashnlp.nn._block_loss import BlockLoss, mean_where, other_pairs


class CosineProximityLoss(BlockLoss):
    """Draw pairs of one block together, and push others apart to a right angle but no further.

    The loss is the mean of 1 - cosine over the pairs of different vectors of one block, plus the mean of the cosine's
    positive part, max(0, cosine), over the pairs of two blocks. A part that has no pairs is zero.

    See Also
    --------
    SimilarityBXENT, InfoNCELoss, VonMisesFisherLoss : Other losses of the same arguments.

    Notes
    -----
    It is Keras's "cosine proximity", which the report on SimilarityBXENT [1]_ names as an alternative, with a second
    part: without one, all vectors would become the same. The second part is that of
    :class:`torch.nn.CosineEmbeddingLoss`, with margin 0.

    References
    ----------
    .. [1] Chevalier (2019). SGNN-Transformer sentence model trained by the paragraph-skip-gram-like SimilarityBXENT.
           Université Laval, IFT-7022, part 2.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import CosineProximityLoss
    >>> vectors = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> CosineProximityLoss()(vectors, torch.tensor([0, 0, 1]))  # 1 - .6 + (0 + .8) / 2
    tensor(0.8000)
    """

    def _loss(self, vectors: Tensor, same: Tensor) -> Tensor:
        cosines = vectors @ vectors.T
        return mean_where(1 - cosines, other_pairs(same)) + mean_where(cosines.clamp(min=0), ~same)
