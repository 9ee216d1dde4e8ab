"""The loss of the SGNN-Transformer report: cosines against a block-diagonal matrix."""

from __future__ import annotations

import torch
from torch import Tensor

from sklearn_hashnlp.nn._block_loss import BlockLoss, mean_where

_EPSILON = 1e-7


class SimilarityBXENT(BlockLoss):
    """Binary cross-entropy between the cosines of a batch and the matrix that is one for pairs of one block.

    The probability that two unit vectors are of one block is taken to be p = (1 + cosine) / 2, clamped to
    [1e-7, 1 - 1e-7]. The loss is the mean of - log p over pairs of one block and - log(1 - p) over the others, over all
    n * n entries of the matrix, the diagonal included [1]_.

    Parameters
    ----------
    balance : bool, default=False
        Whether the entries of one block and the others have the same say, whatever their numbers: half the mean over
        the ones plus half the mean over the others.

    See Also
    --------
    InfoNCELoss, CosineProximityLoss, VonMisesFisherLoss : Other losses of the same arguments.

    References
    ----------
    .. [1] Chevalier (2019). SGNN-Transformer sentence model trained by the paragraph-skip-gram-like SimilarityBXENT.
           Université Laval, IFT-7022, part 2.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import SimilarityBXENT
    >>> vectors = torch.tensor([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0]])
    >>> paragraphs = torch.tensor([0, 0, 1])
    >>> SimilarityBXENT()(vectors, paragraphs)
    tensor(0.0992)
    """

    def __init__(self, *, balance: bool = False) -> None:
        super().__init__()
        self.balance = balance

    def _loss(self, vectors: Tensor, same: Tensor) -> Tensor:
        cosines = vectors @ vectors.T
        # 1 - p by the other cosine's sign, so that it is exact where p is near one.
        probabilities = (1 + torch.where(same, cosines, -cosines)) / 2
        entropies = -probabilities.clamp(_EPSILON, 1 - _EPSILON).log()
        if self.balance:
            return (mean_where(entropies, same) + mean_where(entropies, ~same)) / 2
        return entropies.mean()

    def extra_repr(self) -> str:
        """Describe the loss in ``repr``.

        Returns
        -------
        str
            Its parameter.
        """
        return f"balance={self.balance}"
