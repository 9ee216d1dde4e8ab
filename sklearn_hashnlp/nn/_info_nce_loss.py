"""Which of a batch's vectors belong together, as a softmax."""

from __future__ import annotations

import torch
from torch import Tensor

from sklearn_hashnlp.nn._block_loss import BlockLoss, mean_where, other_pairs


class InfoNCELoss(BlockLoss):
    """Tell the other members of a vector's block among all other vectors of the batch.

    With t the temperature and P(i) the other members of the block of v_i, the loss of v_i is that of supervised
    contrastive learning, equation 2 of [1]_:

        mean over p in P(i) of - log(exp(v_i . v_p / t) / sum over a != i of exp(v_i . v_a / t))

    which for blocks of two is InfoNCE [2]_. The result is the mean over all v_i that are not alone in their block;
    those that are alone only stand among the others. It is zero if all are alone.

    Parameters
    ----------
    temperature : float, default=0.05
        Positive; the lower it is, the more the nearest of the others count.

    Raises
    ------
    ValueError
        If the temperature is not positive.

    See Also
    --------
    SimilarityBXENT, CosineProximityLoss, VonMisesFisherLoss : Other losses of the same arguments.

    References
    ----------
    .. [1] Khosla et al. (2020). Supervised contrastive learning. NeurIPS, arXiv:2004.11362, section 3.2.2.
    .. [2] van den Oord, Li & Vinyals (2018). Representation learning with contrastive predictive coding.
           arXiv:1807.03748, section 2.3.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import InfoNCELoss
    >>> vectors = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> InfoNCELoss(temperature=1.0)(vectors, torch.tensor([0, 0, 1]))
    tensor(0.6178)
    """

    def __init__(self, temperature: float = 0.05) -> None:
        super().__init__()
        if not temperature > 0:
            raise ValueError(f"InfoNCELoss: temperature must be positive, got {temperature}.")
        self.temperature = temperature

    def _loss(self, vectors: Tensor, same: Tensor) -> Tensor:
        others = other_pairs(same)
        scores = vectors @ vectors.T / self.temperature
        log_probs = scores.masked_fill(same ^ others, -torch.inf).log_softmax(dim=1)
        n_others = others.sum(dim=1)
        by_vector = -log_probs.masked_fill(~others, 0.0).sum(dim=1) / n_others.clamp(min=1)
        return mean_where(by_vector, n_others > 0)

    def extra_repr(self) -> str:
        """Describe the loss in ``repr``.

        Returns
        -------
        str
            Its parameter.
        """
        return f"temperature={self.temperature}"
