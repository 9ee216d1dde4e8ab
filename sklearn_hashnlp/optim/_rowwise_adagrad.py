"""AdaGrad that keeps one number a row and touches only the rows that have a gradient."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from sklearn_hashnlp.kernels._row_updates import adagrad_rows
from sklearn_hashnlp.optim._rowwise_optimizer import RowwiseOptimizer, numpy_type, row_state


class RowwiseAdagrad(RowwiseOptimizer):
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
    average_after : int, default=None
        After how many steps to begin with the mean of the weights, which :meth:`load_average` puts in their place
        [3]_; None is never.

    References
    ----------
    .. [1] Duchi, Hazan & Singer (2011). Adaptive subgradient methods for online learning and stochastic optimization.
           JMLR 12, figure 1 (the diagonal version).
    .. [2] Mudigere et al. (2022). Software-hardware co-design for fast and scalable training of deep learning
           recommendation models. ISCA, arXiv:2104.05158, section 4.1.1 (an accumulator a row).
    .. [3] Polyak & Juditsky (1992). Acceleration of stochastic approximation by averaging. SIAM Journal on Control and
           Optimization 30.

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

    row_mark = "sum"

    def __init__(
        self, params: Iterable[Any], lr: float = 0.1, eps: float = 1e-10, *, average_after: int | None = None
    ) -> None:
        super().__init__(params, {"lr": lr, "eps": eps}, average_after)

    def _step_of_elements(self, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> Tensor:
        if "sum" not in state:
            state["sum"] = torch.zeros_like(gradient)
        state["sum"].addcmul_(gradient, gradient)
        step: Tensor = gradient / state["sum"].sqrt().add_(group["eps"]) * group["lr"]
        return step

    def _step_of_rows(
        self, table: Tensor, rows: Tensor, values: Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> Tensor:
        sums = row_state(state, "sum", table, per_row=True)
        total = sums[rows] + values.square().mean(dim=1)
        sums[rows] = total
        step: Tensor = values * (group["lr"] / (total.sqrt() + group["eps"])).unsqueeze(1)
        return step

    def _update_rows(
        self,
        table: Tensor,
        drift: Tensor,
        rows: Tensor,
        values: Tensor,
        state: dict[str, Any],
        group: dict[str, Any],
        age: int,
    ) -> None:
        sums = row_state(state, "sum", table, per_row=True)
        number = numpy_type(table)
        adagrad_rows(
            *(tensor.numpy() for tensor in (table, sums.unsqueeze(1), drift, rows, values)),
            *(number(value) for value in (group["lr"], group["eps"], age)),
        )
