"""AdaGrad that keeps one number a row and touches only the rows that have a gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

import torch
from torch import Tensor
from torch.optim import Optimizer

from sklearn_hashnlp.nn._lazy_zeros import lazy_zeros


class RowwiseAdagrad(Optimizer):
    """Train embedding tables row by row, and everything else by ordinary AdaGrad.

    For a parameter with a sparse gradient (an embedding made with ``sparse=True``) each row r that occurs has one
    accumulator, however often it occurs in the batch:

        G_r <- G_r + mean_c g_(r,c)^2        w_r <- w_r - lr g_r / (sqrt(G_r) + eps)

    Whatever lies behind the first axis of the parameter is its row: a number, a vector, a matrix.

    Rows without a gradient are not read, not written, and cost nothing, whatever the size of the table. A parameter
    with a dense gradient has an accumulator an element and is trained exactly as by :class:`torch.optim.Adagrad`.

    Parameters
    ----------
    params : iterable of Tensor or of dict
        As for every torch optimiser.
    lr : float, default=0.1
        Step size.
    eps : float, default=1e-10
        Added to the root.

    References
    ----------
    .. [1] Duchi, Hazan & Singer (2011). Adaptive subgradient methods for online learning and stochastic optimization.
           JMLR 12, figure 1 (the diagonal version).
    .. [2] Mudigere et al. (2022). Software-hardware co-design for fast and scalable training of deep learning
           recommendation models. ISCA, arXiv:2104.05158, section 4.1.1 (an accumulator a row).

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import HashEmbedding, RowwiseAdagrad
    >>> embedding = HashEmbedding(10_000, 500, 16, sparse=True)
    >>> optimizer = RowwiseAdagrad(embedding.parameters(), lr=0.1)
    >>> ids, before = torch.arange(5), embedding.pool.detach().clone()
    >>> loss = embedding(ids).square().sum()
    >>> loss.backward()
    >>> optimizer.step()
    >>> (embedding.pool != before).any(dim=1).sum().item() <= 10  # five ids, two rows each
    True
    """

    def __init__(self, params: Iterable[Any], lr: float = 0.1, eps: float = 1e-10) -> None:
        if lr < 0:
            raise ValueError(f"lr must not be negative, got {lr}.")
        if eps < 0:
            raise ValueError(f"eps must not be negative, got {eps}.")
        super().__init__(params, {"lr": lr, "eps": eps})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step.

        Parameters
        ----------
        closure : callable, default=None
            Evaluates the model again and returns the loss.

        Returns
        -------
        object
            What ``closure`` returned.

        Raises
        ------
        ValueError
            If a gradient is sparse along more than the first axis, so that it has no rows.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, group["lr"], group["eps"])
        return loss

    def _update(self, parameter: Tensor, lr: float, eps: float) -> None:
        gradient = cast(Tensor, parameter.grad)
        state = self.state[parameter]
        if not gradient.is_sparse:
            if not state:
                state["sum"] = torch.zeros_like(parameter)
            state["sum"].addcmul_(gradient, gradient)
            parameter.addcdiv_(gradient, state["sum"].sqrt().add_(eps), value=-lr)
            return
        if gradient.sparse_dim() != 1:
            raise ValueError(
                "A sparse gradient must be sparse along its first axis alone, got one of shape "
                f"{tuple(gradient.shape)} with {gradient.sparse_dim()} sparse axes."
            )
        if not state:
            state["sum"] = lazy_zeros((len(parameter),), dtype=parameter.dtype, device=parameter.device)
        gradient = gradient.coalesce()
        rows, values = gradient.indices()[0], gradient.values()  # each row once
        flat = values.unsqueeze(-1).flatten(1)  # (rows, columns); a row of a 1-D parameter has one column
        total = state["sum"][rows] + flat.square().mean(dim=1)
        state["sum"][rows] = total
        scale = (-lr / (total.sqrt() + eps)).unsqueeze(1)
        parameter.index_add_(0, rows, (flat * scale).view_as(values))
