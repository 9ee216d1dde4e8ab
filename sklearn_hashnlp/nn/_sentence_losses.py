"""Losses that draw together the vectors of one block, such as the sentences of a paragraph."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from sklearn_hashnlp._constraints import check_parameters, number


class BlockLoss(nn.Module, ABC):
    """A loss that is low if unit vectors are near their own block and far from other blocks."""

    def forward(self, vectors: Tensor, blocks: Tensor) -> Tensor:
        """Compute the loss, a scalar; in float32 also under autocast, in float64 for such vectors.

        Parameters
        ----------
        vectors : Tensor of shape (n, d)
            Unit vectors; they are not normalized here.
        blocks : Tensor of shape (n,), dtype int64
            The block of each vector, such as the paragraph of a sentence: any numbers, in any
            order.
        """
        if vectors.dim() != 2 or not len(vectors) or blocks.shape != vectors.shape[:1]:
            raise ValueError(
                f"{type(self).__name__}: vectors must have shape (n, d) with n of 1 or more, and "
                f"blocks shape (n,), got {tuple(vectors.shape)} and {tuple(blocks.shape)}."
            )
        if vectors.dtype != torch.float64:
            vectors = vectors.float()  # half precision is too coarse for cosines
        with torch.autocast(vectors.device.type, enabled=False):
            return self._loss(vectors, blocks.unsqueeze(1) == blocks)

    @abstractmethod
    def _loss(self, vectors: Tensor, same: Tensor) -> Tensor:
        """Compute the loss from the vectors and the (n, n) mask of pairs of one block."""


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of the elements in the mask; zero if there are none."""
    return values.masked_fill(~mask, 0.0).sum() / mask.sum().clamp(min=1)


def other_pairs(
    same: Tensor,  # (n, n)
) -> Tensor:  # (n, n)
    """Remove the pairs of a vector with itself from a mask of pairs."""
    return same ^ torch.eye(len(same), dtype=torch.bool, device=same.device)


_EPSILON = 1e-7


class SimilarityBXENT(BlockLoss):
    """Binary cross-entropy between cosine similarities of a batch and its block-diagonal matrix.

    The predicted probability that two unit vectors belong to one block is p = (1 + cosine) / 2,
    clamped to [1e-7, 1 - 1e-7]. The target is 1 for pairs of one block and 0 for all others. The
    loss is the mean of - log p over pairs of one block and - log(1 - p) over the others: over all n
    * n entries, the diagonal included [1]_.

    Parameters
    ----------
    balance : bool, default=False
        Whether positive and negative pairs have the same total weight: the loss is then half the
        mean over pairs of one block plus half the mean over the others.

    References
    ----------
    .. [1] Chevalier (2019). SGNN-Transformer sentence model trained by the paragraph-skip-gram-like
           SimilarityBXENT. Université Laval, IFT-7022, part 2.

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
        # 1 - p is computed with the sign of the cosine flipped, so that it is exact where p is near
        # one.
        probabilities = (1 + torch.where(same, cosines, -cosines)) / 2
        entropies = -probabilities.clamp(_EPSILON, 1 - _EPSILON).log()
        if self.balance:
            return (masked_mean(entropies, same) + masked_mean(entropies, ~same)) / 2
        return entropies.mean()

    def extra_repr(self) -> str:
        """Describe the loss in ``repr``."""
        return f"balance={self.balance}"


class CosineProximityLoss(BlockLoss):
    """Cosine embedding loss over pairs: attract vectors of one block, repel others to 90 degrees.

    The loss is the mean of 1 - cosine over the pairs of different vectors of one block, plus the
    mean of max(0, cosine) over the pairs from two blocks. A mean over no pairs is zero.

    Notes
    -----
    The first term is Keras's "cosine proximity", which the report on SimilarityBXENT [1]_ names as
    an alternative. Alone it would let all vectors become the same. The second term is that of
    :class:`torch.nn.CosineEmbeddingLoss` with margin 0.

    References
    ----------
    .. [1] Chevalier (2019). SGNN-Transformer sentence model trained by the paragraph-skip-gram-like
           SimilarityBXENT. Université Laval, IFT-7022, part 2.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import CosineProximityLoss
    >>> vectors = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> # 1 - .6 + (0 + .8) / 2
    >>> CosineProximityLoss()(vectors, torch.tensor([0, 0, 1]))
    tensor(0.8000)
    """

    def _loss(self, vectors: Tensor, same: Tensor) -> Tensor:
        cosines = vectors @ vectors.T
        return masked_mean(1 - cosines, other_pairs(same)) + masked_mean(
            cosines.clamp(min=0), ~same
        )


class InfoNCELoss(BlockLoss):
    r"""Supervised contrastive loss: classify the members of a vector's block among the batch.

    With t the temperature and P(i) the other members of the block of v_i, the loss of v_i is that
    of supervised contrastive learning, equation 2 of [1]_:

    .. math::
        -\frac{1}{|P(i)|} \sum_{p \in P(i)} \log
        \frac{\exp(v_i \cdot v_p / t)}{\sum_{a \neq i} \exp(v_i \cdot v_a / t)}

    which for blocks of two is InfoNCE [2]_. The result is the mean over all v_i whose block has
    other members; vectors that are alone in their block are negative examples only. It is zero if
    all are alone.

    Parameters
    ----------
    temperature : float, default=0.05
        Positive; the lower it is, the more the nearest negative examples weigh.

    References
    ----------
    .. [1] Khosla et al. (2020). Supervised contrastive learning. NeurIPS, arXiv:2004.11362, section
           3.2.2.
    .. [2] van den Oord, Li & Vinyals (2018). Representation learning with contrastive predictive
           coding. arXiv:1807.03748, section 2.3.

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
        check_parameters("InfoNCELoss", {"temperature": number(above=True)}, locals())
        self.temperature = temperature

    def _loss(self, vectors: Tensor, same: Tensor) -> Tensor:
        others = other_pairs(same)
        scores = vectors @ vectors.T / self.temperature
        log_probs = scores.masked_fill(same ^ others, -torch.inf).log_softmax(dim=1)
        n_others = others.sum(dim=1)
        by_vector = -log_probs.masked_fill(~others, 0.0).sum(dim=1) / n_others.clamp(min=1)
        return masked_mean(by_vector, n_others > 0)

    def extra_repr(self) -> str:
        """Describe the loss in ``repr``."""
        return f"temperature={self.temperature}"


class VonMisesFisherLoss(BlockLoss):
    r"""Negative log-likelihood of von Mises-Fisher densities predicted by other block members.

    The other members of a block predict a vector v of d columns by e = concentration * their mean.
    As in [1]_, section 3, the direction of e is the mean direction of the density and its length is
    the concentration, so members that agree predict a more concentrated density than members that
    do not:

    .. math::
        \log f(v; e) = \log C_d(\lVert e \rVert) + e \cdot v, \quad
        C_d(k) = \frac{k^{d/2 - 1}}{(2 \pi)^{d/2}\, I_{d/2 - 1}(k)}

    with I the modified Bessel function of the first kind. With c the ``contrast``, the loss of v is

    .. math:: -\log f(v; e) + c\, \log \sum_b f(v; e_b)

    over all blocks b, where e_b of another block is concentration * the mean of its members, and
    that of the block of v is e. With ``contrast=1`` this is the negative log-probability of the
    block of v under a uniform prior over blocks; with ``contrast=0`` it is the density alone, as in
    [1]_. The result is the mean over all v whose block has other members, and zero if there are
    none.

    Parameters
    ----------
    concentration : float, default=20.0
        Concentration of the density that equal members predict; positive.
    contrast : float, default=1.0
        Weight of the second term; not negative. In [1]_ the target vectors are fixed, so the
        density is enough. Here they are learned, and with 0 nothing keeps them from all becoming
        the same.

    References
    ----------
    .. [1] Kumar & Tsvetkov (2019). Von Mises-Fisher loss for training sequence to sequence models
           with continuous outputs. ICLR, arXiv:1812.04616.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import VonMisesFisherLoss
    >>> vectors = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> VonMisesFisherLoss(concentration=2.0, contrast=0.0)(
    ...     vectors, torch.tensor([0, 0, 1])
    ... )
    tensor(1.4619)
    """

    def __init__(self, concentration: float = 20.0, *, contrast: float = 1.0) -> None:
        super().__init__()
        constraints = {"concentration": number(above=True), "contrast": number()}
        check_parameters("VonMisesFisherLoss", constraints, locals())
        self.concentration = concentration
        self.contrast = contrast

    def _loss(self, vectors: Tensor, same: Tensor) -> Tensor:
        others = other_pairs(same)
        own = self._predict(vectors, others)
        loss = -(own * vectors).sum(dim=1) - self._log_normalizer(own)
        if self.contrast:
            of_blocks = self._predict(vectors, same)
            log_densities = vectors @ of_blocks.T + self._log_normalizer(of_blocks)
            # Each column is a member of a block, and counts as one part of it.
            log_densities = log_densities - same.sum(dim=1, dtype=vectors.dtype).log()
            log_densities = log_densities.masked_fill(same, -torch.inf)
            loss = loss + self.contrast * torch.cat(
                [-loss.unsqueeze(1), log_densities], dim=1
            ).logsumexp(dim=1)
        return masked_mean(loss, others.any(dim=1))

    def _predict(self, vectors: Tensor, members: Tensor) -> Tensor:
        """Return the prediction by the members in each row of a mask; zeros without members."""
        counts = members.sum(dim=1, keepdim=True).clamp(min=1)
        return self.concentration * (members.to(vectors.dtype) @ vectors) / counts

    def _log_normalizer(self, predictions: Tensor) -> Tensor:
        """Compute log C_d of predictions' lengths by the power series of the Bessel function."""
        half = predictions.shape[1] / 2
        quarters = predictions.double().square().sum(dim=1, keepdim=True) / 4
        # After the k-th, with k at most the concentration, each term is less than a quarter of the
        # one before.
        j = torch.arange(
            math.ceil(self.concentration) + 64, dtype=torch.float64, device=predictions.device
        )
        log_powers = j * quarters.clamp(min=torch.finfo(torch.float64).tiny).log()
        log_sums = (log_powers - torch.lgamma(j + 1) - torch.lgamma(j + half)).logsumexp(dim=1)
        return ((half - 1) * math.log(2) - half * math.log(2 * math.pi) - log_sums).to(
            predictions.dtype
        )

    def extra_repr(self) -> str:
        """Describe the loss in ``repr``."""
        return f"concentration={self.concentration}, contrast={self.contrast}"


def word_blocks(
    words: Tensor,  # (n_sentences, longest)
) -> tuple[Tensor, Tensor]:
    """Return the distinct words of each sentence, and their sentences, blocks of a word loss."""
    mask = words >= 0
    sentences = torch.arange(len(words), device=words.device).unsqueeze(1).expand_as(words)
    blocks, distinct = torch.unique(torch.stack([sentences[mask], words[mask]]), dim=1)
    return distinct, blocks
