"""AdaGrad with one accumulator per row that only updates the rows with a gradient."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from sklearn_hashnlp.kernels.embeddings._row_updates import adagrad_rows
from sklearn_hashnlp.optim._rowwise_optimizer import RowKernel, RowwiseOptimizer, row_state


class RowwiseAdagrad(RowwiseOptimizer):
    r"""AdaGrad for embedding tables, row by row; ordinary AdaGrad for all other parameters.

    For a parameter with a sparse gradient (an embedding with ``sparse=True``), each row r of the
    gradient has one accumulator [2]_. A row that occurs several times in a batch is updated once,
    by the sum g_r of its gradients:

    .. math::
        G_r \leftarrow G_r + \frac{1}{d} \sum_c g_{r,c}^2, \quad
        w_r \leftarrow w_r - \eta\, \frac{g_r}{\sqrt{G_r} + \epsilon}

    A row is the number, vector or matrix at one index of the first axis. Rows without a gradient
    are neither read nor written, so the cost of a step does not depend on the size of the table. A
    parameter with dense gradients is trained exactly as by :class:`torch.optim.Adagrad` [1]_, but
    row by row after its first sparse gradient.

    Parameters
    ----------
    params : iterable of Tensor or of dict
        Parameters to train, or dicts that define parameter groups.
    lr : float, default=0.1
        Learning rate.
    eps : float, default=1e-10
        Added to the denominator for numerical stability.
    weight_decay : float, default=0
        Decoupled weight decay, as in AdamW [4]_: each update also subtracts ``lr * weight_decay``
        times the parameter. Only the rows of a table with a gradient decay, in proportion to the
        number of their own steps. Put parameters that should not decay, such as biases, into a
        group with ``weight_decay`` 0.
    average_after : int, default=None
        Number of steps after which to start averaging the weights; :meth:`load_average` then
        replaces the weights by their mean [3]_. None does not average.

    References
    ----------
    .. [1] Duchi, Hazan & Singer (2011). Adaptive subgradient methods for online learning and
           stochastic optimization. JMLR 12, figure 1 (the diagonal version).
    .. [2] Mudigere et al. (2022). Software-hardware co-design for fast and scalable training of
           deep learning recommendation models. ISCA, arXiv:2104.05158, section 4.1.1 (one
           accumulator per row).
    .. [3] Polyak & Juditsky (1992). Acceleration of stochastic approximation by averaging. SIAM
           Journal on Control and Optimization 30.
    .. [4] Loshchilov & Hutter (2019). Decoupled weight decay regularization. ICLR,
           arXiv:1711.05101.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import HashEmbedding
    >>> from sklearn_hashnlp.optim import RowwiseAdagrad
    >>> embedding = HashEmbedding(10_000, 16, num_buckets=500, sparse=True)
    >>> optimizer = RowwiseAdagrad(embedding.parameters(), lr=0.1)
    >>> ids, before = torch.arange(5), embedding.pool.detach().clone()
    >>> embedding(ids).square().sum().backward()
    >>> optimizer.step()
    >>> # five ids of two rows each
    >>> (embedding.pool != before).any(dim=1).sum().item() <= 10
    True
    """

    state_names = frozenset({"sum", "average_offset"})
    touched_key = "sum"

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.1,
        eps: float = 1e-10,
        *,
        weight_decay: float = 0.0,
        average_after: int | None = None,
    ) -> None:
        super().__init__(params, {"lr": lr, "eps": eps}, weight_decay, average_after)

    def _dense_update(
        self, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> Tensor:
        if "sum" not in state:
            state["sum"] = torch.zeros_like(gradient)
        state["sum"].addcmul_(gradient, gradient)
        update: Tensor = gradient / state["sum"].sqrt().add_(group["eps"]) * group["lr"]
        return update

    def _has_row_state(self, state: dict[str, Any], parameter: Tensor) -> bool:
        return "sum" in state and state["sum"].shape != parameter.shape

    def _to_row_state(self, state: dict[str, Any], parameter: Tensor) -> None:
        if parameter.dim() > 1 and "sum" in state and not self._has_row_state(state, parameter):
            state["sum"] = state["sum"].flatten(1).mean(dim=1)

    def _row_updates(
        self,
        table: Tensor,
        rows: Tensor,
        gradients: Tensor,
        state: dict[str, Any],
        group: dict[str, Any],
    ) -> Tensor:
        sums = row_state(state, "sum", table, per_row=True)
        total = sums[rows] + gradients.square().mean(dim=1)
        sums[rows] = total
        updates: Tensor = gradients * (group["lr"] / (total.sqrt() + group["eps"])).unsqueeze(1)
        return updates

    def _row_kernel(self, table: Tensor, state: dict[str, Any], group: dict[str, Any]) -> RowKernel:
        sums = row_state(state, "sum", table, per_row=True)
        return adagrad_rows, [sums.unsqueeze(1)], [group["lr"], group["eps"]]
