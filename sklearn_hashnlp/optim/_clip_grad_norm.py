"""Clip the norm of dense and sparse gradients."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from sklearn_hashnlp.optim._rowwise_optimizer import coalesced

_EPS = 1e-6  # as in torch


@torch.no_grad()
def clip_grad_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float) -> Tensor:
    """Scale all gradients in place so that their total norm is at most ``max_norm``.

    :func:`torch.nn.utils.clip_grad_norm_` does not support sparse gradients. Here a row that occurs several times in a
    sparse gradient counts once, with the sum of its occurrences: the norm is that of the dense gradient [1]_.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensor
        A parameter or parameters; parameters without a gradient are ignored.
    max_norm : float
        Maximum norm.

    Returns
    -------
    Tensor of shape ()
        The norm before clipping.

    References
    ----------
    .. [1] Pascanu, Mikolov & Bengio (2013). On the difficulty of training recurrent neural networks. ICML,
           arXiv:1211.5063, algorithm 1.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.optim import clip_grad_norm_
    >>> embedding = torch.nn.Embedding(100, 1, sparse=True)
    >>> embedding(torch.tensor([7, 7, 9])).sum().backward()
    >>> clip_grad_norm_(embedding.parameters(), max_norm=1.0)  # of 2 and 1
    tensor(2.2361)
    >>> embedding.weight.grad.to_dense().norm()
    tensor(1.0000)
    """
    values = []
    for parameter in [parameters] if isinstance(parameters, Tensor) else parameters:
        if parameter.grad is None:
            continue
        if parameter.grad.is_sparse:
            parameter.grad = coalesced(parameter.grad)
            values.append(parameter.grad._values())
        else:
            values.append(parameter.grad)
    if not values:
        return torch.tensor(0.0)
    device = values[0].device
    norm: Tensor = torch.stack([torch.linalg.vector_norm(part).to(device) for part in values]).norm()
    factor = (max_norm / (norm + _EPS)).clamp(max=1.0)
    for part in values:
        part.mul_(factor.to(part.device))
    return norm
