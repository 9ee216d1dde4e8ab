"""How probable a vector is, given the others of its block, by a density on the sphere."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sklearn_hashnlp.nn._block_loss import BlockLoss, mean_where, other_pairs


class VonMisesFisherLoss(BlockLoss):
    """Predict each vector from the others of its block, by the von Mises-Fisher density.

    The other members of a block predict a vector v of d columns by e = concentration * their mean. As in [1]_, section
    3, the prediction's direction is the density's mean direction, and its length is how concentrated it is, so that
    members that agree predict more firmly than members that do not:

        log f(v; e) = log C_d(|e|) + e . v,    C_d(k) = k**(d/2 - 1) / ((2 pi)**(d/2) I_(d/2 - 1)(k))

    with I the modified Bessel function of the first kind. The loss of v is

        - log f(v; e) + contrast * log(sum of f(v; e_b) over all blocks b)

    where e_b of another block is concentration * the mean of its members, and that of v's own block is e. With
    ``contrast=1`` it is the negative log-probability of v's block, were all blocks equally probable before; with
    ``contrast=0`` the density alone, as in [1]_. The result is the mean over all v that are not alone in their block,
    and zero if there are none.

    Parameters
    ----------
    concentration : float, default=20.0
        Of a prediction by members that are all the same; positive.
    contrast : float, default=1.0
        Weight of the other blocks, not negative. In [1]_ the vectors to be predicted are given, and it needs none; here
        they are learned, and with 0 nothing keeps them all from becoming the same.

    Raises
    ------
    ValueError
        If a parameter is not as described.

    See Also
    --------
    SimilarityBXENT, CosineProximityLoss, InfoNCELoss : Other losses of the same arguments.

    References
    ----------
    .. [1] Kumar & Tsvetkov (2019). Von Mises-Fisher loss for training sequence to sequence models with continuous
           outputs. ICLR, arXiv:1812.04616.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import VonMisesFisherLoss
    >>> vectors = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> VonMisesFisherLoss(concentration=2.0, contrast=0.0)(vectors, torch.tensor([0, 0, 1]))
    tensor(1.4619)
    """

    def __init__(self, concentration: float = 20.0, *, contrast: float = 1.0) -> None:
        super().__init__()
        if not concentration > 0:
            raise ValueError(f"VonMisesFisherLoss: concentration must be positive, got {concentration}.")
        if not contrast >= 0:
            raise ValueError(f"VonMisesFisherLoss: contrast must not be negative, got {contrast}.")
        self.concentration = concentration
        self.contrast = contrast

    def _loss(self, vectors: Tensor, same: Tensor) -> Tensor:
        others = other_pairs(same)
        own = self._predict(vectors, others)
        loss = -(own * vectors).sum(dim=1) - self._log_normaliser(own)
        if self.contrast:
            of_blocks = self._predict(vectors, same)
            log_densities = vectors @ of_blocks.T + self._log_normaliser(of_blocks)
            # Each member stands for its block, and so for as small a part of it.
            log_densities = log_densities - same.sum(dim=1, dtype=vectors.dtype).log()
            log_densities = log_densities.masked_fill(same, -torch.inf)
            loss = loss + self.contrast * torch.cat([-loss.unsqueeze(1), log_densities], dim=1).logsumexp(dim=1)
        return mean_where(loss, others.any(dim=1))

    def _predict(self, vectors: Tensor, members: Tensor) -> Tensor:
        """Return the predictions by the members in each row; zeros where there are none."""
        counts = members.sum(dim=1, keepdim=True).clamp(min=1)
        return self.concentration * (members.to(vectors.dtype) @ vectors) / counts

    def _log_normaliser(self, predictions: Tensor) -> Tensor:
        """Compute log C_d of the length of each prediction."""
        half = predictions.shape[1] / 2
        quarters = predictions.double().square().sum(dim=1, keepdim=True) / 4
        # Beyond term k each is less than a quarter of the one before; k is at most the concentration.
        j = torch.arange(math.ceil(self.concentration) + 64, dtype=torch.float64, device=predictions.device)
        log_powers = j * quarters.clamp(min=torch.finfo(torch.float64).tiny).log()
        log_sums = (log_powers - torch.lgamma(j + 1) - torch.lgamma(j + half)).logsumexp(dim=1)
        return ((half - 1) * math.log(2) - half * math.log(2 * math.pi) - log_sums).to(predictions.dtype)

    def extra_repr(self) -> str:
        """Describe the loss in ``repr``.

        Returns
        -------
        str
            Its parameters.
        """
        return f"concentration={self.concentration}, contrast={self.contrast}"
